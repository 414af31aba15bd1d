package embedding

import "math"

// ListLoss is a loss of one labelled pair in a d' x d matrix W that depends on v = W (x_a -
// x_b) alone, so that its gradient is c (x_a - x_b)^T with a vector c of d' numbers.
type ListLoss interface {
	// Name identifies the loss in models and reports.
	Name() string
	// Parameter is its public parameter, which must be positive; "" if it has none.
	Parameter() (name string, value float64)
	// Value is the loss at v.
	Value(v []float64, label bool) float64
	// Slope replaces v by c.
	Slope(v []float64, label bool)
	// GradientBound bounds the entrywise norm of the gradient over all pairs of
	// individuals within the norm bound, at a W given by rows of length d. It is a
	// function of public numbers only and lets clipping be tighter than a fixed
	// bound; clipping, not this number, is what a guarantee rests on.
	GradientBound(w []float64, d int, norm Norm, bound float64) float64
}

// ListContrastive is the contrastive loss of [Li20] equation 7,
//
//	1/2 D^2 for a similar pair,  1/2 max(0, Margin - D)^2 for a dissimilar one,
//
// D = ||v||_2. Its gradient in W is v dx^T, and (D - Margin)/D v dx^T for D < Margin;
// at D = 0 it is taken as 0 (docs/theory.md#pair-clipping). label true means dissimilar.
type ListContrastive struct {
	Margin float64 // m > 0, public
}

// Name returns "contrastive".
func (ListContrastive) Name() string { return "contrastive" }

// Parameter is the margin.
func (l ListContrastive) Parameter() (string, float64) { return "margin", l.Margin }

// Value returns the loss.
func (l ListContrastive) Value(v []float64, dissimilar bool) float64 {
	d := L2.of(v)
	if dissimilar {
		d = max(0, l.Margin-d)
	}
	return d * d / 2
}

// Slope sets v to the coefficients of the gradient.
func (l ListContrastive) Slope(v []float64, dissimilar bool) {
	if !dissimilar {
		return
	}
	d := L2.of(v)
	if d == 0 || d >= l.Margin {
		clear(v)
		return
	}
	f := (d - l.Margin) / d
	for r := range v {
		v[r] *= f
	}
}

// GradientBound is max(4 R^2 ||W||, 2 R m k): for L1 with ||W|| the largest column sum of
// |W| and k = sqrt d', for L2 with the Frobenius norm of W, which bounds its operator norm,
// and k = 1. Proof: docs/theory.md#pair-bounds.
func (l ListContrastive) GradientBound(w []float64, d int, norm Norm, bound float64) float64 {
	size, k := 0.0, 1.0
	if norm == L2 {
		size = L2.of(w)
	} else {
		k = math.Sqrt(float64(len(w) / d))
		for j := range d {
			sum := 0.0
			for at := j; at < len(w); at += d {
				sum += math.Abs(w[at])
			}
			size = max(size, sum)
		}
	}
	return max(4*bound*bound*size, 2*bound*l.Margin*k) * (1 + 0x1p-40)
}

// BradleyTerry is the logistic loss of a preference, log(1 + exp(-v)) with v = w.(x_a -
// x_b) if a is preferred to b (label true) and its opposite if not; d' = 1 (Bradley
// and Terry 1952).
type BradleyTerry struct{}

// Name returns "bradley-terry".
func (BradleyTerry) Name() string { return "bradley-terry" }

// Parameter returns "": the loss has no parameter.
func (BradleyTerry) Parameter() (string, float64) { return "", 0 }

// Value returns the loss.
func (BradleyTerry) Value(v []float64, preferred bool) float64 {
	u := v[0]
	if !preferred {
		u = -u
	}
	return max(-u, 0) + math.Log1p(math.Exp(-math.Abs(u)))
}

// Slope sets v to the slope in w.(x_a - x_b).
func (BradleyTerry) Slope(v []float64, preferred bool) {
	if preferred {
		v[0] = -1 / (1 + math.Exp(v[0]))
	} else {
		v[0] = 1 / (1 + math.Exp(-v[0]))
	}
}

// GradientBound is 2 R: slopes are below 1 and ||x_a - x_b|| <= 2 R.
func (BradleyTerry) GradientBound(_ []float64, _ int, _ Norm, bound float64) float64 {
	return 2 * bound
}
