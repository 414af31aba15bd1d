package cuda

import (
	"strings"
	"testing"

	"dyad/autodiff"
	"dyad/engine"
	"dyad/engine/cuda/ptxtest"
	"dyad/kernels"
)

// Code for any loss is refused, or it is put in place of every marker and what it computes is within the bounds.
func FuzzSplice(f *testing.F) {
	f.Add("log1p(exp(-u))", slopeProgram, 3.0, -1.0, 0.0)
	f.Add("max(0, 1 - u)^2", slopeProgram, 1e30, -5.0, 5.0)
	f.Add("u", "\t//@PHI %f1 %f0;\n\t//@PHI //@PHI x\n", 1.0, -1.0, 1.0)
	f.Add("u", "//@PHI %f1\n", 1.0, 1.0, -1.0)
	f.Fuzz(func(t *testing.T, formula, ptx string, margin, lo, hi float64) {
		if len(formula) > 200 {
			return
		}
		e, err := engine.NewExpression("fuzz", formula, engine.ExpressionOptions{})
		if err != nil {
			return
		}
		lines, registers, masks := e.SlopeExpr().PTX("%phi_in", "%phi_out")
		e.SlopeExpr().PTXRoundoff(autodiff.Interval{Lo: -margin, Hi: margin})
		code := slope{lines: lines, registers: registers, masks: masks}
		out, err := splice(ptx, code, margin, lo, hi)
		if err == nil && strings.Contains(out, kernels.PhiMarker) {
			t.Fatalf("a marker is left:\n%s", out)
		}
		out, err = splice(slopeProgram, code, margin, lo, hi)
		if err != nil || len(lines) > maxLines {
			return
		}
		if _, err := ptxtest.Parse(out); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

// Kept times are refused, or they are those of the embedded programs.
func FuzzModels(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"gpu": "G", "method": "near-linear", "ptx_sha256": {"rows": "0"}, "fixed_seconds": 1}]`))
	f.Add([]byte(`[{"gpu": "G", "ptx_sha256": {"rows": "` + embeddedPTX()["rows"] + `"}, "seconds_per_pair": -1}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := readModels(text, embeddedPTX())
		for _, m := range all {
			if err != nil || !m.current(embeddedPTX()) || m.Seconds(work{1, 1, 1}) < 0 {
				t.Fatalf("%+v, %v", m, err)
			}
		}
	})
}
