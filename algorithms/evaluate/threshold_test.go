package evaluate

import (
	"math"
	"slices"
	"testing"

	"dyad/internal/must"
)

// pointsOf are operating points with intervals of 0.05 to both sides.
func pointsOf(rows ...[4]float64) []Point {
	var out []Point
	around := func(v float64) Figure { return Figure{v, v - 0.05, v + 0.05} }
	for _, r := range rows {
		out = append(out, Point{r[0], around(r[1]), around(r[2]), around(r[3])})
	}
	return out
}

// TestThresholdServesItsAim: each aim takes the point that a look at the table takes, in any order of the points,
// but for ties; what cannot be reached is said.
func TestThresholdServesItsAim(t *testing.T) {
	f := Figures{Records: 100, Positives: 20, Points: pointsOf( // threshold, sensitivity, specificity, accuracy
		[4]float64{-1, 0.99, 0.10, 0.28}, [4]float64{-0.5, 0.95, 0.50, 0.59}, [4]float64{0, 0.80, 0.80, 0.80},
		[4]float64{0.5, 0.40, 0.95, 0.84}, [4]float64{1, 0.05, 0.99, 0.80})}
	for _, c := range []struct {
		aim     Aim
		want    float64
		reached bool
	}{
		{Aim{Name: Balanced}, 0, true},
		{Aim{Name: Accuracy}, 0.5, true},
		{Aim{Sensitivity, 0.89}, -0.5, true}, // 0.95 - 0.05 is enough, and its specificity the larger one
		{Aim{Sensitivity, 0.91}, -1, true},
		{Aim{Sensitivity, 0.97}, -1, false},
		{Aim{Specificity, 0.89}, 0.5, true},
		{Aim{Specificity, 0.75}, 0, true},
		{Aim{Specificity, 0.999}, 1, false},
	} {
		for range 2 {
			got, err := f.Threshold(c.aim)
			if err != nil || got.Threshold != c.want || got.Reached != c.reached || math.Abs(got.Never-0.8) > 1e-15 {
				t.Errorf("%+v: %+v, %v, want %v", c.aim, got, err, c.want)
			}
			slices.Reverse(f.Points)
		}
	}
	for _, a := range []Aim{{}, {Name: "best"}, {Balanced, 0.5}, {Sensitivity, 0}, {Specificity, 1}, {Sensitivity, math.NaN()}} {
		must.Err(f.Threshold(a))(t, "%+v is accepted", a)
	}
	must.Err((&Figures{Records: 3}).Threshold(Aim{Name: Balanced}))(t, "a threshold without points")
}
