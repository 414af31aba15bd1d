package command

import (
	"fmt"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/internal/experiment"
	"dyad/internal/files"
	"dyad/internal/page"
)

// auditPage writes the page of an audit. An audit reads no data.
func (a *app) auditPage(out *files.Output, r *audit.Report) error {
	claim := algorithms.Stated(r.Unit, r.Epsilon, r.Delta, r.Mu)
	s := page.Section{ID: "claim", Title: "The claim, and the attack on it", Text: []string{
		"The claim: " + claim.Sentences("the release")[0],
		fmt.Sprintf("The attack proves epsilon >= %.6g (confidence %g); the claim is epsilon = %.6g at delta = "+
			"%.6g. Verdict: %s.", r.LowerBound, r.Confidence, r.Epsilon, r.Delta, auditVerdict(r)),
		"The audit makes two data sets that differ in " + r.Unit +
			". The attack sees the released values and guesses which data set was used. No data file is " +
			"read.",
	}}
	if len(r.Scores[0]) > 0 && len(r.Scores[1]) > 0 {
		f := auditFigure(r)
		for k := range f.Curves {
			f.Curves[k].X, f.Curves[k].Y = thin(f.Curves[k].X), thin(f.Curves[k].Y)
		}
		if err := drawn(&s, *f, "An attack below the claim's curve does not refute the claim."); err != nil {
			return err
		}
	}
	bounds := page.Table{Caption: "Lower bounds of epsilon",
		Head: []string{"method", "epsilon at least", "confidence", "assumes", "attack"}}
	for _, b := range r.Bounds {
		bounds.Add(b.Method, fmt.Sprintf("%.6g", b.Epsilon), fmt.Sprintf("%.6g", b.Confidence), b.Assumes, b.Attack)
	}
	s.Tables = []page.Table{bounds, table("The audit", auditFacts(r, "").Rows()...)}
	return a.writePage(out, document{title: "An audit of " + r.Algorithm, sections: []page.Section{s}})
}

// curvePage writes the page of a curve on public data.
func (a *app) curvePage(out *files.Output, r curveResult, figures []experiment.Figure) error {
	s := page.Section{ID: "curve", Title: "Utility against epsilon",
		Text: []string{"Means over splits of public data; the noise has a seed. Do not use these figures to choose " +
			"options for private data of the same people."}}
	for _, f := range figures {
		if err := drawn(&s, f, "The numbers are in the table."); err != nil {
			return err
		}
	}
	s.Tables = []page.Table{r.means("–")}
	return a.writePage(out, document{title: "A curve of " + r.Data, guarantee: algorithms.PublicData(""),
		sections: []page.Section{s}})
}

// page returns the page of a charged and released curve on private data.
func (r *privateCurveResult) page(f experiment.Figure) (document, error) {
	d := document{title: "A curve on private data", guarantee: r.Guarantee, report: &r.Report,
		seen: "all of these figures and models"}
	s := page.Section{ID: "curve", Title: "AUC against epsilon",
		Text: []string{"Each point is the noisy AUC of one training run on held-out records. One charge covers all " +
			"points."}}
	err := drawn(&s, f, "The numbers are in the table.")
	t := page.Table{Caption: "Released figures",
		Head: []string{"epsilon of the training", "algorithm", "AUC", "low", "high"}}
	for _, x := range r.Rows {
		t.Add(fmt.Sprintf("%g", x.Epsilon), x.Algorithm, fmt.Sprintf("%.4f", x.AUC), fmt.Sprintf("%.4f", x.Low),
			fmt.Sprintf("%.4f", x.High))
	}
	s.Tables, d.sections = []page.Table{t}, []page.Section{s}
	return d, err
}
