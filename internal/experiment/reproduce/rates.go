package reproduce

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"dyad/internal/experiment"
)

// slope is the measured exponent of a rate next to the exponent of a theorem.
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
		less := map[[2]float64][]float64{}         // by x and split
		x := func(row experiment.Row) float64 {
			switch rate.Against {
			case "d":
				return float64(row.D)
			case "epsilon":
				return row.Epsilon
			}
			return float64(row.N)
		}
		name := func(row experiment.Row) string { return strings.TrimSpace(row.Algorithm + " " + row.Options) }
		for _, row := range r.rows {
			if name(row) == rate.Less && row.Status == "ok" {
				less[[2]float64{lessX(rate, x(row)), float64(row.Split)}] = append(less[[2]float64{lessX(rate, x(row)),
					float64(row.Split)}], row.Value)
			}
		}
		for _, row := range r.rows {
			if name(row) != rate.Method || row.Status != "ok" {
				continue
			}
			v := row.Value
			if rate.Less != "" {
				base := less[[2]float64{lessX(rate, x(row)), float64(row.Split)}]
				if len(base) == 0 {
					continue
				}
				v -= base[0]
			}
			at := bySplit[x(row)]
			if at == nil {
				at = map[int][]float64{}
				bySplit[x(row)] = at
			}
			at[row.Split] = append(at[row.Split], v)
		}
		s := slope{PaperRate: rate, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}
		var values [][]float64 // by x and split
		for at, splits := range bySplit {
			s.X = append(s.X, at)
			_ = splits
		}
		slices.Sort(s.X)
		for _, at := range s.X {
			var v []float64
			for _, split := range sortedKeys(bySplit[at]) {
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

// lessX returns x of the row that is subtracted. A row that is not private has no epsilon.
func lessX(rate experiment.PaperRate, x float64) float64 {
	if rate.Against == "epsilon" {
		return 0
	}
	return x
}

func sortedKeys[V any](m map[int]V) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
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
