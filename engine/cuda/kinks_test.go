package cuda

import (
	"math"
	"testing"

	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// kinky are losses that are not smooth: jumps of phi', also at constants that are no float32
// and between curved pieces, and one that clipping leaves.
func kinky(t *testing.T) map[string]engine.ScoreLoss {
	t.Helper()
	losses := map[string]engine.ScoreLoss{"hinge": library(t)["hinge"], "ramp": library(t)["ramp"]}
	for name, text := range map[string]string{
		"absolute": "abs(u - 1/3)", "curved": "max(0, 1 - u) + u^2/4", "pieces": "where(u > 0.1, 0, where(u > -0.7, (0.1 - u)*3, 2.4))",
		"clipped": "exp(-u) + max(0, 1 - u)",
	} {
		o := engine.ExpressionOptions{}
		if name == "clipped" {
			o.Clip = 0.7
		}
		e := must.Get(engine.NewExpression(name, text, o))(t)
		losses[name] = engine.Score{Of: e}
	}
	return losses
}

// TestKinkConformance runs the suite on losses that are not smooth; the control: another
// knot, slope or side fails it.
func TestKinkConformance(t *testing.T) {
	losses := kinky(t)
	for _, c := range []struct {
		loss     string
		old, new string
	}{
		{"ramp", "", ""}, {"curved", "", ""}, {"clipped", "", ""},
		{"hinge", "setp.ge.f32 %mask0, %phi_in, 0f3F800000", "setp.ge.f32 %mask0, %phi_in, 0f3F000000"},
		{"hinge", "0f00000000, 0fBF800000, %mask1", "0fB8D1B717, 0fBF800000, %mask1"}, // -10^-4 instead of 0
		{"ramp", "setp.ge.f32 %mask2", "setp.lt.f32 %mask2"},
	} {
		if testing.Short() && (c.old == "" && c.loss != "curved" || c.loss == "ramp") {
			continue
		}
		if c.loss == "ramp" && c.old == "" && !sizes.Full() {
			continue // TestGroupConformance has it
		}
		f := newFake()
		if c.old != "" {
			f.edit = replacing(c.old, c.new)
		}
		b := openFake(t, f)
		o := groupOptions(losses[c.loss], []int{20})
		o.PerPair = 8e-6
		if c.old == "" {
			if c.loss == "curved" {
				o.Sizes = []int{9}
			}
			enginetest.Run(t, b, o)
			continue
		}
		if failed := fails(b, o); !f.edited || !failed {
			t.Errorf("%s, %s: edited %v, failed %v", c.loss, c.new, f.edited, failed)
		}
	}
}

// TestKinksAreForSingleGradients: a kernel for a loss that is not smooth states the
// distance to a sum of terms, and the constants that recursions would need are infinite.
func TestKinksAreForSingleGradients(t *testing.T) {
	for name, loss := range kinky(t) {
		p := engine.Problem{N: 50, D: 4, Bounds: engine.UnitBounds(), Loss: loss, Radius: 1, LabelValues: engine.AnyLabels}
		b := openFake(t, newFake())
		k, err := b.Plan(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c, err := loss.Constants(p.Bounds, p.Radius)
		if err != nil || !math.IsInf(c.Smoothness, 1) {
			t.Errorf("%s: smoothness %v, %v", name, c.Smoothness, err)
		}
		if r := k.Bounds(engine.Query{Pairs: engine.AllPairs{N: 50}}).Sum / 2450 / c.Lipschitz; !(r > 0 && r < 2e-6) || k.Method() != "direct" {
			t.Errorf("%s, %s: Roundoff is %v of a term", name, k.Method(), r)
		}
		b.Method = NearLinear
		must.Fail(b.Plan(p))(t, engine.ErrUnsupported, name, ": near-linear")
	}
	// A loss in Go that is not smooth and no expression has no code.
	p := engine.Problem{N: 50, D: 4, Bounds: engine.UnitBounds(), Loss: engine.Score{Of: enginetest.Hinge()}, Radius: 1}
	refused(openFake(t, newFake()).Plan(p))(t, "a loss without code")
}
