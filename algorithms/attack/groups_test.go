package attack

import (
	"fmt"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/internal/sizes"
)

func groupsPlan(t *testing.T, a algorithms.Moments, groups []int, d int, delta float64) *algorithms.Plan {
	t.Helper()
	n := 0
	for _, s := range groups {
		n += s
	}
	problem := scores(n, d)
	problem.Groups = groups
	return planOn(t, a, problem, 1, delta)
}

// A record of the largest part moves the release by its certificate, at every place: its group is at 0 with the other label, and both
// versions are at the angle of the joint bound. One of a smaller group moves it by less.
func TestGroupMomentsAttainTheirCertificate(t *testing.T) {
	const d, R = 3, 0.4
	for _, m := range []int{2, 3, 6, 300} { // 300 have five parts of 60
		groups := []int{1, 2, m, 2}
		for _, a := range []algorithms.Moments{{Second: "none", ClipRadius: R}, {Second: "full", ClipRadius: R}, {Second: "full", SecondShare: 0.6, ClipRadius: R}} {
			for _, delta := range []float64{0, 1e-5} {
				if a.Second == "full" && delta == 0 {
					continue
				}
				p := groupsPlan(t, a, groups, d, delta)
				if len(p.Releases) != 1 || p.Moments().Passes != 1 {
					t.Fatalf("%d releases in %d passes", len(p.Releases), p.Moments().Passes)
				}
				angle := math.Pi
				if h := p.Moments().Scale; h > 0 {
					angle = math.Acos(-min(1, 1/(2*h*h*R*R)))
				}
				for _, unit := range []int{3, 3 + m/2, 2 + m, 1} {
					build := func(angle float64) *engine.Records {
						x, y := make([]float64, (5+m)*d), make([]float64, 5+m)
						for i := range y {
							y[i] = -1
						}
						y[unit], x[unit*d], x[unit*d+1] = 1, R*(1-1e-9)*math.Cos(angle), R*(1-1e-9)*math.Sin(angle)
						return mustRecords(x, y, d, engine.UnitBounds())
					}
					ratio, err := Replay(a, p, build(0), []*engine.Records{build(angle)}, 3)
					want := 1.0
					if unit == 1 {
						largest, _ := engine.Together(groups)
						want = 0.5 / (1 - 1/float64(largest))
					}
					if err != nil || math.Abs(ratio-want) > 0.01 {
						t.Errorf("m = %d, %+v, delta %v, unit %d: attains %.4f, want %.4f, %v", m, a, delta, unit, ratio, want, err)
					}
				}
			}
		}
	}
}

// Random neighbours at every size and place, in groups of all sizes.
func TestGroupMomentsOfEverySize(t *testing.T) {
	for _, c := range sizes.Cells(t, 6e7, 2) {
		for name, groups := range map[string][]int{"one group": {c.N}, "groups": nil} {
			for left, s := c.N, 2; groups == nil || left > 0 && name == "groups"; s = 1 + s*3%97 {
				groups = append(groups, min(s, left))
				left -= groups[len(groups)-1]
			}
			t.Run(fmt.Sprintf("%v,%s", c, name), func(t *testing.T) {
				a := algorithms.Moments{ClipRadius: 0.8}
				p := groupsPlan(t, a, groups, c.D, 1e-5)
				data := RandomRecords(c.N, c.D, engine.UnitBounds(), 5)
				worst, other := WorstCase(c.N, c.D, c.Unit, engine.UnitBounds())
				if _, err := Replay(a, p, data, Neighbours(data, 3, 6), 7); err != nil {
					t.Error(err)
				}
				if _, err := Replay(a, p, worst, []*engine.Records{other}, 7); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
