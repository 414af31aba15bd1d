package cuda

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"dyad/autodiff"
	"dyad/engine"
	"dyad/kernels"
)

// slope holds code for phi' in float32 and the error of the code.
type slope struct {
	// lines are lines of PTX that compute %phi_out from %phi_in. Only these lines use the registers %phi0, ...
	// and the predicates %mask0, ....
	lines            []string
	registers, masks int
	// absError bounds |computed - exact| for every float32 in the public range. If anywhere is true, the bound
	// holds for every finite float32.
	absError float64
	anywhere bool
}

// slopeOf returns the code for a loss over margins in [-margin, margin]. slopeErr is the difference between the
// loss's formula and its exact phi', as in engine.ScoreRange. If the loss is not smooth, slopeErr is +Inf and
// absError is +Inf, too, although the error of the code itself is bounded.
func slopeOf(loss engine.Loss, margin, slopeErr float64) (slope, error) {
	switch loss.(type) {
	case engine.Logistic, engine.MahalanobisLogistic:
		return logisticSlope(), nil
	}
	form, ok := loss.(engine.ScalarLoss)
	if !ok {
		return slope{}, fmt.Errorf("%w: loss %q has no code for GPUs", engine.ErrUnsupported, loss.Name())
	}
	expression, ok := form.Scalar().(*engine.Expression)
	if !ok {
		return slope{}, fmt.Errorf("%w: loss %q is not an expression, so it has no code for GPUs",
			engine.ErrUnsupported, loss.Name())
	}
	e := expression.SlopeExpr()
	lines, registers, masks := e.PTX("%phi_in", "%phi_out")
	bound := e.PTXRoundoff(autodiff.Interval{Lo: -margin, Hi: margin})
	if math.IsInf(bound, 0) || len(lines) > maxLines {
		return slope{}, fmt.Errorf("%w: no error bound is proved for loss %q on a GPU (margins up to %.3g); use "+
			"the CPU (--device cpu)", engine.ErrUnsupported, loss.Name(), margin)
	}
	return slope{lines: lines, registers: registers, masks: masks, absError: bound + slopeErr}, nil
}

// maxLines limits the number of lines of the code for phi', because the kernel contains the code 16 times.
const maxLines = 200

// logisticSlope returns code for -1 / (1 + 2^(u log2 e)). Its error is at most kernels.SigmoidError; the proof
// covers all numbers.
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
		absError:  kernels.SigmoidError,
		anywhere:  true,
	}
}

// singleUp returns the smallest float32 that is not below v.
func singleUp(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// constant returns the float32 nearest to v as a PTX constant.
func constant(v float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(v))) }

var register = regexp.MustCompile(`^%[a-z]+[0-9]+$`)

// clamps holds public bounds: the argument of the code for phi' is in [-reach, reach], and its result is in
// [least, most].
type clamps struct{ reach, least, most float32 }

// clampsOf rounds lo and hi outward to float32 and margin inward.
func clampsOf(margin, lo, hi float64) (clamps, error) {
	c := clamps{float32(margin), -singleUp(-lo), singleUp(hi)}
	if float64(c.reach) > margin {
		c.reach = math.Nextafter32(c.reach, 0)
	}
	if !(c.reach > 0 && c.least <= c.most) || math.IsInf(float64(c.reach), 0) || math.IsInf(float64(c.least), 0) ||
		math.IsInf(float64(c.most), 0) {
		return c, fmt.Errorf("cuda: the slope of the loss (%v to %v) or the margin (%v) is outside the range of "+
			"float32",
			lo, hi, margin)
	}
	return c, nil
}

// splice replaces every marker in ptx by the code. The argument of the code is clamped to [-reach, reach], so
// that the proofs of the code apply. Every exact argument is in this range. If anywhere is true, the proofs
// apply to all numbers and the argument is not clamped. The result is clamped to [least, most] for any output
// of the code, including NaN. The bounds come from clampsOf, or are registers that the marker names.
func splice(ptx string, code slope, margin, lo, hi float64) (string, error) {
	c, err := clampsOf(margin, lo, hi)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	found := 0
	for line := range strings.Lines(ptx) {
		at := strings.Index(line, kernels.PhiMarker)
		if at < 0 {
			out.WriteString(line)
			continue
		}
		names := strings.Fields(strings.TrimRight(line[at+len(kernels.PhiMarker):], "; \t\n"))
		if len(names) != 2 && len(names) != 5 || slices.ContainsFunc(names,
			func(n string) bool { return !register.MatchString(n) }) {
			return "", fmt.Errorf("cuda: the marker %q must name two or five registers", strings.TrimSpace(line))
		}
		found++
		if len(names) == 2 {
			names = append(names, constant(float64(c.reach)), constant(float64(c.least)), constant(float64(c.most)))
		}
		block := []string{
			fmt.Sprintf(".reg .f32 %%phi<%d>;", max(code.registers, 1)),
			fmt.Sprintf(".reg .pred %%mask<%d>;", max(code.masks, 1)),
			".reg .f32 %phi_in;", ".reg .f32 %phi_out;",
		}
		if code.anywhere {
			block = append(block, "mov.f32 %phi_in, "+names[1]+";")
		} else {
			block = append(block, "neg.f32 %phi_in, "+names[2]+";",
				"max.f32 %phi_in, %phi_in, "+names[1]+";",
				"min.f32 %phi_in, %phi_in, "+names[2]+";")
		}
		block = append(block, code.lines...)
		block = append(block,
			"max.f32 %phi_out, %phi_out, "+names[3]+";",
			"min.f32 "+names[0]+", %phi_out, "+names[4]+";")
		out.WriteString("\t{\n\t" + strings.Join(block, "\n\t") + "\n\t}\n")
	}
	if found == 0 {
		return "", fmt.Errorf("cuda: the PTX has no marker %s", kernels.PhiMarker)
	}
	return out.String(), nil
}
