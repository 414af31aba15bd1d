package autodiff

import (
	"math"
	"strings"
	"testing"
)

// TestPTX: every operation has code. Package engine/cuda runs it.
func TestPTX(t *testing.T) {
	u := U()
	for _, c := range []struct {
		e    Expr
		want string // in the code
	}{
		{Exp(u), "ex2.approx.ftz.f32 %phi1, %phi0;"},
		{Sigmoid(u), "rcp.approx.ftz.f32"},
		{Pow(u, 3), "mul.rn.f32 %phi1, %phi0, in;"},
		{Const(0.5), "mov.f32 out, 0f3F000000;"},
		{Log(u), "lg2.approx.ftz.f32 %phi0, in;"},
		{Log1p(u), "add.rn.f32 %phi0, in, 0f3F800000;"},
		{Softplus(u), "max.f32"},
		{Expm1(u), "add.rn.f32 %phi2, %phi1, 0fBF800000;"},
		{Sin(u), "and.b32"},
		{Pow(u, 0.3), "lg2.approx.ftz.f32"},
		{Pow(u, -2), "div.rn.f32 %phi1, 0f3F800000, %phi0;"},
	} {
		lines, _, _ := c.e.PTX("in", "out")
		if text := strings.Join(lines, "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%v:\n%s", c.e, text)
		}
	}
}

// TestPTXRoundoff: bounds are those of float32, and there are none outside of its range.
func TestPTXRoundoff(t *testing.T) {
	u := U()
	for _, c := range []struct {
		name     string
		e        Expr
		on       Interval
		lo, most float64
	}{
		{"sum", Add(u, Const(1)), Interval{-1, 1}, 0x1p-24, 0x1p-22},
		{"constant", Const(0.1), Interval{0, 1}, math.Abs(0.1 - float64(float32(0.1))), 0x1p-26},
		{"exact", Neg(u), Interval{-8, 8}, 0, 0},
		{"sigmoid", Sigmoid(u), Interval{-30, 30}, 0x1p-23, 0x1p-21},
		{"exponential", Exp(u), Interval{-4, 4}, 54 * 0x1p-24, 54 * 0x1p-18},
		{"small exponential", Exp(u), Interval{-1000, -64}, 1.1e-28, 1e-27},
		{"exponential out of range", Exp(u), Interval{-4, 100}, inf, inf},
		{"power out of range", Pow(u, 16), Interval{0, 1e9}, inf, inf},
		{"logarithm", Log(u), Interval{1, 2}, 4 * 0x1p-24 * math.Ln2, 0x1p-21},
		{"logarithm near 0", Log(u), Interval{0, 2}, inf, inf},
		{"log1p near -1", Log1p(u), Interval{-1, 2}, inf, inf},
		{"sine", Sin(u), Interval{-1024, 1024}, 8 * 0x1p-24, 9 * 0x1p-24},
		{"sine of many turns", Sin(u), Interval{-1025, 0}, inf, inf},
		{"negative power", Pow(u, -3), Interval{0.5, 2}, 4 * 0x1p-24 * 8, 5 * 0x1p-24 * 8},
		{"negative power near 0", Pow(u, -3), Interval{0, 2}, inf, inf},
		{"fractional power", Pow(u, 0.3), Interval{0.5, 2}, 8 * 0x1p-24, 12 * 0x1p-24 * 1.3},
		{"fractional power of a negative number", Pow(u, 0.3), Interval{-0.5, 2}, inf, inf},
		{"fractional power out of range", Pow(u, 60.5), Interval{0.5, 9}, inf, inf},
	} {
		if got := c.e.PTXRoundoff(c.on); !(got >= c.lo && got <= c.most) {
			t.Errorf("%s: %g, want %g to %g", c.name, got, c.lo, c.most)
		}
	}
}
