package pairs_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/embedding"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// moments is a Spec of method Moments for the pairs of s.
func moments(s pairs.Spec) pairs.Spec {
	s.Method, s.Batch, s.Epochs, s.StepSize, s.Rows, s.Noise = pairs.Moments, 0, 0, 0, 0, privacy.KNormNoise
	return s
}

// Replacing an individual, its features and the labels of its pairs, moves the release by no more
// than the certificate; one that stands alone and whose labels turn moves it by all of it.
func TestMomentsOfPairsStayWithinTheCertificate(t *testing.T) {
	s := moments(certified())
	for _, clip := range []float64{0, 1e-5, 2} {
		for _, delta := range []float64{0, 1e-5} {
			s.Clip, s.Budget.Delta = clip, delta
			x, g, labels := dataFor(t, s, 1)
			everyIndividual(t, fmt.Sprint("clip ", clip), planOf(t, s), x, g, labels)
			r := attacked(t, planOf(t, moments(star(pairs.Individual, 3))), 0, 400)
			if !(r.Move > 0.999 && r.Move <= 1) {
				t.Errorf("the worst case moves %v of the certificate", r.Move)
			}
		}
	}
}

// The claim holds for every unit and noise, and noise for fewer pairs, half of it, or a
// certificate that forgets the second sum or the count is caught.
func TestAuditOfPairMoments(t *testing.T) {
	sizes.NotShort(t, "slow")
	for name, s := range map[string]pairs.Spec{
		"individual": gauss(star(pairs.Individual, 3)), "group, K-norm": star(pairs.Group, 2), "pair": gauss(star(pairs.OnePair, 1)),
	} {
		t.Run(name, func(t *testing.T) { holds(t, attacked(t, planOf(t, moments(s)), 0, 6_000)) })
	}
	caught := func(name string, p *pairs.Plan, changed int) {
		if r := attacked(t, p, changed, 8_000); r.Holds() || !r.Refuted() {
			t.Errorf("%s is not caught: moves %v, %+v for epsilon %v", name, r.Move, r.Bounds, r.Epsilon)
		}
	}
	fewer := moments(gauss(star(pairs.Group, 1)))
	caught("noise for one of two pairs", planOf(t, fewer), 2)
	half := planOf(t, moments(gauss(star(pairs.Individual, 3))))
	noise := half.Noise().(privacy.Gaussian)
	noise.Sigma /= 2
	half.Releases[0].Noise = noise
	caught("half the noise", half, 0)
	for name, change := range map[string]privacy.PairMoments{
		"one sum alone": {Group: 3, Radius: math.Pow(0.5, 0.25)}, "no count": {Group: 3, Radius: 1},
	} {
		p := planOf(t, moments(gauss(star(pairs.Individual, 3))))
		p.Releases[0].Certificate = must.Get(change.Certify())(t)
		if r := attacked(t, p, 0, 400); !r.Exceeds() {
			t.Errorf("certificate with %s: the worst case moves %v of it", name, r.Move)
		}
	}
}

// From pairs to a metric that is long where similar pairs are close and dissimilar ones are not,
// in one charge, with the margin as its scale; an exact run says so.
func TestMomentsOfPairsLearn(t *testing.T) {
	s := pairs.Spec{
		Individuals: 2000, Pairs: 4000, Dim: 4, Bound: 1, Loss: embedding.Contrastive{Margin: 3}, Method: pairs.Moments,
		Kappa: 8, Budget: privacy.Budget{Epsilon: 2, Delta: 1e-5},
	}
	for _, mode := range []algorithms.Mode{algorithms.Certified, algorithms.NonPrivate} {
		s.Mode = mode
		x, g, labels := dataFor(t, s, 3)
		data := newData(t, s, x, g, labels)
		p := planOf(t, s)
		book := must.Get(ledger.Open(filepath.Join(t.TempDir(), "ledger")))(t)
		o := pairs.Options{Options: algorithms.Options{Ledger: book, DataID: "d", Source: privacy.NewSeededSource(1)}, Workers: 2}
		if mode == algorithms.NonPrivate {
			o.Ledger, o.Public = nil, true
		}
		r := must.Get(pairs.Run(context.Background(), data, nil, p, o))(t)
		if entries, err := book.Entries(); err != nil || mode == algorithms.Certified && (len(entries) != 2 || entries[0].Run != r.Run) {
			t.Fatalf("ledger: %v %v", entries, err)
		}
		var along, most, square float64
		for k := range s.Dim {
			var length float64
			for row := range s.Dim {
				length += r.Weights[row*s.Dim+k] * r.Weights[row*s.Dim+k]
			}
			if k == 0 {
				along = length
			} else {
				most = max(most, length)
			}
		}
		must.Above(t, along, 3*most, "%s: the feature that tells groups apart weighs %v, others up to %v", mode, along, most)
		for _, e := range g.Pairs() {
			for row := range s.Dim {
				var v float64
				for k := range s.Dim {
					v += r.Weights[row*s.Dim+k] * (data.Row(int(e.A))[k] - data.Row(int(e.B))[k])
				}
				square += v * v / float64(s.Pairs)
			}
		}
		// Differences are clipped, so the differences of the data are longer.
		if root := math.Sqrt(square); !(root > 3 && root < 12) {
			t.Errorf("%s: root mean square distance %v, want the margin 3 or some times more", mode, root)
		}
	}
}

func TestMomentsOfPairsRefuse(t *testing.T) {
	for says, change := range map[string]func(*pairs.Spec){
		"batches":                     func(s *pairs.Spec) { s.Batch = 5 },
		"epochs":                      func(s *pairs.Spec) { s.Epochs = 2 },
		"steps":                       func(s *pairs.Spec) { s.StepSize = 1 },
		"sampling":                    func(s *pairs.Spec) { s.Sampling = pairs.Poisson },
		"no noise for method moments": func(s *pairs.Spec) { s.Mode = algorithms.Paper },
		"contrastive":                 func(s *pairs.Spec) { s.Loss = embedding.BradleyTerry{} },
		"at most 4 rows":              func(s *pairs.Spec) { s.Rows = 5 },
		"512 features":                func(s *pairs.Spec) { s.Dim = 513 },
		"K-norm noise":                func(s *pairs.Spec) { s.Noise = privacy.LaplaceNoise },
		"at least 2 pairs":            func(s *pairs.Spec) { s.Pairs = 1 },
		"kappa":                       func(s *pairs.Spec) { s.Kappa = 0 },
		"label share":                 func(s *pairs.Spec) { s.LabelShare = 0.5 },
	} {
		s := moments(certified())
		change(&s)
		must.Fail(s.Plan())(t, must.All{pairs.ErrPlan, says})
	}
}
