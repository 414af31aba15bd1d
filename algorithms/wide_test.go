package algorithms_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// covers reports whether a certificate is at least exact, and in real arithmetic little more.
func covers(c privacy.Certificate, exact float64) bool {
	return c.Sensitivity() >= exact*(1-1e-12) && c.ExactSensitivity() <= exact*(1+1e-6)
}

// Certified plans over wide ranges of all public numbers: each is refused with a reason
// or keeps its budget by the accountant, and its sensitivity is at least what the exact
// recursion gives without rounding, and little more.
func TestPlansOverWideRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	logUniform := func(lo, hi float64) float64 {
		return math.Exp(math.Log(lo) + rng.Float64()*(math.Log(hi)-math.Log(lo)))
	}
	planned := map[string]int{}
	trials := sizes.Of(60, 200)
	if testing.Short() {
		trials = 20
	}
	for range trials {
		n := int(logUniform(2, 3000))
		b := privacy.Budget{Epsilon: logUniform(1e-3, 30), Delta: logUniform(1e-12, 0.1)}
		if rng.IntN(3) == 0 {
			b.Delta = 0
		}
		l2 := 0.0
		if rng.IntN(2) == 0 {
			l2 = logUniform(1e-6, 10)
		}
		problem := engine.Problem{
			N: n, D: 1 + rng.IntN(6), Bounds: engine.Bounds{FeatureNorm: logUniform(1e-3, 1e3), LabelAbs: logUniform(0.1, 10)},
			Loss: engine.Logistic{}, Radius: logUniform(1e-6, 1e3),
		}
		if rng.IntN(4) == 0 {
			problem.Loss = engine.MahalanobisLogistic{}
		}
		s, err := algorithms.NewSpec(cpu.Backend{Workers: 1}, problem, l2, b, algorithms.Certified)
		if errors.Is(err, engine.ErrUnsupported) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		steps, eta := 1+rng.IntN(50), logUniform(1e-3, 1)*2/(s.Constants.Smoothness+2*l2)
		for _, a := range []algorithms.Algorithm{
			algorithms.DPGDSC{Steps: steps, StepSize: eta}, algorithms.DPGDC{Steps: steps, StepSize: eta}, algorithms.DPGDC{},
			algorithms.DPGDC2{Steps: steps, StepSize: eta}, algorithms.DPGDC2{}, algorithms.DPEGD{StepSize: eta}, algorithms.DPEGD{Steps: steps},
			algorithms.GradientPerturbation{Steps: steps, StepSize: eta}, algorithms.GradientPerturbation{},
		} {
			name := a.Info().Name
			p, err := a.Plan(s)
			if err != nil {
				if err.Error() == "" || strings.Contains(err.Error(), "NaN") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			planned[name]++
			if p.Guarantee.Epsilon > b.Epsilon || p.Guarantee.Delta != b.Delta || !(p.Guarantee.Epsilon > 0) {
				t.Errorf("%s, %+v: %v for the budget %+v", name, problem, p.Guarantee, b)
			}
			diameter := problem.Domain().Diameter()
			check := func(c privacy.Certificate, exact float64) {
				t.Helper()
				if !covers(c, exact) {
					t.Errorf("%s, %+v, %d steps of %g, alpha %g: sensitivity %.15g (exact part %.15g), the recursion gives %.15g", name, problem, p.Schedule.Steps, p.Schedule.Constant, l2, c.Sensitivity(), c.ExactSensitivity(), exact)
				}
				if covers(c, exact*0.9999) || c.RoundoffShare() < 1e-5 && covers(c, exact*1.0001) {
					t.Errorf("%s: the comparison does not see a ten-thousandth", name)
				}
			}
			// moves are delta_1..delta_T of the exact recursion.
			moves := func(records, steps int, eta float64) (last, mean float64) {
				c := max(math.Abs(1-eta*l2), math.Abs(1-eta*(s.Constants.Smoothness+l2)))
				for range steps {
					last = min(c*last+2/float64(records)*s.Constants.PairDiameter*eta, diameter)
					mean += last / float64(steps)
				}
				return last, mean
			}
			last, mean := moves(n, p.Schedule.Steps, p.Schedule.Constant)
			switch a.(type) {
			case algorithms.DPGDSC:
				check(p.Certificate(), last)
			case algorithms.DPGDC:
				check(p.Certificate(), mean)
			case algorithms.DPEGD:
				total := 0
				for i, e := range p.Schedule.Epochs {
					_, mean := moves(e.Records, e.Steps, e.StepSize)
					check(p.Releases[i].Certificate, mean)
					total += e.Records
				}
				must.Equal(t, total, n, "%s: records", name)
			default:
				check(p.Certificate(), 2/float64(n)*s.Constants.PairDiameter)
			}
		}
	}
	for _, name := range []string{"dpgdsc", "dpgdc", "dpgdc2", "dpegd", "gradient-perturbation"} {
		must.AtLeast(t, planned[name], trials/5, "only %d plans of %s in %d trials", planned[name], name, trials)
	}
}

// Bounds taken from the data void every guarantee, whatever algorithm and mode.
func TestBoundsFromDataWarnEverywhere(t *testing.T) {
	for _, a := range algorithms.Catalog() {
		for _, m := range a.Info().Modes {
			if m == algorithms.NonPrivate {
				continue
			}
			l2, radius := 0.0, 1.0
			if a.Info().NeedsL2 {
				l2 = 1
			}
			for _, fromData := range []bool{true, false} {
				s := newSpecOf(t, attack.Loss(a.Info()), 400, 2, radius, l2, privacy.Budget{Epsilon: 1, Delta: 1e-5}, m)
				s.BoundsFromData = fromData
				p, err := a.Plan(s)
				if errors.Is(err, algorithms.ErrAssumption) {
					continue // a paper's own condition
				}
				if err != nil {
					t.Fatal(err)
				}
				must.Equal(t, strings.Contains(p.Guarantee.Report(), "BOUNDS NOT PRIVATE"), fromData,
					"%s in %s mode, bounds from data: warned", p.Algorithm, m)
			}
		}
	}
}

// A public rule that asks for more steps than anyone waits for is refused, not planned.
func TestDefaultStepsAreBounded(t *testing.T) {
	s := newSpec(t, 20_000_000, 2, 1, 0, privacy.Budget{Epsilon: 10, Delta: 1e-5}, algorithms.Certified)
	for _, a := range []algorithms.Algorithm{algorithms.DPGDC2{}, algorithms.DPEGD{}} {
		must.Fail(a.Plan(s))(t, must.All{algorithms.ErrAssumption, "more than 10000000 steps"}, a.Info().Name)
	}
	for _, a := range []algorithms.Algorithm{algorithms.DPGDC2{Steps: 100}, algorithms.DPEGD{Steps: 100}} {
		must.Check(a.Plan(s))(t, a.Info().Name, " with 100 steps")
	}
}
