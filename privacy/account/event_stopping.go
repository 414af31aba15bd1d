package account

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dyad/privacy/internal/round"
)

// RandomStoppingEvent is the release of the best of K runs of a mechanism. Each run is Mu-GDP under
// replace-one. The result of the best run is released together with its score, which is computed from this
// result. The number K is uniform on 1..Runs. It is drawn in secret and independently of everything else.
// Nothing else about the runs is released. The runs are independent. Among equal scores the first run is the
// best.
//
// docs/theory.md#random-stopping proves the profile, the Renyi divergences and the mu of the event.
type RandomStoppingEvent struct {
	Mu   float64 `json:"mu"`   // Mu is the mu of one run, including training and scoring, > 0.
	Runs int     `json:"runs"` // Runs is between 1 and MaxRuns.
}

// MaxRuns is the largest value of RandomStoppingEvent.Runs.
const MaxRuns = 256

// String returns e.g. "best of 1 to 32 runs (mu 0.1 each, number secret) x 1".
func (e RandomStoppingEvent) String() string {
	return fmt.Sprintf("best of 1 to %d runs (mu %.6g each, number secret) x 1", e.Runs, e.Mu)
}

func (e RandomStoppingEvent) validate() error {
	err := positive("mu of a random stopping event", e.Mu)
	if e.Runs < 1 || e.Runs > MaxRuns {
		err = cmp.Or(err, fmt.Errorf("account: the limit of random stopping is %d runs, but must be 1 to %d",
			e.Runs, MaxRuns))
	}
	return err
}

func (e RandomStoppingEvent) facts() facts {
	mu := max(e.Mu, 1e-150) // mu^2 does not underflow
	return facts{
		event: e, count: 1, stopped: true,
		mu:    round.Up(math.Sqrt(float64(e.Runs))*mu, 3), // this mu would hold if the results of all runs were released
		renyi: stoppedRenyi(mu, e.Runs),
	}
}

func (recorded) RandomStopping() kind { return record[RandomStoppingEvent]("random-stopping") }

// stoppedRenyi returns a bound of the Renyi divergence as a function of alpha. It is the smaller of the
// divergence of all runs, runs alpha mu^2/2, and
//
//	alpha mu^2/2 + max over t of (alpha log f(u(t)) - (alpha-1) log f(t))/(alpha-1),
//
// where f is the derivative of the generating function of the number of runs and u(t) = Phi(Phi^-1(t) + mu).
// The functions f and u do not decrease. So on an interval of t, the maximum is at most the value with u at
// the upper end and t at the lower end of the interval. The result is an upper bound for every choice of
// intervals.
func stoppedRenyi(mu float64, runs int) func(alpha float64) float64 {
	logs := &stoppedLogs{mu: mu, runs: runs}
	return func(alpha float64) float64 {
		one := gaussianRenyi(alpha, mu)
		all := round.Up(float64(runs)*one, 1)
		if mu > 30 { // the logarithms are less exact here, and there is no useful privacy
			return all
		}
		worst := logs.most(alpha)
		// The logarithms are at most log(runs) in magnitude, each with error below 1e-10.
		slack := (2*alpha + 1) * 1e-10 * (1 + math.Log(float64(runs)))
		return min(all, round.Up(one+(worst+slack)/(alpha-1), 4))
	}
}

// stoppedCells is the number of intervals. With 2^13 intervals, the result is within 1 % of the maximum.
const stoppedCells = 1 << 13

// stoppedLogs holds log f(u) and log f(t) at the ends of intervals that cover [0, 1]. Their errors are at
// most 1e-10 for mu <= 30: f is a sum of at most MaxRuns positive terms, and the relative error of Phi(z),
// below (z^2 + 10) 2^-52, enters f at most MaxRuns times. They are computed on demand.
type stoppedLogs struct {
	mu           float64
	runs         int
	upper, lower []float64 // NaN means not computed
	peak         int       // the interval with the largest bound of the previous alpha
}

// at returns the logarithms at end i, and computes them if necessary. The first end is t = 0 and the last end
// is t = 1. The other t are Phi of equally spaced z.
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
	log := func(x float64) float64 { // logarithm of the sum over k of k x^(k-1)/runs, by Horner's rule
		sum := 0.0
		for k := s.runs; k >= 1; k-- {
			sum = sum*x + float64(k)
		}
		return math.Log(sum / float64(s.runs))
	}
	s.upper[i], s.lower[i] = log(u), log(t)
	return s.upper[i], s.lower[i]
}

// most returns the largest bound of an interval between neighbouring ends. Longer intervals have larger
// bounds, so an interval is not divided if its bound is not above the largest bound found so far. The search
// starts at the peak interval of the previous alpha.
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
