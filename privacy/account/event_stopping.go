package account

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dyad/privacy/internal/round"
)

// RandomStoppingEvent is the release of the best of K runs of a mechanism that is Mu-GDP under
// replace-one, with what the run released and a score that is computed from it. K is uniform on
// 1..Runs, drawn in secret and independently of everything else, and nothing else is known of
// the runs. Runs are independent, and ties of scores go to the first.
//
// Proof of its profile, of its Renyi divergences and of its mu: docs/theory.md#random-stopping.
type RandomStoppingEvent struct {
	Mu   float64 `json:"mu"`   // of one run, training and scoring included, > 0
	Runs int     `json:"runs"` // 1 to MaxRuns
}

// MaxRuns bounds the runs of a RandomStoppingEvent.
const MaxRuns = 256

// String returns e.g. "best of 1 to 32 runs (mu 0.1 each, number secret) x 1".
func (e RandomStoppingEvent) String() string {
	return fmt.Sprintf("best of 1 to %d runs (mu %.6g each, number secret) x 1", e.Runs, e.Mu)
}

func (e RandomStoppingEvent) validate() error {
	err := positive("mu of a random stopping event", e.Mu)
	if e.Runs < 1 || e.Runs > MaxRuns {
		err = cmp.Or(err, fmt.Errorf("account: random stopping after at most %d runs, want 1 to %d", e.Runs, MaxRuns))
	}
	return err
}

func (e RandomStoppingEvent) facts() facts {
	mu := max(e.Mu, 1e-150) // mu^2 does not underflow
	return facts{
		event: e, count: 1, stopped: true,
		mu:    round.Up(math.Sqrt(float64(e.Runs))*mu, 3), // of all runs, if everything were released
		renyi: stoppedRenyi(mu, e.Runs),
	}
}

func (recorded) RandomStopping() kind { return record[RandomStoppingEvent]("random-stopping") }

// stoppedRenyi is the smaller one of the divergence of all runs, runs alpha mu^2/2, and
//
//	alpha mu^2/2 + max over t of (alpha log f(u(t)) - (alpha-1) log f(t))/(alpha-1),
//
// f the derivative of the generating function of the number of runs and u(t) = Phi(Phi^-1(t) + mu).
// f and u do not decrease, so on an interval of t the maximum is at most the one with u at its
// upper and t at its lower end. Whatever the intervals are, the answer is an upper bound.
func stoppedRenyi(mu float64, runs int) func(alpha float64) float64 {
	logs := &stoppedLogs{mu: mu, runs: runs}
	return func(alpha float64) float64 {
		one := gaussianRenyi(alpha, mu)
		all := round.Up(float64(runs)*one, 1)
		if mu > 30 { // where the logarithms are less exact, and privacy is lost anyway
			return all
		}
		worst := logs.most(alpha)
		// The logarithms are at most log(runs) in magnitude, each with error below 1e-10.
		slack := (2*alpha + 1) * 1e-10 * (1 + math.Log(float64(runs)))
		return min(all, round.Up(one+(worst+slack)/(alpha-1), 4))
	}
}

// stoppedCells is the number of intervals; with 2^13 the answer is within 1 % of the maximum.
const stoppedCells = 1 << 13

// stoppedLogs are log f(u) and log f(t) at the ends of intervals that cover [0, 1], within 1e-10 for
// mu <= 30: f is a sum of at most MaxRuns positive terms, and the relative error of Phi(z), below
// (z^2 + 10) 2^-52, enters it at most MaxRuns times. They are computed when they are asked for.
type stoppedLogs struct {
	mu           float64
	runs         int
	upper, lower []float64 // NaN: not computed
	peak         int       // the interval of the last largest bound
}

// at fills in end i: t = 0 and 1 first and last, and in between Phi of equally spaced z.
func (s *stoppedLogs) at(i int) (upper, lower float64) {
	if s.upper == nil {
		none := slices.Repeat([]float64{math.NaN()}, 2*(stoppedCells+3))
		s.upper, s.lower = none[:stoppedCells+3], none[stoppedCells+3:]
	}
	if !math.IsNaN(s.upper[i]) {
		return s.upper[i], s.lower[i]
	}
	t, u := 0.0, 0.0
	switch {
	case i == stoppedCells+2:
		t, u = 1, 1
	case i > 0:
		low, high := -8-s.mu, 8.0
		z := low + (high-low)*float64(i-1)/stoppedCells
		t, u = math.Erfc(-z/math.Sqrt2)/2, math.Erfc(-(z+s.mu)/math.Sqrt2)/2
	}
	log := func(x float64) float64 { // of sum over k of k x^(k-1)/runs, by Horner's rule
		sum := 0.0
		for k := s.runs; k >= 1; k-- {
			sum = sum*x + float64(k)
		}
		return math.Log(sum / float64(s.runs))
	}
	s.upper[i], s.lower[i] = log(u), log(t)
	return s.upper[i], s.lower[i]
}

// most is the largest bound of an interval between neighbouring ends. Longer intervals have larger bounds,
// so one whose bound is not above what was found already is not divided. The interval of the last alpha comes first.
func (s *stoppedLogs) most(alpha float64) float64 {
	_, lower := s.at(s.peak)
	upper, _ := s.at(s.peak + 1)
	worst := max(0, alpha*upper-(alpha-1)*lower)
	var divide func(i, j int)
	divide = func(i, j int) {
		_, lower := s.at(i)
		upper, _ := s.at(j)
		switch bound := alpha*upper - (alpha-1)*lower; {
		case bound <= worst:
		case j-i == 1:
			worst, s.peak = bound, i
		default:
			divide((i+j)/2, j)
			divide(i, (i+j)/2)
		}
	}
	divide(0, stoppedCells+2)
	return worst
}
