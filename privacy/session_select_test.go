package privacy

import (
	"errors"
	"math"
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
	"dyad/privacy/internal/sampler"
	"dyad/privacy/privtest"
)

// choiceLaw is the exact law of permute-and-flip: score q is taken with probability
// exp(-rate (largest - q)) when its turn comes, in a uniform order.
func choiceLaw(scores []int64, rate float64) []float64 {
	law := make([]float64, len(scores))
	largest := slices.Max(scores)
	var walk func(left []int, p float64)
	walk = func(left []int, p float64) {
		for k, i := range left {
			turn := p / float64(len(left))
			take := math.Exp(-rate * float64(largest-scores[i]))
			law[i] += turn * take
			if take < 1 {
				walk(slices.Delete(slices.Clone(left), k, k+1), turn*(1-take))
			}
		}
	}
	var all []int
	for i := range scores {
		all = append(all, i)
	}
	walk(all, 1)
	return law
}

// Choices have exactly the law of permute-and-flip, for small and for large gaps.
func TestChoiceLaw(t *testing.T) {
	src := NewSeededSource(3)
	for _, c := range []struct {
		scores   []int64
		num, den uint64
	}{
		{[]int64{0, 0, 0}, 1, 3}, {[]int64{3, 1, 0, 2}, 1, 2}, {[]int64{-7, 5}, 1 << 20, 9 << 20}, {[]int64{10, 9, 9, -40}, 5, 4},
	} {
		counts := make([]int, len(c.scores))
		for range 40000 {
			counts[sampler.PermuteAndFlip(c.scores, c.num, c.den, src.Bits)]++
		}
		must.CheckDo(t, privtest.CheckMultinomial(counts, choiceLaw(c.scores, float64(c.num)/float64(c.den)), 1e-6),
			c.scores, " with rate ", c.num, "/", c.den)
	}
}

// A gap that no float64 trial decides ends at once, and takes the largest score.
func TestChoiceOfHugeGaps(t *testing.T) {
	src := NewSeededSource(4)
	for range 100 {
		if got := sampler.PermuteAndFlip([]int64{-1 << 61, 1 << 61, 0}, math.MaxUint32, 1, src.Bits); got != 1 {
			t.Fatalf("candidate %d", got)
		}
	}
}

// choices counts what a session chooses, of scores with a certificate.
func choices(t *testing.T, scores []int64, c Certificate, epsilon float64, trials int) []int {
	t.Helper()
	src, counts := NewSeededSource(5), make([]int, len(scores))
	for range trials {
		s := must.Get(NewPublicSession(src, []account.Event{account.PureEvent{Epsilon: epsilon}}))(t)
		i := must.Get(s.Choose(scores, c, epsilon))(t)
		counts[i]++
	}
	return counts
}

// A session chooses by the law of permute-and-flip with the rate epsilon/(2s), and over all neighbours of a few scores this
// law moves by at most epsilon, and by nearly as much. With the rate epsilon/s, the known defect, it moves by more, and the
// session's choices are told from it.
func TestChoiceOfNeighbours(t *testing.T) {
	const epsilon, trials = 0.5, 40000
	certificate := must.Get(ScoreSum{Levels: 1, Name: "score"}.Certify())(t)
	sensitivity := int64(certificate.Sensitivity())
	if sensitivity != 2 {
		t.Fatalf("the scores have sensitivity %v, the neighbours below differ by 2", certificate.Sensitivity())
	}
	worst := func(rate float64) (most float64) {
		for code := range int64(9 * 9 * 9) {
			scores := []int64{code%9 - 4, code/9%9 - 4, code/81 - 4}
			law := choiceLaw(scores, rate)
			for moves := range int64(5 * 5 * 5) {
				other := []int64{scores[0] + moves%5 - sensitivity, scores[1] + moves/5%5 - sensitivity, scores[2] + moves/25 - sensitivity}
				for i, p := range choiceLaw(other, rate) {
					most = max(most, math.Abs(math.Log(p/law[i])))
				}
			}
		}
		return most
	}
	rate, defect := epsilon/float64(2*sensitivity), epsilon/float64(sensitivity)
	must.Within(t, worst(rate), 0.9*epsilon, epsilon*(1+1e-12), "a choice moves by, want at most %v and nearly as much",
		epsilon)
	must.Above(t, worst(defect), epsilon, "with s in the place of 2 s a choice moves by")
	for _, scores := range [][]int64{{0, 4}, {4, 0, 1}, {-2, 2, 0, 2}} {
		counts := choices(t, scores, certificate, epsilon, trials)
		must.CheckDo(t, privtest.CheckMultinomial(counts, choiceLaw(scores, rate), 1e-6), "the session's choices of ",
			scores)
		must.ErrDo(t, privtest.CheckMultinomial(counts, choiceLaw(scores, defect), 1e-6), "the choices of %v are not told from those with s in the place of 2 s", scores)
	}
}

// exponentialLaw is the exact law of the exponential mechanism, of places one after the other without those before.
func exponentialLaw(scores []int64, rate float64, draws int) map[[2]int]float64 {
	law := map[[2]int]float64{}
	weight := func(i int) float64 { return math.Exp(rate * float64(scores[i])) }
	all := 0.0
	for i := range scores {
		all += weight(i)
	}
	for i := range scores {
		if draws == 1 {
			law[[2]int{i}] = weight(i) / all
			continue
		}
		for j := range scores {
			if j != i {
				law[[2]int{i, j}] = weight(i) / all * weight(j) / (all - weight(i))
			}
		}
	}
	return law
}

// Where a bounded-range event is planned a session draws by the exponential mechanism. Over all neighbours of a few scores one draw, or two
// without replacement, has no hockey-stick divergence above that of mu-GDP for the mu of the event, and one comes near; the mu of a quarter
// of epsilon, a known defect, is exceeded.
func TestExponentialChoice(t *testing.T) {
	const epsilon, levels = 0.5, 1
	certificate, err := ResidualScores{Levels: levels}.Certify()
	if err != nil || certificate.Sensitivity() != 2*levels {
		t.Fatalf("sensitivity %v, %v", certificate.Sensitivity(), err)
	}
	rate := epsilon / (2 * certificate.Sensitivity())
	for draws := 1; draws <= 2; draws++ {
		var total account.GDP
		must.Do(t, total.Compose(account.Repeat(account.BoundedRangeEvent{Epsilon: epsilon}, draws)))
		mu, closest, defect := total.Mu(), 0.0, 0.0
		for code := range int64(3 * 3 * 3 * 3) {
			scores, other := make([]int64, 4), make([]int64, 4)
			for moves := range int64(1 << 4) {
				for i, c := 0, code; i < 4; i, c = i+1, c/3 {
					scores[i] = 6 * (c%3 - 1)
					other[i] = scores[i] + 4*(moves>>i&1) - 2
				}
				p, q := exponentialLaw(scores, rate, draws), exponentialLaw(other, rate, draws)
				for _, e := range []float64{0, 0.1, 0.2} {
					delta := 0.0
					for k := range p {
						delta += max(0, p[k]-math.Exp(e)*q[k])
					}
					closest = max(closest, delta/account.GDPDelta(e, mu))
					defect = max(defect, delta/account.GDPDelta(e, mu/2))
				}
			}
		}
		if closest > 1 || closest < 0.8 || defect <= 1 {
			t.Errorf("%d draws reach %v of the divergence of %v-GDP, and %v of that of half of it", draws, closest, mu, defect)
		}
	}
	for _, scores := range [][]int64{{0, 4}, {4, 0, 1}, {-2, 2, 0, 2}} {
		src, counts, law, other := NewSeededSource(5), make([]int, len(scores)), make([]float64, len(scores)), choiceLaw(scores, rate)
		for k, p := range exponentialLaw(scores, rate, 1) {
			law[k[0]] = p
		}
		for range 40000 {
			s := must.Get(NewPublicSession(src, []account.Event{account.BoundedRangeEvent{Epsilon: epsilon}}))(t)
			i := must.Get(s.Choose(scores, certificate, epsilon))(t)
			counts[i]++
			if _, err := s.Choose(scores, certificate, epsilon); !errors.Is(err, ErrUnplanned) {
				t.Fatalf("a second choice of one that is planned: %v", err)
			}
		}
		must.CheckDo(t, privtest.CheckMultinomial(counts, law, 1e-6), "the session's choices of ", scores)
		if err := privtest.CheckMultinomial(counts, other, 1e-6); err == nil && len(scores) > 2 {
			t.Errorf("the choices of %v are not told from permute-and-flip", scores)
		}
	}
}

// score is what a run of the tests below plans and releases.
func score(t *testing.T) (Certificate, Gaussian) {
	t.Helper()
	c := must.Get(ScoreSum{Levels: 1, Name: "score"}.Certify())(t)
	return c, Gaussian{Sigma: 4}
}

func selectionOf(t *testing.T, runs, candidates int) Selection {
	c, m := score(t)
	x := Selection{Event: account.RandomStoppingEvent{Mu: 0.5 * (1 + 1e-12), Runs: runs}}
	for range candidates {
		x.Candidates = append(x.Candidates, []account.Event{m.Event(c)})
	}
	return x
}

func sessionOf(t *testing.T, seed uint64, e ...account.Event) *LiveSession {
	t.Helper()
	return must.Get(NewPublicSession(NewSeededSource(seed), e))(t)
}

// The number of runs that count is uniform; all runs are made, whatever it is; candidates are drawn
// uniformly.
func TestSelectionDrawsTheNumberOfRuns(t *testing.T) {
	const runs, candidates, trials = 5, 3, 20000
	counts, drawn := make([]int, runs), make([]int, candidates)
	x := selectionOf(t, runs, candidates)
	for seed := range trials {
		made := 0
		_, best, err := sessionOf(t, uint64(seed), x.Event).Best(x, func(candidate int, s Session) ([]float64, error) {
			made++
			drawn[candidate]++
			return []float64{float64(made)}, nil // the last run that counts is the best
		})
		if err != nil || made != runs {
			t.Fatalf("%d runs were made: %v", made, err)
		}
		counts[int(best[0])-1]++
	}
	if err := privtest.CheckMultinomial(counts, slices.Repeat([]float64{1. / runs}, runs), 1e-6); err != nil {
		t.Error("number of runs:", err)
	}
	must.CheckDo(t, privtest.CheckMultinomial(drawn, slices.Repeat([]float64{1. / candidates}, candidates), 1e-6), "candidates:")
}

// Runs release what their candidate planned and no more, in sessions of their own; the best score is
// returned, and of equal ones the first. What failed is below all others and ends nothing.
func TestSelectionRuns(t *testing.T) {
	c, m := score(t)
	x := selectionOf(t, 6, 2)
	for seed := range uint64(50) {
		s, made, failed := sessionOf(t, seed, x.Event), 0, 0
		_, best, err := s.Best(x, func(candidate int, one Session) ([]float64, error) {
			made++
			v := []float64{0}
			must.Do(t, one.Release(v, c, m))
			if err := one.Release([]float64{0}, c, m); !errors.Is(err, ErrUnplanned) {
				t.Fatalf("a second score was released: %v", err)
			}
			if made == 1 {
				failed++
				return nil, ErrFailedRun
			}
			return []float64{1, float64(made)}, nil
		})
		switch {
		case made != 6 || failed != 1:
			t.Fatalf("%d runs", made)
		case err != nil && !errors.Is(err, ErrFailedRun):
			t.Fatal(err)
		case err == nil && best[1] != 2:
			t.Fatalf("of equal scores run %v is returned, want the first", best[1])
		}
		if _, _, err := s.Best(x, nil); !errors.Is(err, ErrUnplanned) {
			t.Fatalf("a second selection: %v", err)
		}
		if err := s.Release([]float64{0}, c, m); !errors.Is(err, ErrUnplanned) {
			t.Fatalf("a release outside of a run: %v", err)
		}
	}
}

// What is more than was planned is refused.
func TestSelectionIsWhatWasPlanned(t *testing.T) {
	x := selectionOf(t, 4, 2)
	run := func(int, Session) ([]float64, error) { return []float64{0}, nil }
	loud := x
	loud.Candidates = append(slices.Clone(x.Candidates), []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 1}})
	if _, _, err := sessionOf(t, 1, x.Event).Best(loud, run); !errors.Is(err, ErrUnplanned) {
		t.Errorf("a candidate with less noise: %v", err)
	}
	more := x
	more.Event.Runs++
	if _, _, err := sessionOf(t, 1, x.Event).Best(more, run); !errors.Is(err, ErrUnplanned) {
		t.Errorf("more runs: %v", err)
	}
	stop := errors.New("interrupt")
	if _, _, err := sessionOf(t, 1, x.Event).Best(x, func(int, Session) ([]float64, error) { return nil, stop }); !errors.Is(err, stop) {
		t.Errorf("an interrupt: %v", err)
	}
	c, _ := score(t)
	s := sessionOf(t, 1, account.PureEvent{Epsilon: 0.5})
	must.Fail(s.Choose([]int64{1, 2}, c, 0.25))(t, ErrUnplanned, "a choice of another epsilon")
	must.Err(s.Choose([]int64{1, 2}, c, 0.1))(t, "a choice with an epsilon that is no multiple of 2^-20")
	must.Check(s.Choose([]int64{1, 2}, c, 0.5))(t)
	must.Fail(s.Choose([]int64{1, 2}, c, 0.5))(t, ErrUnplanned, "a second choice")
}
