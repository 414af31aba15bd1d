package autodiff

import (
	"math"
	"strings"
	"testing"
)

// TestPTX: what has code and what has none. Package engine/cuda runs the code.
func TestPTX(t *testing.T) {
	u := U()
	for _, c := range []struct {
		e    Expr
		want string // in the code, or "" for none
	}{
		{Exp(u), "ex2.approx.ftz.f32 %phi1, %phi0;"},
		{Sigmoid(u), "rcp.approx.ftz.f32"},
		{Pow(u, 3), "mul.rn.f32 %phi1, %phi0, in;"},
		{Const(0.5), "mov.f32 out, 0f3F000000;"},
		{Log(u), ""}, {Sin(u), ""}, {Pow(u, 0.3), ""}, {Pow(u, -2), ""},
	} {
		lines, _, _, ok := c.e.PTX("in", "out")
		if text := strings.Join(lines, "\n"); ok != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%v: %v\n%s", c.e, ok, text)
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
		{"exponential out of range", Exp(u), Interval{-4, 100}, inf, inf},
		{"power out of range", Pow(u, 16), Interval{0, 1e9}, inf, inf},
		{"no code", Log(u), Interval{1, 2}, inf, inf},
	} {
		if got := c.e.PTXRoundoff(c.on); !(got >= c.lo && got <= c.most) {
			t.Errorf("%s: %g, want %g to %g", c.name, got, c.lo, c.most)
		}
	}
}
