package cuda

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/autodiff"
	"dyad/engine"
	"dyad/engine/cuda/ptxtest"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/kernels"
)

// library returns the built-in losses and some with other operations as score losses.
func library(t *testing.T) map[string]engine.ScoreLoss {
	t.Helper()
	losses := map[string]engine.ScoreLoss{}
	for _, l := range engine.Library() {
		e := must.Get(l.Expression(engine.ExpressionOptions{}))(t)
		losses[l.Name] = engine.Score{Of: e}
	}
	for name, text := range map[string]string{
		"tanh": "1 - tanh(u)", "root": "sqrt(1 + u^2) - u", "quotient": "1/(3 + u*u)", "power": "(u - 1)^4",
		"log": "(20 + u)*log(20 + u)", "log1p": "log1p(u^2) - u", "softplus": "softplus(-u)^2", "expm1": "expm1(-u/4)^2",
		"sine": "sin(3*u) - u", "cosine": "u*cos(u/2)", "negative power": "(20 + u)^(-2)", "fraction": "(20 + u)^1.3",
	} {
		e := must.Get(engine.NewExpression(name, text, engine.ExpressionOptions{}))(t)
		losses[name] = engine.Score{Of: e}
	}
	return losses
}

// slopeProgram is PTX that applies a marker to 256 numbers.
const slopeProgram = `.version 7.0
.visible .entry slopes(
	.param .u64 slopes_param_0
)
.maxntid 256, 1, 1
{
	.reg .b32 %r<2>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd0, [slopes_param_0];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd1, %r0, 4;
	add.s64 %rd2, %rd0, %rd1;
	ld.global.f32 %f0, [%rd2];
	//@PHI %f1 %f0;
	st.global.f32 [%rd2], %f1;
	ret;
}
`

// parsed is the program with code in it.
func parsed(t *testing.T, ptx string) *ptxtest.Module {
	t.Helper()
	return must.Get(ptxtest.Parse(ptx))(t)
}

// slopes runs code for phi' on 256 numbers.
func slopes(t *testing.T, m *ptxtest.Module, machine ptxtest.Machine, u []float32) []float32 {
	t.Helper()
	at := machine.Alloc(4 * len(u))
	b := machine.Bytes(at, 4*len(u))
	must.Get(binary.Encode(b, binary.LittleEndian, u))(t)
	must.Do(t, machine.Run(m, "slopes", 1, 1, at))
	out := make([]float32, len(u))
	must.Get(binary.Decode(b, binary.LittleEndian, out))(t)
	return out
}

// TestSlopes: the code for phi' of every loss is within its proved error, with the
// approximate instructions at their worst, and the error is small.
func TestSlopes(t *testing.T) {
	losses := library(t)
	losses["hand-written logistic"] = engine.Logistic{}
	planned, kinks := 0, 0
	for name, loss := range losses {
		for _, radius := range []float64{0.5, 2} {
			p := engine.Problem{N: 100, D: 4, Bounds: engine.UnitBounds(), Loss: loss, Radius: radius, LabelValues: engine.AnyLabels}
			_, s, err := engine.NewScoreRange(p, p.D)
			if err != nil {
				continue
			}
			slopeErr := s.SlopeErr
			if !s.Smooth() {
				kinks++
				slopeErr = 0 // the code's own error, jumps at constants that are rounded included
			}
			code, err := slopeOf(loss, s.Margin, slopeErr)
			if err != nil {
				if !errors.Is(err, engine.ErrUnsupported) {
					t.Error(err)
				}
				t.Logf("%s: %v", name, err)
				continue
			}
			planned++
			if code.absError > 1e-4*s.Slope {
				t.Logf("%s, radius %v: error %.2g of slopes up to %.2g", name, radius, code.absError, s.Slope)
			}
			ptx := must.Get(splice(slopeProgram, code, s.Margin, s.SlopeMin, s.SlopeMax))(t)
			rng := rand.New(rand.NewPCG(1, 2))
			u := make([]float32, 256)
			for i := range u {
				u[i] = float32(s.Margin * (1 - 0x1p-20) * (2*rng.Float64() - 1))
			}
			copy(u, []float32{0, 1, -1, 0.5, 1.5})
			for _, skew := range []float64{0, 1, -1} {
				for i, got := range slopes(t, parsed(t, ptx), ptxtest.Machine{Skew: skew}, u) {
					if math.Abs(float64(u[i])) > s.Margin {
						continue
					}
					if diff := math.Abs(float64(got) - loss.DPhi(float64(u[i]))); !(diff <= code.absError+1e-12) {
						t.Errorf("%s, skew %v: phi'(%v) is off by %.3g, the bound is %.3g", name, skew, u[i], diff, code.absError)
						break
					}
				}
			}
		}
	}
	if planned < 2*len(losses)-4 || kinks < 4 {
		t.Errorf("only %d slopes have code", planned)
	}
}

// TestSpliceClamps: whatever the code computes, the certified bound is not exceeded.
func TestSpliceClamps(t *testing.T) {
	const bound = 0.7
	for _, bad := range []string{constant(5), constant(-5), "0f7F800000", "0fFF800000", "0f7FC00000"} {
		ptx := must.Get(splice(slopeProgram, slope{lines: []string{"mov.f32 %phi_out, " + bad + ";"}}, 1, -bound, bound))(t)
		u := make([]float32, 256)
		u[1], u[2] = float32(math.NaN()), float32(math.Inf(1))
		for _, v := range slopes(t, parsed(t, ptx), ptxtest.Machine{}, u) {
			if !(math.Abs(float64(v)) <= bound*(1+0x1p-23)) {
				t.Fatalf("%s: %v", bad, v)
			}
		}
	}
	must.Err(splice("no marker\n", slope{}, 1, -1, 1))(t, "PTX without a marker was accepted")
	must.Err(splice(slopeProgram, slope{}, 1, -1, math.Inf(1)))(t, "an infinite bound was accepted")
}

// TestSplicedKernels: every marker of the kernel is replaced, and an expression passes
// the suite of all backends.
func TestSplicedKernels(t *testing.T) {
	ptx, err := splice(kernels.PTX("spliced"), logisticSlope(), 4, -1, 1)
	if err != nil || strings.Contains(ptx, kernels.PhiMarker) {
		t.Errorf("a marker is left: %v", err)
	}
	if testing.Short() {
		return // TestSlopes runs the code of all losses
	}
	b := openFake(t, newFake())
	b.Method = Direct
	o := options([]int{17}, 1)
	o.Losses, o.PerPair = []engine.ScoreLoss{library(t)["root"]}, 1e-4
	enginetest.Run(t, b, o)
}

// TestFunctions: the code of every function of expressions is within its proved error
// over the whole range that has one, with the approximate instructions at their worst.
func TestFunctions(t *testing.T) {
	u := autodiff.U()
	for _, c := range []struct {
		name   string
		e      autodiff.Expr
		on     autodiff.Interval
		spread bool // points over all exponents
	}{
		{"sine", autodiff.Sin(u), autodiff.Interval{Lo: -1024, Hi: 1024}, false},
		{"cosine", autodiff.Cos(u), autodiff.Interval{Lo: -1024, Hi: 1024}, false},
		{"cosine near 0", autodiff.Cos(u), autodiff.Interval{Lo: -1, Hi: 1}, false},
		{"logarithm", autodiff.Log(u), autodiff.Interval{Lo: 1e-30, Hi: 1e30}, true},
		{"log1p", autodiff.Log1p(u), autodiff.Interval{Lo: -0.99, Hi: 100}, false},
		{"exponential", autodiff.Exp(u), autodiff.Interval{Lo: -200, Hi: 60}, false},
		{"expm1", autodiff.Expm1(u), autodiff.Interval{Lo: -9, Hi: 9}, false},
		{"softplus", autodiff.Softplus(u), autodiff.Interval{Lo: -90, Hi: 60}, false},
		{"reciprocal power", autodiff.Pow(u, -3), autodiff.Interval{Lo: 1e-5, Hi: 100}, true},
		{"fractional power", autodiff.Pow(u, 1.7), autodiff.Interval{Lo: 1e-5, Hi: 1e5}, true},
		{"negative fractional power", autodiff.Pow(u, -0.4), autodiff.Interval{Lo: 1e-5, Hi: 1e5}, true},
	} {
		lines, registers, masks := c.e.PTX("%phi_in", "%phi_out")
		code := slope{lines: lines, registers: registers, masks: masks}
		ptx := must.Get(splice(slopeProgram, code, max(-c.on.Lo, c.on.Hi)+1, -0x1p100, 0x1p100))(t)
		rng := rand.New(rand.NewPCG(3, 4))
		u := make([]float32, 256)
		for i := range u {
			u[i] = float32(c.on.Lo + (c.on.Hi-c.on.Lo)*rng.Float64())
			if c.spread {
				u[i] = float32(c.on.Lo * math.Exp(math.Log(c.on.Hi/c.on.Lo)*rng.Float64()))
			}
		}
		module, worst := parsed(t, ptx), 0.0
		for _, skew := range []float64{0, 1, -1} {
			for i, got := range slopes(t, module, ptxtest.Machine{Skew: skew}, u) {
				v := float64(u[i])
				if v < c.on.Lo || v > c.on.Hi {
					continue
				}
				bound := c.e.PTXRoundoff(autodiff.Point(v)) // that of a point is the tightest
				diff := math.Abs(float64(got) - c.e.Eval(v))
				if !(diff <= bound) {
					t.Errorf("%s, skew %v: at %v off by %.3g, the bound is %.3g", c.name, skew, v, diff, bound)
					break
				}
				worst = max(worst, diff/bound)
			}
		}
		if worst < 0.03 { // the control: bounds that anything meets would show here
			t.Errorf("%s: the largest error is %.2g of its bound", c.name, worst)
		}
		t.Logf("%s: the largest error is %.2g of its bound", c.name, worst)
	}
}

// TestSlopesWithoutCode: a slope in which atan, erf or a function of the normal law remains is
// refused with the CPU as the way out; the slopes of atan, erf and normcdf themselves are not.
func TestSlopesWithoutCode(t *testing.T) {
	for text, refused := range map[string]bool{
		"-log(normcdf(u))": true, "u*atan(u) - log1p(u^2)/2": true, "u*erf(u)": true, "hazard(-u)": true,
		"atan(-u)": false, "1 - erf(u)": false, "normcdf(-u)": false,
	} {
		e := must.Get(engine.NewExpression("test", text, engine.ExpressionOptions{}))(t)
		_, err := slopeOf(engine.Score{Of: e}, 3, 0)
		if refused != errors.Is(err, engine.ErrUnsupported) || refused && !strings.Contains(err.Error(), "--device cpu") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
