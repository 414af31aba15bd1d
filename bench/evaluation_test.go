package bench_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/internal/tasks"
	"dyad/privacy"
)

// TestCoverage measures how often the intervals of private evaluations cover the truth, and what the noise adds to the sampling error:
// records are drawn from laws with a known AUC, ROC curve and mean loss, and evaluated as `dyad evaluate --epsilon` does.
func TestCoverage(t *testing.T) {
	c := claim{
		file: "evaluation-coverage.csv", keys: 5, columns: "law,n,positives,delta,runs,auc,wide,loss,sensitivity,specificity,accuracy,width,error,noise",
		comments: "# shares of runs whose 95 % interval covers the truth; points: mean over the operating points; wide: share of runs that say\n" +
			"# so; error: root mean square error of the AUC, noise: mean standard deviation of its noise as reported\n",
	}
	loss := &evaluate.ClampedLoss{Name: "logistic", Phi: func(u float64) float64 { return math.Log1p(math.Exp(-u)) }, High: 2 * math.Ln2}
	for _, size := range []struct{ n, positives, runs int }{
		{1000, 50, 1000}, {1000, 500, 1000}, {3000, 150, 1000}, {10_000, 50, 400}, {10_000, 5000, 400}, {300, 20, 1000}, {100, 50, 1000},
	} {
		for _, delta := range []float64{privacy.DefaultDelta(size.n), 0} {
			for _, l := range laws {
				key := fmt.Sprintf("%q,%d,%d,%.3g,%d", l.name, size.n, size.positives, delta, size.runs)
				c.lines = append(c.lines, claimed{key, size.n == 100 && l.name == "five scores", func(t *testing.T) []float64 {
					p := must.Get(evaluate.New(evaluate.Options{Records: size.n, Budget: privacy.Budget{Epsilon: 1, Delta: delta}, ScoreBound: 20, Loss: loss}))(t)
					return covered(t, l, nil, l.truth(loss), p, size.positives, size.runs)
				}})
			}
		}
	}
	c.check(t, 0.01, 0.005)
}

// TestCoverageOfPersons is TestCoverage for persons whose rows hang together.
func TestCoverageOfPersons(t *testing.T) {
	c := claim{
		file: "evaluation-persons.csv", keys: 6, columns: "rows,law,n,positives,delta,runs,auc,wide,loss,sensitivity,specificity,accuracy,width,error,noise",
		comments: "# shares of runs whose 95 % interval covers the truth, as in evaluation-coverage.csv\n" +
			"# rows: how many a person has and how they hang together; positives: expected sum of shares\n",
	}
	loss := &evaluate.ClampedLoss{Name: "logistic", Phi: func(u float64) float64 { return math.Log1p(math.Exp(-u)) }, High: 2 * math.Ln2}
	const runs = 1000
	for _, size := range []struct{ n, positives int }{{1000, 50}, {1000, 500}, {300, 20}} {
		delta := privacy.DefaultDelta(size.n)
		for _, l := range []law{laws[1], laws[2], laws[7]} {
			for _, h := range households {
				key := fmt.Sprintf("%q,%q,%d,%d,%.3g,%d", h.name, l.name, size.n, size.positives, delta, runs)
				c.lines = append(c.lines, claimed{key, size.n == 300 && l.name == "five scores" && h.sticky == 0.7, func(t *testing.T) []float64 {
					p := must.Get(evaluate.New(evaluate.Options{Records: size.n, PersonRows: 40, Budget: privacy.Budget{Epsilon: 1, Delta: delta}, ScoreBound: 20, Loss: loss}))(t)
					return covered(t, l, &h, l.truth(loss), p, size.positives, runs)
				}})
			}
		}
	}
	c.check(t, 0.01, 0.005)
}

// law is a pair of laws of scores.
type law struct {
	name               string
	positive, negative func(u float64) float64 // quantile functions
}

func normal(mean, deviation float64) func(float64) float64 {
	return func(u float64) float64 { return mean + deviation*math.Sqrt2*math.Erfinv(2*u-1) }
}

func exponential(scale float64) func(float64) float64 {
	return func(u float64) float64 { return -scale * math.Log1p(-u) }
}

func rounded(of func(float64) float64) func(float64) float64 {
	return func(u float64) float64 { return math.Round(of(u)) }
}

func mixed(share float64, a, b func(float64) float64) func(float64) float64 {
	return func(u float64) float64 {
		if u < share {
			return a(u / share)
		}
		return b((u - share) / (1 - share))
	}
}

var laws = []law{
	{"normal, AUC 0.5", normal(0, 1), normal(0, 1)},
	{"normal, AUC 0.76", normal(1, 1), normal(0, 1)},
	{"normal, AUC 0.92", normal(2, 1), normal(0, 1)},
	{"normal, AUC 0.98", normal(3, 1), normal(0, 1)},
	{"wide positives", normal(1, 3), normal(0, 1)},
	{"wide negatives", normal(1, 1), normal(0, 3)},
	{"exponential", exponential(4), exponential(1)},
	{"five scores", rounded(normal(1, 1)), rounded(normal(0, 1))},
	{"half of the positives found", mixed(0.5, normal(0, 1), normal(5, 1)), normal(0, 1)},
}

// truth is what intervals should cover.
type truth struct {
	auc, loss float64
	positive  []float64 // ordered scores at a fine grid of quantiles
	negative  []float64
}

// household is how the rows of a person hang together.
type household struct {
	name string
	rows func(u float64) int // of a person
	// alike is the correlation of the scores of two rows of one class, before the quantile function, and
	// sticky how often a row takes the class of the person, not one of its own.
	alike, sticky float64
}

var households = []household{
	{"one row", func(float64) int { return 1 }, 0, 0},
	{"up to 40 rows, most 1", visits, 0.5, 0.7},
	{"10 rows, independent", func(float64) int { return 10 }, 0, 0},
	{"10 rows, half alike", func(float64) int { return 10 }, 0.5, 0.5},
	{"10 rows, all alike", func(float64) int { return 10 }, 1, 1},
}

// text is the name, "" for records.
func (h *household) text() string {
	if h == nil {
		return ""
	}
	return h.name
}

// visits is 1 for three persons of four, and then has a long tail up to 40.
func visits(u float64) int {
	if u < 0.75 {
		return 1
	}
	return min(40, int(2*math.Pow((1-u)/0.25, -0.6)))
}

// persons draws n persons whose rows have the law of l and a share of positives, whoever's they
// are: their scores are quantiles of normal numbers that the rows of a person share in part.
func (h household) persons(l law, n int, share float64, rng *rand.Rand) (d evaluate.Data) {
	class := func() bool { return rng.Float64() < share }
	d.First = []int{0}
	for range n {
		own, common := class(), rng.NormFloat64()
		for range h.rows(rng.Float64()) {
			positive := own
			if rng.Float64() >= h.sticky {
				positive = class()
			}
			z := math.Sqrt(h.alike)*common + math.Sqrt(1-h.alike)*rng.NormFloat64()
			quantile := l.negative
			if positive {
				quantile = l.positive
			}
			d.Scores = append(d.Scores, quantile(0.5*math.Erfc(-z/math.Sqrt2)))
			d.Positive = append(d.Positive, positive)
		}
		d.First = append(d.First, len(d.Scores))
	}
	return d
}

// quantiles are ordered scores at the middles of equal shares of a law.
func quantiles(of func(float64) float64, shares int) (s []float64) {
	for k := range shares {
		s = append(s, of((float64(k)+0.5)/float64(shares)))
	}
	slices.Sort(s)
	return s
}

func (l law) truth(loss *evaluate.ClampedLoss) truth {
	const grid, fine = 2000, 200_000
	t := truth{positive: quantiles(l.positive, fine), negative: quantiles(l.negative, fine)}
	negative := quantiles(l.negative, grid)
	for _, p := range quantiles(l.positive, grid) {
		for _, q := range negative {
			switch {
			case p > q:
				t.auc++
			case p == q:
				t.auc += 0.5
			}
			t.loss += min(max(loss.Phi(2*(p-q)), loss.Low), loss.High)
		}
	}
	t.auc /= grid * grid
	t.loss /= grid * grid
	return t
}

// above is the share of ordered scores at or above a threshold.
func above(ordered []float64, threshold float64) float64 {
	at, _ := slices.BinarySearch(ordered, threshold)
	return 1 - float64(at)/float64(len(ordered))
}

// coverage counts over repetitions.
type coverage struct {
	runs, auc, loss, wide            int
	points, sensitivity, specificity int
	accuracy                         int
	width, error2, noise             float64
}

func (c *coverage) add(o coverage) {
	c.runs += o.runs
	c.auc += o.auc
	c.loss += o.loss
	c.wide += o.wide
	c.points += o.points
	c.sensitivity += o.sensitivity
	c.specificity += o.specificity
	c.accuracy += o.accuracy
	c.width += o.width
	c.error2 += o.error2
	c.noise += o.noise
}

func covers(f evaluate.Figure, v float64) int {
	if f.Low <= v && v <= f.High {
		return 1
	}
	return 0
}

// records are n of them, the first ones positive.
func records(l law, n, positives int, rng *rand.Rand) evaluate.Data {
	d := evaluate.Data{Scores: make([]float64, n), Positive: make([]bool, n)}
	for i := range n {
		d.Positive[i] = i < positives
		quantile := l.negative
		if d.Positive[i] {
			quantile = l.positive
		}
		d.Scores[i] = quantile(rng.Float64())
	}
	return d
}

// once draws records, evaluates them and compares.
func once(l law, h *household, want truth, p *evaluate.Plan, positives int, seed uint64) (c coverage, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(positives)))
	n := p.Options.Records
	var d evaluate.Data
	if h != nil {
		d = h.persons(l, n, float64(positives)/float64(n), rng)
	} else {
		d = records(l, n, positives, rng)
	}
	out, err := algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }),
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)})
	if err != nil {
		return c, err
	}
	f, err := p.Figures(out.Weights, 0.95)
	if err != nil {
		return c, err
	}
	c.runs, c.auc, c.loss = 1, covers(*f.AUC, want.auc), covers(*f.MeanLoss, want.loss)
	c.width, c.error2, c.noise = f.AUC.High-f.AUC.Low, (f.AUC.Value-want.auc)*(f.AUC.Value-want.auc), f.AUCNoise
	if f.Wide {
		c.wide = 1
	}
	share := float64(positives) / float64(n)
	for _, o := range f.Points {
		c.points++
		a, b := above(want.positive, o.Threshold), 1-above(want.negative, o.Threshold)
		c.sensitivity += covers(o.Sensitivity, a)
		c.specificity += covers(o.Specificity, b)
		c.accuracy += covers(o.Accuracy, share*a+(1-share)*b)
	}
	return c, nil
}

// onTwo carries out runs on two goroutines, and adds up their results.
func onTwo[T any](t *testing.T, runs int, one func(run uint64) (T, error), add func(T)) {
	var mu sync.Mutex
	must.Do(t, tasks.Each(t.Context(), 2, runs, func(_, run int) {
		got, err := one(uint64(run))
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
			return
		}
		add(got)
	}))
}

// covered repeats an evaluation on two goroutines; the numbers are those of TestCoverage.
func covered(t *testing.T, l law, h *household, want truth, p *evaluate.Plan, positives, runs int) []float64 {
	var all coverage
	first := uint64(crc32.ChecksumIEEE([]byte(fmt.Sprint(l.name, h.text(), p.Options.Records, positives, p.Options.Budget.Delta)))) << 20
	onTwo(t, runs, func(run uint64) (coverage, error) { return once(l, h, want, p, positives, first+run) }, all.add)
	share := func(k, of int) float64 { return float64(k) / float64(of) }
	return []float64{
		share(all.auc, all.runs), share(all.wide, all.runs), share(all.loss, all.runs),
		share(all.sensitivity, all.points), share(all.specificity, all.points), share(all.accuracy, all.points),
		all.width / float64(all.runs), math.Sqrt(all.error2 / float64(all.runs)), all.noise / float64(all.runs),
	}
}
