package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/evaluate"
)

// figureFlags are the flags that select the figures of a private evaluation.
type figureFlags struct {
	Thresholds []float64 `name:"roc-thresholds" placeholder:"T" help:"Public thresholds of the ROC curve. Default: from a released mean and deviation of the scores."`
	MeanLoss   bool      `name:"mean-loss" help:"Also release the mean loss over pairs with different labels, for 1/5 of the budget."`
	LossRange  []float64 `name:"loss-range" placeholder:"LOW,HIGH" help:"Clip the loss of every pair to this public range. Default: 0 to twice the loss of equal scores."`
	Reference  dataFiles `placeholder:"FILE" help:"For a metric: public file of labelled records to search for nearest neighbours."`
}

// of returns the options of package dyad for the figures of a model.
func (f figureFlags) of(m *model, epsilon, delta *float64) lib.FigureOptions {
	return lib.FigureOptions{Model: m, Epsilon: *cmp.Or(epsilon, new(float64)), Delta: delta, Thresholds: f.Thresholds,
		MeanLoss: f.MeanLoss, LossRange: f.LossRange, Reference: f.Reference.String()}
}

// privateResult is the JSON output of a private evaluation: the content of its file and the total spending.
type privateResult struct {
	lib.PrivateFigures

	spent *spending
	plan  string // hash of the plan in the file, "" for public data
	whole bool   // print all figures even without --verbose
}

func (r privateResult) saved() (run, file string) { return r.Run, r.Out }

// outcome returns the part of the output that all runs have.
func (r *privateResult) outcome() *runOutcome {
	return &runOutcome{Data: r.Name, DataID: r.DataID, Public: r.Public, Guarantee: r.Guarantee, Run: r.Run,
		Ledger: r.Ledger, Spent: r.spent}
}

// told adds the total spending.
func (r *privateResult) told(s *spending) (err error) {
	if r.spent = s; s != nil {
		r.Spent, err = json.Marshal(s)
	}
	return err
}

// release carries out a plan: the plan is charged, and the result is stored, released and named.
func (a *app) release(p *lib.FigurePlan, d lib.FigureData, o lib.Run) (*privateResult, error) {
	found, away := p.Run(a.ctx, d, o)
	if found == nil {
		return nil, away
	}
	a.saved = cmp.Or(a.saved, found.Out)
	r := &privateResult{PrivateFigures: *found}
	r.Plan = nil // the plan is in the file
	return r, away
}

// between returns a figure with its interval. If the figure is too uncertain, it returns the interval alone.
func between(x evaluate.Figure) string {
	interval := fmt.Sprintf("%.4f to %.4f", x.Low, x.High)
	return pick(x.Vague(), interval, fmt.Sprintf("%.4f (%s)", x.Value, interval))
}

// value returns a figure without its interval.
func value(x evaluate.Figure) string {
	return pick(x.Vague(), "not known", fmt.Sprintf("%.4f", x.Value))
}

// tooWide returns the end of the line of an AUC whose interval is too wide.
func tooWide(auc evaluate.Figure) string {
	return pick(auc.Vague(), "; this interval cannot tell an AUC of 0.5 from an AUC of 0.9", "")
}

// vague returns a sentence about figures that are too uncertain to be useful, or "" for other figures.
func vague(f *evaluate.Figures) string {
	switch {
	case f.AUC != nil && f.AUC.Vague():
		return fmt.Sprintf("The %g %% interval of the AUC is %.2f to %.2f. At this epsilon, %d records cannot tell "+
			"an AUC of 0.5 from an AUC of 0.9, so only intervals are shown.", 100*f.Confidence,
			f.AUC.Low, f.AUC.High, f.Records)
	case f.Vague():
		return fmt.Sprintf("Too few positive records at this epsilon: most intervals are %.1f or wider, so only "+
			"the band of the ROC curve is drawn.", evaluate.VagueWidth)
	}
	return ""
}

// writeFigures writes the figures of a private evaluation.
func writeFigures(b *strings.Builder, f *evaluate.Figures) {
	if f.AUC != nil {
		line(b, "AUC", "%s; the noise alone has standard deviation %.2g%s", between(*f.AUC), f.AUCNoise, tooWide(*f.AUC))
		of := pick(f.Unit != "", f.Unit+"s (each by its share of positive rows)", "records")
		line(b, "positives", "about %.0f of %d %s, noise %.2g", f.Positives, f.Records, of, f.PositivesNoise)
	}
	if f.Difference != nil {
		line(b, "AUC", "AUC of this model minus AUC of the other: %s; the noise alone has standard deviation %.2g",
			between(*f.Difference), f.DifferenceNoise)
		line(b, "order", "the two models differ on a share of %.3g of all pairs (one positive and one negative "+
			"record)", f.Disagreement)
	}
	for i, p := range f.Points {
		label := pick(i == 0, "ROC", "")
		line(b, label, "score >= %-10.4g sensitivity %s, specificity %s, accuracy %s", p.Threshold, between(p.Sensitivity),
			between(p.Specificity), between(p.Accuracy))
	}
	if f.MeanLoss != nil {
		line(b, "mean loss", "%.4f (%.4f to %.4f) of %s over pairs with different labels; losses are clipped to "+
			"[%.4g, %.4g]", f.MeanLoss.Value, f.MeanLoss.Low, f.MeanLoss.High,
			f.LossOf, f.LossLow, f.LossHigh)
	}
	for _, r := range f.Right {
		line(b, "accuracy", "%s, %s", between(r.Figure), r.Classifier)
	}
	line(b, "intervals", "%g %% intervals; sampling and noise are included", 100*f.Confidence)
	if f.Wide {
		line(b, "", "few records or a rare class make the intervals wide")
	}
}

// releaseFlags are the flags of figures that are released or planned.
type releaseFlags struct {
	Data    dataFiles `required:"" xor:"records" placeholder:"FILE" help:"As in train, with labels, in the format of the training data."`
	Plan    bool      `required:"" xor:"records" needs:"n" not:"report track" help:"Print what a run on -n records would release and cost. No data are read."`
	N       int       `positive:"" needs:"epsilon" short:"n" help:"With --plan: number of records or persons. With --data: number of persons, in place of the schema's."`
	Epsilon *float64  `placeholder:"EPSILON" help:"Release private figures with this epsilon, charged to the ledger."`
	Delta   *float64  `needs:"epsilon" placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
	Out     string    `writes:"figures" needs:"epsilon" short:"o" placeholder:"FILE" help:"JSON file of the private figures. Default on private data: evaluation.json; if that exists, evaluation.RUN.json."`
	runFlags
}

// units describes the number of evaluated records or persons.
func (r *privateResult) units() string {
	return fmt.Sprintf("%d %ss", r.Figures.Records, cmp.Or(r.Figures.Unit, "record"))
}

func (r *privateResult) text() string {
	var b strings.Builder
	r.outcome().writeData(&b, ": "+r.units())
	b.WriteString(r.Report.Text())
	r.outcome().writeLedger(&b)
	writeFigures(&b, r.Figures)
	r.writeChosen(&b)
	some(&b, "report", r.Out)
	return b.String()
}

// figures returns the figures of the task. Each line has the given format for label and text.
func figures(e *evaluation, format string) string {
	var b strings.Builder
	for _, r := range exactFigures(e).Rows() {
		fmt.Fprintf(&b, format, r[0], r[1])
	}
	return b.String()
}

// exactFigures returns names and values of exact figures.
func exactFigures(e *evaluation) (f algorithms.Facts) {
	for _, k := range e.KNN {
		f.Line(fmt.Sprintf("%d-NN", k.K), "accuracy %.4f with the metric, %.4f with the plain distance",
			k.Learned, k.Identity)
	}
	if e.AUC != nil {
		interval := ""
		if e.AUCLow != nil {
			interval = fmt.Sprintf(" (%g %% interval %.4f to %.4f, DeLong%s)", 100*e.Confidence, *e.AUCLow, *e.AUCHigh,
				pick(e.Unit != "", " by "+e.Unit, ""))
		}
		f.Line("AUC", "%.4f%s", *e.AUC, interval)
		f.Line("accuracy", "%.4f (score >= %g counts as positive)", *e.Accuracy, e.Threshold)
	}
	if e.Ranking != nil {
		f.Line("ranking", "%.4f of the pairs with different labels are in the right order (mean over groups)", *e.Ranking)
		f.Line("NDCG", "%.4f at %d", *e.NDCG, e.Top)
	}
	if e.Precision != nil {
		f.Line("precision", "%.4f at %d", *e.Precision, e.Top)
	}
	return f
}

// writeChosen writes the chosen threshold of a report.
func (r *privateResult) writeChosen(b *strings.Builder) {
	c := r.Chosen
	if c == nil {
		return
	}
	line(b, "threshold", "%.6g (aim: %s): sensitivity %s, specificity %s, accuracy %s", c.Threshold, c.Name,
		between(c.Sensitivity), between(c.Specificity), between(c.Accuracy))
	if !c.Reached {
		line(b, "warning", "no threshold is sure to reach %s %g; the nearest was chosen. Try more records, a "+
			"larger epsilon or other --roc-thresholds",
			c.Name, c.AtLeast)
	}
	if c.Never > c.Accuracy.Value {
		line(b, "warning", "if all records are called negative, the accuracy is %.4f, which is higher than with "+
			"this threshold", c.Never)
	}
}
