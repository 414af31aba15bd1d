package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/algorithms"
	"dyad/privacy"
)

// Options of an audit. The zero value is a fast white-box audit.
type Options struct {
	// Access of the adversary. Plans whose guarantee rests on secret batches or steps
	// are attacked by BlackBox whatever it says.
	Access Access
	// Runs on each of the two data sets; half of them choose the attack. 0 means
	// 4000; at least 20.
	Runs int
	// Confidence with which all bounds of the report hold together. 0 means 0.999.
	Confidence float64
	// Seed of all randomness, noise included.
	Seed uint64
	// Workers is the number of goroutines, 0 for all processors. It changes the
	// time, never the result.
	Workers int
	// Tracker is told how many runs are done; nil means nobody is.
	Tracker algorithms.Tracker
}

// Bound is a lower bound on epsilon.
type Bound struct {
	Method     string  `json:"method"`
	Attack     string  `json:"attack"`
	Epsilon    float64 `json:"epsilon"`
	Confidence float64 `json:"confidence"` // of this bound by itself
	Assumes    string  `json:"assumes"`
}

// Report is the outcome of an audit.
type Report struct {
	Algorithm string  `json:"algorithm"`
	Mode      string  `json:"mode"`
	Variant   string  `json:"variant,omitempty"` // of a stream: reading, batches, buffer
	Loss      string  `json:"loss"`
	Records   int     `json:"records"`
	Features  int     `json:"features"`
	Access    string  `json:"access"`
	Instance  string  `json:"instance"`
	Runs      int     `json:"runs"` // on each of the two data sets
	Seed      uint64  `json:"seed"`
	Epsilon   float64 `json:"claimed_epsilon"`
	Delta     float64 `json:"delta"`
	Mu        float64 `json:"claimed_mu,omitempty"`
	// PaperEpsilon is what the paper claims, in paper mode.
	PaperEpsilon float64 `json:"paper_claim_epsilon,omitempty"`

	Confidence float64 `json:"confidence"` // of all bounds together
	Bounds     []Bound `json:"bounds"`
	LowerBound float64 `json:"audited_epsilon"` // the largest of Bounds
	// Move is how far the exact vectors move over what the certificate allows.
	Move float64 `json:"move_to_certificate,omitempty"`
	// Shift is the observed gap/sd of the scores under Gaussian noise: of the
	// log-likelihood ratio in white-box runs, of the projection on the known direction
	// in black-box ones.
	Shift *Shift `json:"shift,omitempty"`
	// Values released, how many are off the noise grid, and how many noise vectors
	// repeat.
	Values   int `json:"released_values"`
	OffGrid  int `json:"off_grid"`
	Repeated int `json:"repeated_noise"`

	// Scores are those of the attack behind the Clopper-Pearson bound on the runs
	// that did not choose it: data, neighbour.
	Scores [2][]float64 `json:"-"`
}

// Holds says that nothing refutes the claim.
func (r *Report) Holds() bool {
	return r.LowerBound <= r.Epsilon && r.OffGrid == 0 && r.Repeated == 0
}

// Run attacks t. The report refutes the claim of its plan unless Report.Holds.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := o.defaults(); err != nil {
		return nil, err
	}
	if t.secret() {
		o.Access = BlackBox
	}
	claimed := t.claim()
	r := newReport(claimed, o.Confidence)
	r.Access, r.Instance, r.Runs, r.Seed = o.Access.String(), t.Instance, o.Runs, o.Seed
	var err error
	if r.Move, err = t.Move(ctx); err != nil {
		return nil, err
	}
	best := likelihoodScore
	if o.Access == BlackBox {
		if best, err = t.directionScore(ctx, o.Seed); err != nil {
			return nil, err
		}
	}
	scores := []score{lowBitScore, best}
	all, err := simulate(ctx, t, o.Access, o.Runs, o.Seed, o.Workers, o.Tracker)
	if err != nil {
		return nil, err
	}
	_, gaussian := claimed.noise.(privacy.Gaussian)
	gaussian = gaussian && r.Delta > 0
	alpha := 1 - o.Confidence
	if gaussian && o.Access == WhiteBox {
		alpha /= 2
	}
	r.Bounds = append(r.Bounds, r.threshold(all, scores, alpha))
	if gaussian {
		s := GaussianModel(all.scores(best, 0), all.scores(best, 1), alpha)
		r.Shift = &s
	}
	if gaussian && o.Access == WhiteBox {
		s := r.Shift
		r.Bounds = append(r.Bounds, Bound{
			Method: "Gaussian model", Attack: likelihoodScore.name, Epsilon: gdpEpsilonLower(s.Lower, r.Delta), Confidence: 1 - alpha,
			Assumes: "scores are normal with one standard deviation, as they are for one release with Gaussian noise",
		})
	}
	for side := range all {
		values, off := OffGrid(all[side])
		r.Values += values
		r.OffGrid += off
	}
	r.Repeated = Repeated(slices.Concat(all[0], all[1]))
	r.finish()
	return r, nil
}

func (o *Options) defaults() error {
	if o.Runs == 0 {
		o.Runs = 4000
	}
	if o.Confidence == 0 {
		o.Confidence = 0.999
	}
	if o.Tracker == nil {
		o.Tracker = algorithms.NoTracker{}
	}
	if o.Runs < 20 {
		return fmt.Errorf("audit: %d runs on each data set, want at least 20", o.Runs)
	}
	if !(o.Confidence >= 0.5 && o.Confidence < 1) {
		return fmt.Errorf("audit: the confidence is %v, want at least 0.5 and below 1", o.Confidence)
	}
	if o.Access != WhiteBox && o.Access != BlackBox {
		return errors.New("audit: unknown access, want WhiteBox or BlackBox")
	}
	return nil
}

func newReport(c claim, confidence float64) *Report {
	r := &Report{
		Algorithm: c.algorithm, Mode: c.mode, Variant: c.variant, Loss: c.problem.Loss.Name(),
		Records: c.problem.N, Features: c.problem.D,
		Epsilon: c.guarantee.Epsilon, Delta: c.guarantee.Delta, Mu: c.guarantee.Mu,
		Confidence: confidence,
	}
	if c.guarantee.Claim != nil {
		r.PaperEpsilon = c.guarantee.Claim.Epsilon
	}
	return r
}

func (r *Report) finish() {
	for _, b := range r.Bounds {
		r.LowerBound = max(r.LowerBound, b.Epsilon)
	}
}

// directionScore is the projection of the released vectors on the direction in which
// the exact vectors move, averaged over a few coins.
func (t Target) directionScore(ctx context.Context, seed uint64) (score, error) {
	w, err := newWorker(t)
	if err != nil {
		return score{}, err
	}
	defer w.close()
	var direction []float64
	for i := range 8 {
		w.t.Coins = runSeed(^seed, i)
		o, other, err := w.pair(ctx, false, uint64(i))
		if err != nil {
			return score{}, err
		}
		var moved []float64
		for j, r := range o.Releases {
			for k, v := range r.Exact {
				moved = append(moved, other[j].Exact[k]-v)
			}
		}
		if direction == nil {
			direction = make([]float64, len(moved))
		}
		for k, v := range moved {
			direction[k] += v
		}
	}
	return score{"projection on the known direction of the difference", func(o Observation) float64 {
		sum, k := 0.0, 0
		for _, r := range o.Releases {
			for _, v := range r.Value {
				sum += v * direction[k]
				k++
			}
		}
		return sum
	}}, nil
}

// threshold chooses a score, a threshold and a side on the first half of the runs
// and bounds epsilon by Clopper-Pearson on the second half.
func (r *Report) threshold(all sample, scores []score, alpha float64) Bound {
	half := len(all[0]) / 2
	pilot, held := sample{all[0][:half], all[1][:half]}, sample{all[0][half:], all[1][half:]}
	for name, features := range map[string]func(Observation) []float64{
		"learned direction of the releases": Observation.flat,
		"learned direction of the result":   func(o Observation) []float64 { return o.Weights },
	} {
		if s, ok := learnedScore(pilot, name, features); ok {
			scores = append(scores, s)
		}
	}
	slices.SortFunc(scores, func(a, b score) int { return compareText(a.name, b.name) })
	var best attack
	for _, s := range scores {
		a := bestAttack(pilot.scores(s, 0), pilot.scores(s, 1), len(held[0]), r.Delta, alpha)
		if a.score = s; best.score.of == nil || a.promise > best.promise {
			best = a
		}
	}
	r.Scores = [2][]float64{held.scores(best.score, 0), held.scores(best.score, 1)}
	e := best.count(r.Scores[0], r.Scores[1])
	return Bound{
		Method: "Clopper-Pearson", Attack: best.String(), Epsilon: ClopperPearson(e, r.Delta, alpha), Confidence: 1 - alpha,
		Assumes: "nothing but independent runs",
	}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (s sample) scores(by score, side int) []float64 {
	v := make([]float64, len(s[side]))
	for i, o := range s[side] {
		v[i] = by.of(o)
	}
	return v
}

// attack guesses the data set likely (0 data, 1 neighbour) when the score is at or
// above the threshold, or below it.
type attack struct {
	score     score
	threshold float64
	above     bool
	likely    int
	promise   float64 // the bound that the pilot runs promise
}

// String describes the guess.
func (a attack) String() string {
	relation, guess := "below", "data"
	if a.above {
		relation = "at least"
	}
	if a.likely == 1 {
		guess = "neighbour"
	}
	return fmt.Sprintf("guess %s if the %s is %s %.6g", guess, a.score.name, relation, a.threshold)
}

func (a attack) count(data, neighbour []float64) Event {
	hits := func(v []float64) (n int) {
		for _, x := range v {
			if (x >= a.threshold) == a.above {
				n++
			}
		}
		return n
	}
	sides := [2][]float64{data, neighbour}
	likely, rare := sides[a.likely], sides[1-a.likely]
	return Event{hits(likely), len(likely), hits(rare), len(rare)}
}

// bestAttack is the threshold that promises the largest bound on as many held-out
// runs. The promise uses normal approximations and allows for the luck of the pilot
// runs: it steers the choice only.
func bestAttack(data, neighbour []float64, held int, delta, alpha float64) attack {
	data, neighbour = slices.Clone(data), slices.Clone(neighbour)
	slices.Sort(data)
	slices.Sort(neighbour)
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(data, neighbour))))
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	half := func(n int, values []float64) (p, margin float64) {
		m := float64(len(values))
		p = (float64(n) + 0.5) / (m + 1)
		return p, z * math.Sqrt(p*(1-p)*(1/float64(held)+1/m))
	}
	best := attack{threshold: all[0], above: true, promise: math.Inf(-1)}
	for i := 0; i < len(all); i += 1 + len(all)/400 {
		below0, _ := slices.BinarySearch(data, all[i])
		below1, _ := slices.BinarySearch(neighbour, all[i])
		for _, above := range []bool{false, true} {
			n0, n1 := below0, below1
			if above {
				n0, n1 = len(data)-below0, len(neighbour)-below1
			}
			p0, margin0 := half(n0, data)
			p1, margin1 := half(n1, neighbour)
			for likely, promise := range []float64{
				promised(p0-margin0-delta, p1+margin1), promised(p1-margin1-delta, p0+margin0),
			} {
				if promise > best.promise {
					best = attack{threshold: all[i], above: above, likely: likely, promise: promise}
				}
			}
		}
	}
	return best
}

func promised(p, q float64) float64 {
	if p <= 0 {
		return math.Inf(-1)
	}
	return math.Log(p / q)
}
