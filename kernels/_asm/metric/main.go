// Command metric writes the vector kernels of products and of metric losses.
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"asm/vec"
)

func main() {
	vec.File()
	for _, v := range []vec.ISA{vec.AVX2, vec.AVX512} {
		for _, e := range []element{float64s, float32s} {
			mulAdd(v, e)
			metricProducts(v, e)
			peak(v, e)
		}
		widenAdd(v)
	}
	foldLanes()
	logistic256()
	logistic512()
	logistic256Single()
	logistic512Single()
	Generate()
}
