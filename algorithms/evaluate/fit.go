package evaluate

import (
	"cmp"
	"math"
	"slices"
)

// fitted holds the laws of the scores of both classes that fit the released numbers best. So the AUC, the ROC
// curve and the accuracies are figures of the same laws (docs/theory.md#evaluation-fit). The fit is a
// function of released numbers, so it needs no privacy budget.
type fitted struct {
	share [2][]float64 // for negatives and positives, the share in each cell; shares are not negative and have the sum 1
	bend  float64      // see Figures.Bend
	auc   float64
}

// bendWeight is 1 over the variance of a bend that is uniform in [-1, 1].
const bendWeight = 3

// fitSteps is the number of halvings of the range of the tilt. fitRounds is the number of times that each class
// is fitted in turn.
const (
	fitSteps  = 50
	fitRounds = 20
)

// fit minimizes, over shares of both classes and a bend b,
//
//	(a - a^)^2/var a^ + sum of (n_c p_ck - count_ck)^2/var count + 3 b^2,
//
// where a^ is the released AUC and a is the AUC of the shares and the bend. Let the tilt be t = (a^ - a)/var a^. Then
// the minimum for each class, given the other class, is the projection onto the simplex of its counts moved by t
// times the derivative of a. a increases with t, so the tilt is found by bisection.
func (s *statistics) fit() fitted {
	if s.pairs <= 0 {
		return s.tilted(0)
	}
	target := s.rank/s.pairs + 0.5
	noise := math.Hypot(s.rankNoise, min(max(target-0.5, -0.5), 0.5)*s.pairsNoise) / s.pairs
	start := s.tilted(0)
	near, far := 0.0, (target-start.auc)/(noise*noise)
	if math.IsNaN(far) || math.IsInf(far, 0) {
		return start
	}
	for range fitSteps {
		tilt := near + (far-near)/2
		if (target-s.tilted(tilt).auc)/(noise*noise)/tilt > 1 {
			near = tilt
		} else {
			far = tilt
		}
	}
	return s.tilted(near)
}

// tilted returns the fit for a tilt.
func (s *statistics) tilted(tilt float64) (f fitted) {
	sizes := [2]float64{max(s.n-s.positives, 1), max(s.positives, 1)}
	var counts [2][]float64
	for class, size := range sizes {
		for _, c := range s.cells[class] {
			counts[class] = append(counts[class], c/size)
		}
		f.share[class] = simplex(counts[class])
	}
	rounds := fitRounds
	if tilt == 0 {
		rounds = 0
	}
	for range rounds {
		_, ties := f.order()
		f.bend = min(max(tilt*ties/bendWeight, -1), 1)
		for class, size := range sizes {
			scale := tilt * s.cellNoise * s.cellNoise / (size * size)
			moved := f.slope(class)
			for k, v := range moved {
				moved[k] = counts[class][k] + scale*v
			}
			f.share[class] = simplex(moved)
		}
	}
	above, ties := f.order()
	f.auc = min(max(above+(1+f.bend)*ties, 0), 1)
	return f
}

// order returns the share of pairs of both classes whose positive is in a higher cell, and half of the share of
// pairs in one cell.
func (f fitted) order() (above, ties float64) {
	below := 0.0
	for k, p := range f.share[1] {
		above += p * below
		ties += p * f.share[0][k] / 2
		below += f.share[0][k]
	}
	return above, ties
}

// slope returns the derivative of the AUC in the shares of a class.
func (f fitted) slope(class int) []float64 {
	other := f.share[1-class]
	d, passed := make([]float64, len(other)), 0.0
	for i := range other {
		k := i
		if class == 0 { // positives above a negative
			k = len(other) - 1 - i
		}
		d[k] = passed + (1+f.bend)*other[k]/2
		passed += other[k]
	}
	return d
}

// simplex returns the vector of shares that is nearest to v. Shares are not negative and have the sum 1.
func simplex(v []float64) []float64 {
	down := slices.Clone(v)
	slices.SortFunc(down, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, less := 0.0, 0.0
	for k, x := range down {
		sum += x
		if at := (sum - 1) / float64(k+1); x > at {
			less = at
		}
	}
	out := slices.Clone(v)
	for k, x := range v {
		out[k] = max(x-less, 0)
	}
	return out
}

// agree replaces the AUC and the operating points by the figures of the fit. Intervals are computed from the released
// numbers and are only widened to contain the figure, so the fit does not change their coverage.
func (f *Figures) agree(s *statistics) {
	fit := s.fit()
	f.Bend = fit.bend
	f.AUC.move(fit.auc)
	sensitivity, specificity := 1.0, 0.0
	for k := range f.Points {
		p := &f.Points[k]
		sensitivity, specificity = max(sensitivity-fit.share[1][k], 0), min(specificity+fit.share[0][k], 1)
		p.Sensitivity.move(sensitivity)
		p.Specificity.move(specificity)
		p.Accuracy.move((s.positives*sensitivity + (s.n-s.positives)*specificity) / s.n)
	}
}

// move sets the value and widens the interval to contain it.
func (x *Figure) move(value float64) {
	x.Value, x.Low, x.High = value, min(x.Low, value), max(x.High, value)
}

// ROC returns the fitted ROC curve from (0, 0) to (1, 1). x is 1 - specificity and y is the sensitivity; both
// increase. The curve passes through the operating points. Between two points it is bent towards the corner by
// Figures.Bend, so that the area below it is the AUC. ROC returns nil if there are no operating points.
func (f *Figures) ROC() (x, y []float64) {
	if len(f.Points) == 0 {
		return nil, nil
	}
	x, y = []float64{0}, []float64{0}
	add := func(toX, toY float64) {
		fromX, fromY := x[len(x)-1], y[len(y)-1]
		middle := func(from, to, bend float64) float64 { return (from+to)/2 + bend*(to-from)/2 }
		x, y = append(x, middle(fromX, toX, -f.Bend), toX), append(y, middle(fromY, toY, f.Bend), toY)
	}
	for _, p := range slices.Backward(f.Points) {
		add(1-p.Specificity.Value, p.Sensitivity.Value)
	}
	add(1, 1)
	return x, y
}

// VagueWidth is the smallest width of the interval of a share that makes the figure useless. An interval of this
// width does not distinguish 0.5 from 0.9.
const VagueWidth = 0.4

// Vague reports whether the interval of a share is too wide for the figure to be shown.
func (x Figure) Vague() bool { return x.High-x.Low >= VagueWidth }

// Vague reports whether the AUC is vague or more than half of the sensitivities are vague
// (Figure.Vague). The ROC curve is then useless.
func (f *Figures) Vague() bool {
	vague := 0
	for _, p := range f.Points {
		if p.Sensitivity.Vague() {
			vague++
		}
	}
	return f.AUC != nil && f.AUC.Vague() || 2*vague > len(f.Points)
}
