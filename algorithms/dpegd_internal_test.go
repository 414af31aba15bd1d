package algorithms

import (
	"testing"

	"dyad/internal/must"
)

// The sizes of docs/theory.md#dpegd.
func TestEpochSizes(t *testing.T) {
	for n, want := range map[int][]int{
		2: {2}, 3: {3}, 4: {2, 2},
		40:  {20, 10, 5, 2, 3},
		100: {50, 25, 12, 6, 3, 4},
		128: {64, 32, 16, 8, 4, 2, 2},
		350: {175, 87, 43, 21, 10, 5, 2, 7},
		512: {256, 128, 64, 32, 16, 8, 4, 2, 2},
	} {
		must.Same(t, epochSizes(n), want, "n = %d", n)
	}
	for n := 2; n < 5000; n++ {
		sum := 0
		for _, size := range epochSizes(n) {
			sum += size
			if size < 2 {
				t.Fatalf("n = %d: a part of %d records", n, size)
			}
		}
		if sum != n {
			t.Fatalf("n = %d: the parts have %d records", n, sum)
		}
	}
}
