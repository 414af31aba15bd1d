package cuda

import (
	"fmt"
	"math"
	"strings"

	"dyad/engine"
	"dyad/kernels"
)

// slope is code for phi' in float32.
type slope struct {
	// lines of PTX compute %phi_out from %phi_in and the registers %phi<registers>,
	// which are theirs alone.
	lines     []string
	registers int
	// absError bounds |computed - exact| for every argument in the public range.
	absError float64
}

// slopeOf returns the code for a loss over a public range.
func slopeOf(loss engine.ScoreLoss, s engine.ScoreRange) (slope, error) {
	if _, ok := loss.(engine.Logistic); ok {
		return logisticSlope(), nil
	}
	return slope{}, fmt.Errorf("%w: loss %q has no code for GPUs", engine.ErrUnsupported, loss.Name())
}

// logisticSlope is -1 / (1 + 2^(u log2 e)).
//
// Error, with w = 2^-24: the argument of ex2 has relative error 2 w (the constant and
// the product), which changes the result by 2 w |u| sigma'(u) <= 0.449 w; ex2 by a
// relative error of 8 w changes it by at most 8 w / 4; the sum by w and the reciprocal
// by 4 w, relatively. For u > 88 the exponential or its reciprocal may become infinite
// or 0, and the result is 0, within 2^-100; so may the exponential for u < -87.
func logisticSlope() slope {
	return slope{
		lines: []string{
			"mul.rn.f32 %phi0, %phi_in, " + constant(math.Log2E) + ";",
			"ex2.approx.ftz.f32 %phi1, %phi0;",
			"add.rn.f32 %phi2, %phi1, " + constant(1) + ";",
			"rcp.approx.ftz.f32 %phi3, %phi2;",
			"neg.f32 %phi_out, %phi3;",
		},
		registers: 4,
		absError:  (0.449+exponentError/u32/4+1+reciprocalError/u32)*u32 + 0x1p-100,
	}
}

// constant is the float32 nearest to v.
func constant(v float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(v))) }

// splice replaces every marker in ptx by the code, clamped to [-bound, bound]: what
// leaves the block is at most the certified bound whatever the code computes, NaN
// included, up to the rounding of the bound to float32, upwards.
func splice(ptx string, code slope, bound float64) (string, error) {
	limit := float32(bound)
	if float64(limit) < bound {
		limit = math.Nextafter32(limit, float32(math.Inf(1)))
	}
	if !(limit > 0) || math.IsInf(float64(limit), 0) {
		return "", fmt.Errorf("cuda: the bound %v of phi' is not a positive float32", bound)
	}
	var out strings.Builder
	found := 0
	for line := range strings.Lines(ptx) {
		at := strings.Index(line, kernels.PhiMarker)
		if at < 0 {
			out.WriteString(line)
			continue
		}
		registers := strings.Fields(strings.TrimRight(line[at+len(kernels.PhiMarker):], "; \t\n"))
		if len(registers) != 2 {
			return "", fmt.Errorf("cuda: the marker %q does not name two registers", strings.TrimSpace(line))
		}
		found++
		fmt.Fprintf(&out, "\t{\n\t.reg .f32 %%phi<%d>;\n\t.reg .f32 %%phi_in;\n\t.reg .f32 %%phi_out;\n\tmov.f32 %%phi_in, %s;\n", max(code.registers, 1), registers[1])
		for _, l := range code.lines {
			out.WriteString("\t" + l + "\n")
		}
		fmt.Fprintf(&out, "\tmax.f32 %%phi_out, %%phi_out, %s;\n\tmin.f32 %s, %%phi_out, %s;\n\t}\n",
			constant(-float64(limit)), registers[0], constant(float64(limit)))
	}
	if found == 0 {
		return "", fmt.Errorf("cuda: the PTX has no marker %s", kernels.PhiMarker)
	}
	return out.String(), nil
}
