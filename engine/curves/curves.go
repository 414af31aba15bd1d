// Package curves decomposes a linear score into a sum of curves, one for each column, with confidence bands for the
// noise in the weights (docs/theory.md#curve-bands). It uses only the contents of a model file: the encoder, the
// weights, and the covariance of the noise.
package curves

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"dyad/engine/dataset"
)

// Confidence is the coverage probability of a band.
const Confidence = 0.95

// places is the number of points at which the curve of a numeric column is evaluated.
const places = 101

// The values of Curve.Bend.
const (
	Straight = "straight"        // there is no basis, so the score is linear in the number (or in its logarithm)
	NoBend   = "no visible bend" // some straight line is inside the band everywhere
	Bends    = "bends"           // no straight line is inside the band everywhere
	NotKnown = "not known"       // there is a basis and no band
)

// Axis holds the values of a column at which a curve is evaluated.
type Axis struct {
	Name string `json:"name"`
	// X holds numbers in the units of the file (days from January 1, 1970 for dates), at equal distances. With LogX,
	// the logarithms log(1 + x) have equal distances, and "straight" means linear in log(1 + x). X is nil for
	// categories.
	X    []float64 `json:"x,omitempty"`
	LogX bool      `json:"log1p,omitempty"`
	Date bool      `json:"date,omitempty"`
	// Categories holds the values of a categorical column.
	Categories []string `json:"categories,omitempty"`
}

// Curve is the contribution of a column to the score of a record with norm at most 1. For longer records, the
// projection divides the score by the norm. Adding a constant to a curve does not change the order of records. So the
// curve of a numeric column is shifted to have mean 0 for numbers that are uniformly distributed in the (transformed)
// range.
type Curve struct {
	Axis
	Y []float64 `json:"y"`
	// Low and High are the confidence band with probability Confidence. They account for the noise alone and are nil if
	// the noise is not known. For a numeric column, the band covers the whole curve simultaneously. For a categorical
	// column, each category has an interval of its own.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
	// Bend is Straight, NoBend, Bends or NotKnown. It is empty for categories.
	Bend string `json:"bend,omitempty"`
}

// Of returns the curves of the given weights, in the order of the columns. noise holds the covariances of the weights
// in each block of Encoder.Blocks (the rows of lower triangles), or is nil.
func Of(e *dataset.Encoder, weights, noise []float64) []Curve {
	var all []Curve
	for k, in := range e.Inputs() {
		c, w := Curve{}, weights[in.Offset:][:in.Width]
		next := func(features []float64) {}
		if noise != nil {
			full, reach := 0, quantile(1)
			if in.Numeric {
				full, reach = max(1, in.Cosines), quantile(in.Width)
			}
			own := full*(full+1)/2 + in.Width - full
			covariance := noise[:own]
			noise = noise[own:]
			next = func(features []float64) {
				half, y := reach*deviation(covariance, features, full), c.Y[len(c.Y)-1]
				c.Low, c.High = append(c.Low, y-half), append(c.High, y+half)
			}
		}
		add := func(features []float64) {
			var y float64
			for j, x := range features {
				y += w[j] * x
			}
			c.Y = append(c.Y, y)
			next(features)
		}
		for _, features := range c.points(e, k, in, places) {
			add(features)
		}
		if in.Numeric {
			c.Bend = bend(&c, in.Cosines > 0)
		}
		all = append(all, c)
	}
	return all
}

// points sets the points of an axis and returns the outputs of column k of Inputs at each point. A numeric column has
// count points.
func (a *Axis) points(e *dataset.Encoder, k int, in dataset.Input, count int) (outputs [][]float64) {
	a.Name = in.Name
	if in.Numeric {
		a.LogX, a.Date = in.Log1p, in.Date
		for j := range count {
			at := in.Center + in.Half*(2*float64(j)/float64(count-1)-1)
			if in.Log1p {
				at = math.Expm1(at)
			}
			a.X = append(a.X, at+in.Shift)
			outputs = append(outputs, e.Features(k, at))
		}
		return outputs
	}
	for code, name := range names(in) {
		features := make([]float64, in.Width)
		if in.Width == 1 {
			features[0] = float64(2*code-1) * e.Factor()
		} else {
			features[code] = e.Factor()
		}
		a.Categories = append(a.Categories, name)
		outputs = append(outputs, features)
	}
	return outputs
}

// names returns the texts of the codes of a categorical column. The code added by MissingCategory has no text.
func names(in dataset.Input) []string {
	all := make([]string, max(in.Width, 2))
	for k := len(in.Categories) - 1; k >= 0; k-- {
		if c := in.Categories[k]; c.Code >= 0 {
			all[c.Code] = c.Text
		}
	}
	for k, text := range all {
		if text == "" {
			all[k] = "(missing)"
		}
	}
	return all
}

// quantile returns the size of the confidence ellipsoid of k coordinates of normal noise, in standard
// deviations (Scheffe).
func quantile(k int) float64 {
	return math.Sqrt(distuv.ChiSquared{K: float64(k)}.Quantile(Confidence))
}

// deviation returns the standard deviation of the noise in the sum of features times weights. covariance contains the
// lower triangle of the covariance of the first full features by rows, followed by the variances of the other features.
// Other features are a spike or categories; only one of them can be nonzero, and then all other features are 0.
func deviation(covariance, features []float64, full int) float64 {
	var sum float64
	for i, x := range features {
		if i >= full {
			sum += covariance[full*(full+1)/2+i-full] * x * x
			continue
		}
		row := covariance[i*(i+1)/2:]
		for j := range i {
			sum += 2 * row[j] * x * features[j]
		}
		sum += row[i] * x * x
	}
	return math.Sqrt(max(sum, 0))
}

// bend returns the value of Curve.Bend, which states whether a straight line is inside the band.
func bend(c *Curve, basis bool) string {
	switch {
	case !basis:
		return Straight
	case c.Low == nil:
		return NotKnown
	case fits(c.Low, c.High):
		return NoBend
	}
	return Bends
}

// fits reports whether some line a + b k is between low[k] and high[k] at every k. A slope b is possible if max(low - b
// k) <= min(high - b k). The difference of the two sides is convex in b.
func fits(low, high []float64) bool {
	gap := func(b float64) float64 {
		most, least := math.Inf(-1), math.Inf(1)
		for k := range low {
			most, least = max(most, low[k]-b*float64(k)), min(least, high[k]-b*float64(k))
		}
		return most - least
	}
	var reach float64
	for k := range low {
		reach = max(reach, math.Abs(low[k]), math.Abs(high[k]))
	}
	from, to := -2*reach, 2*reach
	for range 200 {
		left, right := from+(to-from)/3, to-(to-from)/3
		if gap(left) <= gap(right) {
			to = right
		} else {
			from = left
		}
	}
	return gap((from+to)/2) <= 1e-9*reach
}

// Check returns an error if noise does not have the form that Of requires.
func Check(e *dataset.Encoder, noise []float64) error {
	want := 0
	for _, k := range e.Blocks() {
		want += k * (k + 1) / 2
	}
	if len(noise) != want {
		return errors.New("the noise of its curves has the wrong number of entries")
	}
	at := 0
	for _, k := range e.Blocks() {
		for i := range k {
			for j := range i + 1 {
				if v := noise[at]; math.IsNaN(v) || math.IsInf(v, 0) || i == j && v < 0 {
					return errors.New("an entry of the noise of its curves is not a variance or covariance")
				}
				at++
			}
		}
	}
	return nil
}
