package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"dyad/algorithms/audit"
	"dyad/internal/experiment"
	"dyad/privacy/account"
)

// checkPlot returns an error if the name of a plot file does not end in a format of figures. It accepts the name "".
func checkPlot(path string) error {
	if path == "" {
		return nil
	}
	return cmp.Or(checkPicture("plot", path), checkOut(path, true))
}

// checkPicture returns an error if the name of a flag's file ends neither in a format of pictures nor in one of others.
func checkPicture(flag, path string, others ...string) error {
	endings := append(others, experiment.Formats()...)
	if !slices.ContainsFunc(endings, func(f string) bool { return strings.HasSuffix(strings.ToLower(path), "."+f) }) {
		return badInput("--%s writes %s; give a file name that ends in .%s", flag,
			strings.ToUpper(strings.Join(endings, ", ")), strings.Join(endings, ", ."))
	}
	return nil
}

// rates returns the points (false alarms, hits) of the attack that guesses the neighbour if the score reaches a
// threshold. It uses all thresholds, beginning with the highest.
func rates(scores [2][]float64) (alarms, hits []float64) {
	values := slices.Concat(scores[0], scores[1])
	neighbour := make([]bool, len(values))
	for i := range scores[1] {
		neighbour[len(scores[0])+i] = true
	}
	stat.SortWeightedLabeled(values, neighbour, nil)
	hits, alarms, _ = stat.ROC(nil, values, neighbour, nil)
	return alarms, hits
}

// allowed returns the largest rate of hits that the claim allows for a given rate of false alarms.
func allowed(r *audit.Report, alarm float64) float64 {
	most := min(1, math.Exp(r.Epsilon)*alarm+r.Delta, 1-math.Exp(-r.Epsilon)*(1-r.Delta-alarm))
	if r.Mu > 0 {
		most = min(most, account.GDPTradeoff(r.Mu, alarm))
	}
	return most
}

// auditFigure returns a figure with the rates of the attack and the limit of the claim. Runs that chose the
// attack are excluded.
func auditFigure(r *audit.Report) *experiment.Figure {
	var grid, limit []float64
	for i := range 401 {
		grid = append(grid, float64(i)/400)
		limit = append(limit, allowed(r, grid[i]))
	}
	alarms, hits := rates(r.Scores)
	// Massart 1990: P[sup |empirical - true| > e] <= 2 exp(-2 n e^2), for each axis.
	sampling := math.Sqrt(math.Log(2/0.05) / (2 * float64(min(len(r.Scores[0]), len(r.Scores[1])))))
	return &experiment.Figure{
		Title: fmt.Sprintf("Attack on %s (%s loss)\n%d runs on each side", r.Algorithm, r.Loss, len(r.Scores[0])),
		X:     "false alarms: guesses \"neighbour\" on the data", Y: "hits: guesses \"neighbour\" on the neighbour",
		Curves: []experiment.Curve{
			{Name: fmt.Sprintf("limit of the claim\n(epsilon %.4g, delta %.3g)", r.Epsilon, r.Delta), X: grid,
				Y: limit, Smooth: true},
			{Name: fmt.Sprintf("attack (rates +- %.2g at 95 %% confidence)", sampling), X: alarms, Y: hits, Smooth: true},
			{Name: "guessing", X: []float64{0, 1}, Y: []float64{0, 1}, Smooth: true},
		},
	}
}
