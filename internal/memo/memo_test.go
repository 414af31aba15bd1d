package memo_test

import (
	"errors"
	"testing"

	"dyad/internal/memo"
)

// An answer is computed once while it is among the last, and an error each time.
func TestAnswers(t *testing.T) {
	asked := map[int]int{}
	kept := memo.Answers[int, int]{Most: 3}
	square := func(n int) (int, error) {
		return kept.Get(n, func() (int, error) {
			if asked[n]++; n < 0 {
				return 0, errors.New("negative")
			}
			return n * n, nil
		})
	}
	for _, n := range []int{1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 1, -1, -1} {
		if got, err := square(n); n > 0 && got != n*n || (err != nil) != (n < 0) {
			t.Errorf("%d: %d, %v", n, got, err)
		}
	}
	for n, want := range map[int]int{1: 2, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, -1: 2} {
		if asked[n] != want {
			t.Errorf("%d was computed %d times, want %d", n, asked[n], want)
		}
	}
}
