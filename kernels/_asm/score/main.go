// Command score writes the vector kernels of score losses.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"asm/vec"
)

func main() {
	vec.File()
	for _, v := range []vec.ISA{vec.AVX2, vec.AVX512} {
		logisticTile(v, false)
		logisticTile(v, true)
		logisticPairTile(v)
		logisticSlopes(v)
		locate(v)
		powerSums(v)
		polynomial(v)
		sumLanes(v)
		split(v)
		join(v)
		dots1(v)
		dots2(v)
		dot(v)
		clipRows(v)
		for _, k := range kinds {
			dots(v, k)
			addRows(v, k)
		}
	}
	Generate()
}
