// Package sizes has the sizes at which certificates and laws are tested, and the places of the tested record. A
// wrong formula shows at every size. But a defect that affects only some coordinates, some records or the end of a
// block shows only at some sizes.
package sizes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Cell holds the sizes of one test. D is the number of features or coordinates, N is the number of records,
// and Unit is the place of the tested record.
type Cell struct{ D, N, Unit int }

func (c Cell) String() string { return fmt.Sprintf("d=%d,n=%d,unit=%d", c.D, c.N, c.Unit) }

var (
	dims    = []int{1, 3, 65, 257}
	numbers = []int{3, 33, 300, 4097}
)

// place is the first, a middle or the last of n.
func place(which, n int) int { return []int{0, n / 2, n - 1}[which%3] }

// Cells returns every pair of a d in {1, 3, 65, 257} and an n in {3, 33, 300, 4097} for which d n^k is at most the
// limit `work`. This limit is the number of multiplications of a test. k is at least 1. The tested record is the
// first, a middle or the last record, in turn. If the variable DYAD_SIZES is a seed, random sizes replace each pair
// before the limit is checked. They are drawn log-uniformly with this seed, d from 1 to 2000 and n from 3 to 20000.
func Cells(t testing.TB, work float64, k int) (cells []Cell) {
	t.Helper()
	seed := os.Getenv("DYAD_SIZES")
	var rng *rand.Rand
	if seed != "" {
		number, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatalf("DYAD_SIZES is %q, but must be a whole number, which is the seed", seed)
		}
		rng = rand.New(rand.NewPCG(number, 1))
	}
	for i, d := range dims {
		for j, n := range numbers {
			if rng != nil {
				d, n = logUniform(rng, 1, 2000), logUniform(rng, 3, 20000)
			}
			if float64(d)*math.Pow(float64(n), float64(k)) <= work {
				cells = append(cells, Cell{d, n, place(i+j, n)})
			}
		}
	}
	return cells
}

// Dims returns the numbers of coordinates of Cells.
func Dims(t testing.TB, most float64) (all []int) {
	t.Helper()
	for _, c := range Cells(t, math.Inf(1), 1) {
		if seen := len(all) > 0 && all[len(all)-1] == c.D; !seen && float64(c.D) <= most {
			all = append(all, c.D)
		}
	}
	return all
}

func logUniform(rng *rand.Rand, least, most float64) int {
	return int(math.Exp(math.Log(least) + rng.Float64()*math.Log(most/least)))
}
