package command

import (
	"fmt"
	"math"
	"strings"
)

// weightInterval is a weight with its confidence interval.
type weightInterval struct {
	Feature string  `json:"feature"`
	Weight  float64 `json:"weight"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// weightIntervals returns the confidence intervals of a model with standard errors, and nil for other models.
// Each interval covers, with probability defaultConfidence, the weight that minimises the released objective in
// the population (docs/theory.md#weight-intervals).
func weightIntervals(m *model) (out []weightInterval) {
	z := math.Sqrt2 * math.Erfinv(defaultConfidence)
	for k, e := range m.WeightErrors {
		w := m.Weights[k]
		out = append(out, weightInterval{m.Features[k], w, w - z*e, w + z*e})
	}
	return out
}

func writeWeights(b *strings.Builder, of []weightInterval) {
	for i, w := range of {
		line(b, pick(i == 0, "weights", ""), "%-24s %+.4f (%+.4f to %+.4f)%s", w.Feature, w.Weight, w.Low, w.High,
			pick(w.Low > 0 || w.High < 0, "  *", ""))
	}
	if of != nil {
		line(b, "", "%s", fmt.Sprintf("each %g %% interval is for one true weight; the true weights minimise the "+
			"released objective on the whole population", 100*defaultConfidence))
		line(b, "", "the intervals take second moments, centre and ridge as exact; an interval with * does not "+
			"contain 0")
	}
}
