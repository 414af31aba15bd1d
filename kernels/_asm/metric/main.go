// Command metric writes the vector kernels of products and of metric losses.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"asm/vec"
)

func main() {
	vec.File()
	for _, v := range []vec.ISA{vec.AVX2, vec.AVX512} {
		mulAdd(v)
		metricProducts(v)
		peak(v)
	}
	logistic256()
	logistic512()
	Generate()
}
