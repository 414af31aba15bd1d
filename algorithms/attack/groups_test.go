package attack

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

func groupsPlan(t *testing.T, a algorithms.Moments, groups []int, d int, delta float64) *algorithms.Plan {
	t.Helper()
	return groupsPlanOf(t, a, groups, 0, d, delta)
}

// groupsPlanOf is for persons with up to cap rows, if that is not 0.
func groupsPlanOf(t *testing.T, a algorithms.Algorithm, groups []int, cap, d int, delta float64) *algorithms.Plan {
	t.Helper()
	n := 0
	for _, s := range groups {
		n += s
	}
	problem := scores(n, d)
	problem.Groups, problem.PersonRows = groups, cap
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
						largest, _ := engine.Together(p.Spec.Kernel.Problem())
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
				must.Check(Replay(a, p, data, Neighbours(data, 3, 6), 7))(t)
				must.Check(Replay(a, p, worst, []*engine.Records{other}, 7))(t)
			})
		}
	}
}

// A person moves the release by its certificate, whether its rows are one or as many as the cap, before and after: its group is at 0 with
// the other label, in as many rows as others like. One who is replaced by rows at both ends moves it by less.
func TestGroupMomentsOfPersonsAttainTheirCertificate(t *testing.T) {
	const d, R = 3, 0.4
	for _, most := range []int{1, 3, 40} {
		for _, m := range []int{2, 21, 50} { // parts of 64, of 21 and of 2
			groups := []int{1, 2, m, 2}
			for _, a := range []algorithms.Moments{{Second: "none", ClipRadius: R}, {Second: "full", ClipRadius: R}} {
				p := groupsPlanOf(t, a, groups, most, d, 1e-5)
				angle := math.Pi
				if h := p.Moments().Scale; h > 0 {
					angle = math.Acos(-min(1, 1/(2*h*h*R*R)))
				}
				for _, unit := range []int{3, 2 + m} {
					build := func(own int, angles ...float64) *engine.Records {
						counts, row := make([]int, 5+m), 0
						for k := range counts {
							counts[k] = 1 + k%most
						}
						counts[unit] = own
						return PersonRecords(counts, most, d, engine.UnitBounds(), func(person int, x []float64) float64 {
							if person != unit {
								return -1
							}
							at := angles[row%len(angles)]
							row++
							x[0], x[1] = R*(1-1e-9)*math.Cos(at), R*(1-1e-9)*math.Sin(at)
							return 1
						})
					}
					for _, rows := range [][2]int{{1, most}, {most, 1}, {most, most}} {
						ratio, err := Replay(a, p, build(rows[0], 0), []*engine.Records{build(rows[1], angle)}, 3)
						if err != nil || math.Abs(ratio-1) > 0.01 {
							t.Errorf("cap %d, m = %d, %+v, unit %d, rows %v: attains %.4f, %v", most, m, a, unit, rows, ratio, err)
						}
					}
					if most == 1 {
						continue
					}
					if ratio, err := Replay(a, p, build(1, 0), []*engine.Records{build(most, 0, angle)}, 3); err != nil || ratio > 0.9 {
						t.Errorf("cap %d, m = %d, %+v: a person at both ends attains %.4f, %v", most, m, a, ratio, err)
					}
				}
			}
		}
	}
}

// Random persons within groups, by every algorithm that takes both: the certificate equals the certificate of as many
// records (docs/theory.md#persons).
func TestPersonsWithinGroupsReplay(t *testing.T) {
	const most = 5
	groups := []int{7, 1, 12, 3}
	data := RandomPersons(23, most, 3, engine.UnitBounds(), 7)
	near, replayed := PersonNeighbours(data, sizes.Of(3, 12), most, 8), 0
	for _, loss := range []engine.Loss{engine.Logistic{}, engine.MahalanobisLogistic{}} {
		for _, a := range algorithms.Catalog() {
			i := a.Info()
			plan := func(rows int, l2 float64) (*algorithms.Plan, error) {
				problem := scores(23, 3)
				problem.Loss, problem.Groups, problem.PersonRows = loss, groups, rows
				s := must.Get(algorithms.NewSpec(cpu.Backend{}, problem, l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
				return a.Plan(s)
			}
			l2 := 0.0
			if i.NeedsL2 {
				l2 = 0.01
			}
			if _, err := plan(0, l2); i.NoPersons != "" || !i.Learns(loss) || err != nil {
				continue // it has no groups, or no persons
			}
			p, err := plan(most, l2)
			if err != nil {
				t.Errorf("%s, %s: %v", loss.Name(), i.Name, err)
				continue
			}
			ratio, err := Replay(a, p, data, near, 9)
			for _, unit := range []int{0, 9} {
				worst, other := WorstPersons(slices.Repeat([]int{2, most}, 12)[:23], 3, unit, engine.UnitBounds())
				r, e := Replay(a, p, worst, []*engine.Records{other}, 9)
				ratio, err = max(ratio, r), errors.Join(err, e)
			}
			if err != nil || ratio < 0.3 || p.Guarantee.Unit != "one person" {
				t.Errorf("%s, %s: attains %.3g for %s, %v", loss.Name(), i.Name, ratio, p.Guarantee.Unit, err)
			}
			replayed++
			t.Logf("%s, %s: %.3g of the certificate", loss.Name(), i.Name, ratio)
		}
	}
	if replayed < 11 {
		t.Errorf("%d algorithms and losses take persons within groups", replayed)
	}
}
