// Command score writes the vector kernels of score losses.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"asm/vec"
)

func main() {
	vec.File()
	for _, v := range []vec.ISA{vec.AVX2, vec.AVX512} {
		logisticTile(v)
	}
	Generate()
}
