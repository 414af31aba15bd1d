package command

import (
	"bytes"
	"context"
	"strings"
	"testing"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/evaluate"
	"dyad/internal/must"
	"dyad/internal/page"
	"dyad/privacy"
)

// Figures that say nothing are shown as intervals: no number, no line and no mark, and a sentence says why. Others have them.
func TestVagueFiguresAreBands(t *testing.T) {
	for n, vague := range map[int]bool{300: true, 30_000: false} {
		p := must.Get(evaluate.New(evaluate.Options{Records: n, Budget: privacy.Budget{Epsilon: 0.5, Delta: 1e-5},
			ScoreBound: 4, At: []float64{0}}))(t)
		d := evaluate.Data{Scores: make([]float64, n), Positive: make([]bool, n)}
		for i := range n {
			d.Positive[i], d.Scores[i] = i%2 == 0, float64(i%7)+float64(i%2)/2
		}
		out := must.Get(algorithms.Execute(context.Background(),
			p.Job(func(context.Context) (evaluate.Data, error) { return d, nil }),
			algorithms.Options{Public: true, Source: privacy.NewSeededSource(3)}))(t)
		f := must.Get(p.Figures(out.Weights, 0.95))(t)
		s := must.Get(privateQuality(&privateResult{PrivateFigures: lib.PrivateFigures{Figures: f}}))(t)
		var text bytes.Buffer
		must.Do(t, (page.Report{Sections: []page.Section{s}}).Write(&text))
		var b strings.Builder
		writeFigures(&b, f)
		for where, shown := range map[string]string{"page": text.String(), "text": b.String()} {
			must.Equal(t, strings.Contains(shown, "cannot tell "+
				map[string]string{"page": "an AUC of 0.5 from", "text": "an AUC of 0.5 from"}[where]), vague,
				"n = %d: the %s calls the figures vague: %v", n, where, !vague)
		}
		// Marks are filled shapes without a line around them; the dashes of a ROC line have a width of 1.4 points.
		lines := strings.Count(string(s.Figures[0]), "stroke-width:1.4")
		if want := map[bool]int{true: 2, false: 4}[vague]; lines != want { // each line is in the legend, too
			t.Errorf("n = %d: %d lines in the ROC figure, want %d", n, lines, want)
		}
		if shows := s.Tables[0].Rows[0][1].Text != "not known"; shows == vague {
			t.Errorf("n = %d: the table has the AUC %s", n, s.Tables[0].Rows[0][1].Text)
		}
	}
}
