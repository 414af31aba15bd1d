package cuda

import (
	"fmt"
	"math"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// personsOf gives the rows of r to persons with these numbers of rows, in turn.
func personsOf(t *testing.T, p engine.Problem, r *engine.Records, counts ...int) (engine.Problem, *engine.Records) {
	t.Helper()
	first := []int{0}
	for left := r.Len(); left > 0; {
		m := min(counts[(len(first)-1)%len(counts)], left)
		first, left = append(first, first[len(first)-1]+m), left-m
		p.PersonRows = max(p.PersonRows, m)
	}
	p.N = len(first) - 1
	r = must.Get(r.WithPersons(first, p.PersonRows))(t)
	return p, r
}

// personMoments compares all passes over persons with the CPU, and returns what is wrong.
func personMoments(t *testing.T, b Backend, short bool) (wrong []error) {
	t.Helper()
	for i, c := range momentCases(short) {
		if !short && c.n < 300 || (i/6+i)%2 == 1 {
			continue
		}
		p, r, _ := records(t, c.n, c.d, 2)
		p, r = personsOf(t, p, r, 1, 3, 1, 7, 150)
		if err := apart(c, p, r, b); err != nil {
			wrong = append(wrong, fmt.Errorf("%d rows, d = %d, %v: %w", c.n, c.d, c.m.Second, err))
		}
	}
	return wrong
}

// TestMomentsOfPersons: sums over the rows of persons are those of the CPU, and without weights they are not.
func TestMomentsOfPersons(t *testing.T) {
	for _, err := range personMoments(t, openFake(t, newFake()), true) {
		t.Error(err)
	}
	f := defective(func(ptx string) string { return editEntry(ptx, "weigh_rows", "mul.rn.f64", "max.f64") })
	if wrong := personMoments(t, openFake(t, f), true); !f.edited || len(wrong) == 0 {
		t.Errorf("sums over rows pass for those over persons: edited %v", f.edited)
	}
}

// TestPersonsReplacedInMoments: a person that is replaced, one row by 150 in the other direction, moves
// the sums by what docs/theory.md#person-moments allows and, in the worst case, no less; without weights by far more.
func TestPersonsReplacedInMoments(t *testing.T) {
	const d, persons, rows, radius = 3, 9, 150, 0.5
	sums := func(f *fakeDriver, many bool) ([]float64, float64) {
		p := engine.Problem{N: persons, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1, LabelValues: 2, PersonRows: rows}
		first, x, y := []int{0}, []float64{}, []float64{}
		for k := range persons {
			m, way := 1+k%3, 1.0
			if k == 4 {
				if m = 1; many {
					m, way = rows, -1
				}
			}
			for range m {
				x, y = append(x, way, 0, 0), append(y, 1)
			}
			first = append(first, len(y))
		}
		r := must.Get(must.Get(engine.NewRecords(x, y, d, p.Bounds))(t).WithPersons(first, rows))(t)
		m := engine.Query{Radius: radius, Second: engine.DiagonalSecond}
		got, k := must.Get2(momentsOf(openFake(t, f), p, r, m))(t)
		if want := float64(persons) * radius * radius; f.edit == nil && math.Abs(got.Second[0]-want) > 1e-12 {
			t.Errorf("second moments %v, want %v: persons do not count alike", got.Second, want)
		}
		return got.Sum, k.Bounds(m).Sum
	}
	move := func(f *fakeDriver) (float64, float64) {
		a, rho := sums(f, false)
		b, _ := sums(f, true)
		return apartBy(a, b), 2 * rho
	}
	if moved, slack := move(newFake()); !(moved <= 2*radius+slack) || moved < 2*radius-1e-9 {
		t.Errorf("a person moves the sum by %v, want %v within %g", moved, 2*radius, slack)
	}
	f := defective(func(ptx string) string { return editEntry(ptx, "weigh_rows", "mul.rn.f64", "max.f64") })
	if moved, _ := move(f); moved < 2*radius*10 {
		t.Errorf("without weights a person moves the sum by %v", moved)
	}
}
