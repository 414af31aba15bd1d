package algorithms_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestRefusalsNameWhatWouldWork: whatever an algorithm of the catalogue refuses at one n and epsilon
// and accepts at another, its message names an n or an epsilon that works with the rest as it is.
func TestRefusalsNameWhatWouldWork(t *testing.T) {
	named := map[string]*regexp.Regexp{"n": regexp.MustCompile(`\bn (?:=|>=) ([0-9.e+]+)( or| would|,|;| at)`), "epsilon": regexp.MustCompile(`epsilon = ([0-9.e+-]+)( would| is|,|;)`)}
	asked := 0
	for _, a := range algorithms.Catalog() {
		for _, mode := range a.Info().Modes {
			for _, pure := range []bool{false, true} {
				plan := func(n int, b privacy.Budget, radius float64) error {
					var loss engine.Loss = engine.Logistic{}
					if a.Info().MetricsOnly {
						loss = engine.MahalanobisLogistic{}
					}
					s, err := algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: n, D: 2, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius}, a.Info().DefaultL2, b, mode)
					if err == nil {
						_, err = a.Plan(s)
					}
					return err
				}
				works := false
				type refused struct {
					n      int
					b      privacy.Budget
					radius float64
					err    error
				}
				var all []refused
				for _, n := range []int{10, 256} {
					for _, e := range []float64{0.01, 1, 100} {
						for _, radius := range []float64{0.01, 1} {
							b := privacy.Budget{Epsilon: e, Delta: 1e-5}
							if pure {
								b.Delta = 0
							}
							if err := plan(n, b, radius); err == nil {
								works = true
							} else {
								all = append(all, refused{n, b, radius, err})
							}
						}
					}
				}
				if !works {
					continue // refused whatever n and epsilon are
				}
				for _, r := range all {
					asked++
					where := fmt.Sprintf("%s %s n %d epsilon %g delta %g r %g: %v", a.Info().Name, mode, r.n, r.b.Epsilon, r.b.Delta, r.radius, r.err)
					found := false
					for what, pattern := range named {
						m := pattern.FindStringSubmatch(r.err.Error())
						if m == nil {
							continue
						}
						found = true
						v := must.Get(strconv.ParseFloat(m[1], 64))(t)
						n, b := r.n, r.b
						if what == "n" {
							n = int(v)
						} else {
							b.Epsilon = v
						}
						if n > 200_000 {
							continue // too long for a test
						}
						must.CheckDo(t, plan(n, b, r.radius), fmt.Sprintf("%s\nand with its %s = %g", where, what, v))
					}
					if !found {
						t.Errorf("%s: names no n or epsilon", where)
					}
				}
			}
		}
	}
	must.AtLeast(t, asked, 5, "%d refusals were looked at", asked)
}
