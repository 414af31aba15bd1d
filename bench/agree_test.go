package bench_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestAgreement measures how far the figures of one evaluation contradict each other: the AUC and the area below the ROC curve that a page draws,
// and how far both are from the exact figures of the records.
func TestAgreement(t *testing.T) {
	c := claim{
		file: "figures-agree.csv", keys: 4, columns: "law,n,epsilon,runs,gap,noise,auc_error,curve_error,accuracy_error,vague",
		comments: "# gap: mean distance of the AUC and the area below the drawn ROC curve; noise: mean standard deviation of the noise of the AUC\n" +
			"# *_error: root mean square error of AUC, sensitivities and accuracies; vague: share of runs whose curve is not drawn\n",
	}
	const runs = 200
	for _, n := range []int{300, 600, 2000, 8000} {
		for _, l := range []law{laws[0], laws[1], laws[3], laws[7]} {
			key := fmt.Sprintf("%q,%d,0.5,%d", l.name, n, runs)
			c.lines = append(c.lines, claimed{key, n == 300 && l.name == "five scores", func(t *testing.T) []float64 {
				p := must.Get(evaluate.New(evaluate.Options{Records: n, Budget: privacy.Budget{Epsilon: 0.5, Delta: privacy.DefaultDelta(n)}, ScoreBound: 20}))(t)
				return agreement(t, l, p, runs)
			}})
		}
	}
	c.check(t, 0.01, 0.005)
}

// agreement repeats an evaluation of records, half of them positive; the numbers are those of TestAgreement.
func agreement(t *testing.T, l law, p *evaluate.Plan, runs int) []float64 {
	loss := &evaluate.ClampedLoss{Phi: func(float64) float64 { return 0 }, High: 1}
	want, n := l.truth(loss), p.Options.Records
	var gap, noise, auc, curve, accuracy, points, vague float64
	for run := range uint64(runs) {
		d := records(l, n, n/2, rand.New(rand.NewPCG(run, 9)))
		out := must.Get(algorithms.Execute(context.Background(), p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }),
			algorithms.Options{Public: true, Source: privacy.NewSeededSource(run)}))(t)
		f := must.Get(p.Figures(out.Weights, 0.95))(t)
		gap += math.Abs(f.AUC.Value - areaOfROC(f))
		noise += f.AUCNoise
		auc += (f.AUC.Value - want.auc) * (f.AUC.Value - want.auc)
		if f.Vague() {
			vague++
		}
		for _, q := range f.Points {
			a, b := above(want.positive, q.Threshold), 1-above(want.negative, q.Threshold)
			points++
			curve += (q.Sensitivity.Value - a) * (q.Sensitivity.Value - a)
			accuracy += (q.Accuracy.Value - (a+b)/2) * (q.Accuracy.Value - (a+b)/2)
		}
	}
	of := float64(runs)
	return []float64{gap / of, noise / of, math.Sqrt(auc / of), math.Sqrt(curve / points), math.Sqrt(accuracy / points), vague / of}
}

// areaOfROC is the area below the curve that a page draws.
func areaOfROC(f *evaluate.Figures) (area float64) {
	x, y := f.ROC()
	for k := 1; k < len(x); k++ {
		area += (x[k] - x[k-1]) * (y[k] + y[k-1]) / 2
	}
	return area
}
