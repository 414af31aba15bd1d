package attack

import (
	"errors"
	"math"
	"testing"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/internal/must"
	"dyad/privacy"
)

func metricPlan(t *testing.T, a algorithms.MomentMetric, n, d int, b engine.Bounds, epsilon float64) *algorithms.Plan {
	t.Helper()
	return planOn(t, a, engine.Problem{N: n, D: d, Bounds: b, Loss: engine.MahalanobisLogistic{}, Radius: 0.5 / (b.FeatureNorm * b.FeatureNorm)}, epsilon, 1e-5)
}

// Replaced records move no release by more than its certificate, for small and large n and d,
// other bounds and a clip radius beyond all records; and the worst cases attain it: opposite
// records, which move the centre and the sums, and a change of class alone, which moves the joint
// release by all of 2 R around any centre.
func TestMomentMetricReplays(t *testing.T) {
	for _, b := range []engine.Bounds{engine.UnitBounds(), {FeatureNorm: 3.7, LabelAbs: 0.3}, {FeatureNorm: 0x1p-100, LabelAbs: 40}} {
		for _, shape := range [][2]int{{2, 1}, {30, 3}, {300, 20}} {
			for i, a := range []algorithms.MomentMetric{{}, {CentreShare: 0.6, ClipRadius: 0.9 * b.FeatureNorm}, {ClipRadius: 2 * b.FeatureNorm}} {
				p := metricPlan(t, a, shape[0], shape[1], b, 1)
				data := RandomRecords(shape[0], shape[1], b, 5)
				must.Check(Replay(a, p, data, Neighbours(data, 12, 6), 7))(t, b, ", n = ", shape[0], ", d = ", shape[1],
					", options ", i)
			}
		}
	}
	const n, d = 40, 4
	a := algorithms.MomentMetric{}
	p := metricPlan(t, a, n, d, engine.UnitBounds(), 1)
	along := func(x float64) []float64 { return []float64{0, 0, x, 0} }
	for name, c := range map[string]struct{ x, y float64 }{"opposite records": {-1, 1}, "another class": {1, -1}} {
		data, neighbour := twoRecords(n, along(1-1e-9), 1, along(c.x*(1-1e-9)), c.y)
		if ratio, err := Replay(a, p, data, []*engine.Records{neighbour}, 3); err != nil || ratio < 0.99 {
			t.Errorf("%s: attains %.4f, %v", name, ratio, err)
		}
	}
}

// The known defects: clipping around the exact centre, a metric from exact moments, and
// certificates that forget the second class, or that it moves with the first.
func TestReplayCatchesLeakyMetrics(t *testing.T) {
	const n, d = 500, 3
	a := algorithms.MomentMetric{}
	x, y := copies(RandomRecords(n, d, engine.UnitBounds(), 1))
	for i := range y { // something stands out
		y[i] = math.Copysign(1, x[i*d])
	}
	data := mustRecords(x, y, d, engine.UnitBounds())
	for which, name := range []string{"exact centre", "exact moments"} {
		_, err := Replay(leaky{a, which}, metricPlan(t, a, n, d, engine.UnitBounds(), 50), data, Neighbours(data, 12, 2), 3)
		if !errors.As(err, new(Violation)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, change := range []func(R, h float64) (privacy.Certificate, error){
		func(R, h float64) (privacy.Certificate, error) {
			return privacy.RecordSum{Radius: R, Weight: 0.5}.Certify()
		},
		func(R, h float64) (privacy.Certificate, error) { // J, as if the class did not change
			return privacy.JointMoments{Radius: R, Weight: 1, Scale: h}.Certify()
		},
		func(R, h float64) (privacy.Certificate, error) { // h^2 R^4 is beta, not its root
			return privacy.ClassMoments{Radius: R, Scale: h / 2}.Certify()
		},
	} {
		p := metricPlan(t, a, n, d, engine.UnitBounds(), 1)
		last := &p.Releases[1]
		if i > 0 { // matrices that weigh more than is free
			p.Moments().Scale *= 2
		}
		last.Certificate = must.Get(change(p.Moments().ClipRadius, p.Moments().Scale))(t)
		first, second := twoRecords(n, []float64{1 - 1e-9, 0, 0}, 1, []float64{1 - 1e-9, 0, 0}, -1)
		if _, err := Replay(a, p, first, []*engine.Records{second}, 3); !errors.As(err, new(Violation)) {
			t.Errorf("certificate %d: %v", i, err)
		}
	}
}
