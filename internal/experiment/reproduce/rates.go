package reproduce

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"dyad/internal/experiment"
)

// slope holds the measured exponent of a rate and the exponent that a theorem claims.
type slope struct {
	experiment.PaperRate
	Slope, Low, High float64 // with a 95 % bootstrap interval over splits; NaN without one
	Points           int
	X, Mean, SE      []float64
}

// resamples is the number of resamples of the bootstrap. Its seed is fixed, so a page is a function of its results.
const resamples = 1000

// slopes fits log mean against log x for every rate of a part. The values of a rate with Less are differences
// from the results of this method on the same splits.
func (r results) slopes() []slope {
	var out []slope
	for _, rate := range r.Paper.Rates {
		bySplit := map[float64]map[int][]float64{} // by x
		x := func(row experiment.Row) float64 {
			switch rate.Against {
			case "d":
				return float64(row.D)
			case "epsilon":
				return row.Epsilon
			}
			return float64(row.N)
		}
		base := func(row experiment.Row) [2]float64 { // a row that is not private has no epsilon
			if rate.Against == "epsilon" {
				return [2]float64{0, float64(row.Split)}
			}
			return [2]float64{x(row), float64(row.Split)}
		}
		less := map[[2]float64]float64{} // the first value of the method that is subtracted
		for _, row := range r.rows {
			if _, there := less[base(row)]; !there && row.Label() == rate.Less && row.Status == "ok" {
				less[base(row)] = row.Value
			}
		}
		for _, row := range r.rows {
			v, there := less[base(row)]
			if row.Label() != rate.Method || row.Status != "ok" || rate.Less != "" && !there {
				continue
			}
			at := bySplit[x(row)]
			if at == nil {
				at = map[int][]float64{}
				bySplit[x(row)] = at
			}
			at[row.Split] = append(at[row.Split], row.Value-v)
		}
		s := slope{PaperRate: rate, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}
		var values [][]float64 // by x and split
		s.X = slices.Sorted(maps.Keys(bySplit))
		for _, at := range s.X {
			var v []float64
			for _, split := range slices.Sorted(maps.Keys(bySplit[at])) {
				m, _ := experiment.MeanAndError(bySplit[at][split])
				v = append(v, m)
			}
			m, se := experiment.MeanAndError(v)
			s.Mean, s.SE, values = append(s.Mean, m), append(s.SE, se), append(values, v)
		}
		if s.Points = len(s.X); s.Points > 2 {
			s.Slope = fit(s.X, s.Mean)
			s.Low, s.High = interval(s.X, values)
		}
		out = append(out, s)
	}
	return out
}

// fit returns the slope of log y against log x by least squares, or NaN if a y is not positive.
func fit(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		lx, ly := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// interval returns an interval that covers 95 % of the slopes of resampled splits.
func interval(x []float64, values [][]float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []float64
	y := make([]float64, len(x))
	for range resamples {
		for i, v := range values {
			sum := 0.0
			for range v {
				sum += v[random.IntN(len(v))]
			}
			y[i] = sum / float64(len(v))
		}
		if f := fit(x, y); !math.IsNaN(f) {
			all = append(all, f)
		}
	}
	if len(all) < resamples*9/10 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(all)
	return all[len(all)*25/1000], all[len(all)*975/1000]
}
