package command

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	lib "dyad"
	"dyad/algorithms/evaluate"
	"dyad/engine"
	"dyad/internal/experiment"
	"dyad/internal/page"
)

// quality returns the sections on the quality of the model, from charged releases, or exact for public data.
// Without figures, it describes how to release them for a charge.
func (d document) quality() ([]page.Section, error) {
	switch {
	case d.figures != nil:
		s, err := privateQuality(d.figures)
		return []page.Section{s}, err
	case d.open != nil:
		return d.open.sections()
	case d.buy == "":
		return nil, nil
	}
	return []page.Section{{
		ID: "quality", Title: "How well it does",
		Text: []string{"A ROC curve, score distributions and an AUC cost privacy budget. To see only the cost, " +
			"give --plan and -n instead of --data. This command draws the figures at epsilon E:"},
		Code: []string{d.buy},
	}}, nil
}

// buy returns the command that releases the figures of a model for a charge and draws them.
func buy(m *model, file string) string {
	if m.Encoder.Schema().IsGraded() {
		return "" // graded labels have no such figures
	}
	reference := ""
	if m.Task == taskMetric {
		reference = " --reference PUBLIC_FILE"
	}
	return fmt.Sprintf("dyad evaluate %s --data FILE%s --epsilon E --out figures.json --report page.html",
		shell(file), reference)
}

// privateQuality returns the section with the figures of a private evaluation. All contents are functions of
// its release.
func privateQuality(r *privateResult) (s page.Section, err error) {
	f := r.Figures
	s = page.Section{ID: "quality", Title: "How well it does"}
	s.Text = append(s.Text, fmt.Sprintf("The figures were released with noise and charged. The %g %% intervals cover the "+
		"sampling of the records and the noise.", 100*f.Confidence))
	if q := r.Guarantee.Sentences("these figures"); q != nil {
		s.Text = append(s.Text, "Of the figures by themselves: "+q[0])
	}
	if f.Wide {
		s.Text = append(s.Text,
			"The intervals are wide, because there are few records or one class is rare.")
	}
	if says := vague(f); says != "" {
		s.Warnings = append(s.Warnings, says)
	}
	t := page.Table{Caption: fmt.Sprintf("Figures of %s", r.units()), Head: []string{"figure", "value", "low", "high"}}
	add := func(name string, x evaluate.Figure) {
		t.Add(name, value(x), fmt.Sprintf("%.4f", x.Low), fmt.Sprintf("%.4f", x.High))
	}
	if f.AUC != nil {
		add("AUC", *f.AUC)
		add("share of positives, noise alone", evaluate.Figure{
			Value: f.Positives / float64(f.Records), Low: (f.Positives - 1.96*f.PositivesNoise) / float64(f.Records),
			High: (f.Positives + 1.96*f.PositivesNoise) / float64(f.Records),
		})
	}
	if f.Difference != nil {
		add("AUC minus the AUC of the other model", *f.Difference)
	}
	if f.MeanLoss != nil {
		l := *f.MeanLoss // the mean loss has its own unit
		t.Add("mean loss, "+f.LossOf, fmt.Sprintf("%.4f", l.Value), fmt.Sprintf("%.4f", l.Low), fmt.Sprintf("%.4f", l.High))
	}
	for _, right := range f.Right {
		add("accuracy, "+right.Classifier, right.Figure)
	}
	s.Tables = append(s.Tables, t)
	if f.Points == nil {
		return s, nil
	}
	if err := drawn(&s, rocFigure(releasedCurve(f)),
		"The band shows the intervals of the sensitivity. For the specificity, see the intervals in the table."); err != nil {
		return s, err
	}
	above := [2]experiment.Curve{{Name: "positives", Bare: f.Vague()}, {Name: "negatives", Bare: f.Vague()}}
	table := page.Table{Caption: "Operating points of the ROC curve",
		Head: []string{"score at least", "sensitivity", "specificity", "accuracy"}}
	for _, p := range f.Points {
		for k, x := range []evaluate.Figure{p.Sensitivity,
			{Value: 1 - p.Specificity.Value, Low: 1 - p.Specificity.High, High: 1 - p.Specificity.Low}} {
			c := &above[k]
			c.X, c.Y, c.Low, c.High = append(c.X, p.Threshold), append(c.Y, x.Value), append(c.Low, x.Low),
				append(c.High, x.High)
		}
		table.Add(fmt.Sprintf("%.4g", p.Threshold), between(p.Sensitivity), between(p.Specificity), between(p.Accuracy))
	}
	s.Tables = append(s.Tables, table)
	distributions := experiment.Figure{Title: "Distributions of scores", X: "score",
		Y: "share with at least this score", Curves: above[:]}
	err = drawn(&s, distributions, "For each class, the share of records with at least this score, with intervals.")
	return s, err
}

// releasedCurve returns the ROC curve of released figures with its band. If the figures are too uncertain, it
// returns only the band.
func releasedCurve(f *evaluate.Figures) experiment.Curve {
	c := experiment.Curve{Name: "released", Bare: f.Vague(), Low: []float64{0}, High: []float64{0}}
	c.X, c.Y = f.ROC()
	last := 0.0
	for k, p := range slices.Backward(f.Points) { // f.ROC has a midpoint before each point
		c.Low, c.High = append(c.Low, last, p.Sensitivity.Low), append(c.High, p.Sensitivity.High, p.Sensitivity.High)
		c.Marks = append(c.Marks, 2*(len(f.Points)-k))
		last = p.Sensitivity.Low
	}
	c.Low, c.High = append(c.Low, last, 1), append(c.High, 1, 1)
	return c
}

// rocFigure returns the figure of a ROC curve with the diagonal of random guessing.
func rocFigure(c experiment.Curve) experiment.Figure {
	return experiment.Figure{
		Title: "ROC curve", X: "1 - specificity (share of negatives above the threshold)", Y: "sensitivity (share of " +
			"positives above it)",
		Curves: []experiment.Curve{c, {Name: "guessing", X: []float64{0, 1}, Y: []float64{0, 1}, Smooth: true}},
	}
}

// openFigures holds exact figures of public records.
type openFigures struct {
	evaluation    *evaluation // nil if there is no evaluation
	on            string      // description of the evaluated records
	scores        [2][]float64
	before, after *experiment.Figure
}

// opened returns the exact figures of a model on records. It returns nil if the records are not public, because
// a page has no exact figures of private records.
func opened(public bool, m *model, e *evaluation, d *lib.Data, on string) (*openFigures, error) {
	if !public || d == nil {
		return nil, nil
	}
	o := &openFigures{evaluation: e, on: on}
	if d.Schema().IsGraded() {
		return o, nil
	}
	labels := d.Records.Labels()
	if m.Task == taskMetric {
		return o, o.planes(m, d.Records)
	}
	scores, err := m.Score(d.Records)
	for i, s := range scores {
		class := 0
		if labels[i] > 0 {
			class = 1
		}
		o.scores[class] = append(o.scores[class], s)
	}
	return o, err
}

func (o *openFigures) sections() ([]page.Section, error) {
	s := page.Section{ID: "quality", Title: "How well it does",
		Text: []string{"Exact figures of " + o.on + ", which are public and need no guarantee."}}
	if o.evaluation != nil {
		f := exactFigures(o.evaluation)
		if o.evaluation.Objective != nil {
			f.Line("objective, "+o.evaluation.ObjectiveOf, "%.6g", *o.evaluation.Objective)
		}
		s.Tables = append(s.Tables, table("Figures", f.Rows()...))
	}
	if len(o.scores[0]) > 0 && len(o.scores[1]) > 0 {
		alarms, hits := rates(o.scores)
		if err := drawn(&s, rocFigure(experiment.Curve{Name: "model", X: thin(alarms), Y: thin(hits), Smooth: true}),
			"The AUC in the table is the area below the curve."); err != nil {
			return nil, err
		}
		if err := drawn(&s, histograms(o.scores),
			"The distribution of the scores of each class, in 30 bins."); err != nil {
			return nil, err
		}
	}
	if o.before == nil {
		return []page.Section{s}, nil
	}
	space := page.Section{ID: "space", Title: "The space before and after", Text: []string{
		"Public records before and after the metric is applied. The axes are the two directions with the largest " +
			"variance. Records of one class should be close to each other.",
	}}
	for _, p := range []*experiment.Figure{o.before, o.after} {
		if err := drawn(&space, *p, "Each point is a record, and its shape shows the class."); err != nil {
			return nil, err
		}
	}
	return []page.Section{s, space}, nil
}

// mostPoints is the largest number of points of a curve on a page.
const mostPoints = 300

// thin returns at most mostPoints of the points of a curve, including its ends.
func thin(x []float64) (out []float64) {
	if len(x) <= mostPoints {
		return x
	}
	for k := range mostPoints {
		out = append(out, x[k*(len(x)-1)/(mostPoints-1)])
	}
	return out
}

// histograms returns the figure of the distribution of the scores of each class.
func histograms(scores [2][]float64) experiment.Figure {
	const bins = 30
	low, high := math.Inf(1), math.Inf(-1)
	for _, class := range scores {
		low, high = min(low, slices.Min(class)), max(high, slices.Max(class))
	}
	f := experiment.Figure{Title: "Distributions of scores", X: "score", Y: "share of the class"}
	for class, name := range []string{"negatives", "positives"} {
		var counts [bins]float64
		for _, s := range scores[class] {
			if high > low {
				counts[min(bins-1, int(bins*(s-low)/(high-low)))]++
			} else {
				counts[0]++
			}
		}
		c := experiment.Curve{Name: name, Smooth: true}
		for k, count := range counts { // draw steps
			share := count / float64(len(scores[class]))
			c.X = append(c.X, low+(high-low)*float64(k)/bins, low+(high-low)*float64(k+1)/bins)
			c.Y = append(c.Y, share, share)
		}
		f.Curves = append(f.Curves, c)
	}
	return f
}

// mostDrawn is the largest number of records in a plane.
const mostDrawn = 400

// planes draws public records before and after a metric.
func (o *openFigures) planes(m *model, r *engine.Records) error {
	if r.Len() > mostDrawn {
		r = r.Range(0, mostDrawn)
	}
	rows, dim, err := m.Transform(r)
	if err != nil || dim == 0 || r.Dim() < 2 || r.Len() < 3 {
		return err
	}
	if o.after = projected("As the model maps them", rows, dim, r.Labels()); o.after != nil {
		o.before = projected("As they are", r.Rows(nil, 0, r.Len()), r.Dim(), r.Labels())
	}
	return nil
}

// projected returns a figure of the rows along their two principal directions, or nil if these directions cannot be
// computed.
func projected(title string, rows []float64, dim int, labels []float64) *experiment.Figure {
	n := len(labels)
	x := mat.NewDense(n, dim, slices.Clone(rows))
	var pc stat.PC
	if !pc.PrincipalComponents(x, nil) {
		return nil
	}
	var directions, seen mat.Dense
	pc.VectorsTo(&directions)
	seen.Mul(x, &directions)
	f := &experiment.Figure{Title: title, X: "first direction", Y: "second direction"}
	for class, name := range []string{"negatives", "positives"} {
		c := experiment.Curve{Name: name, Points: true}
		for i, y := range labels {
			if (y > 0) != (class == 1) {
				continue
			}
			second := 0.0
			if _, columns := seen.Dims(); columns > 1 {
				second = seen.At(i, 1)
			}
			c.X, c.Y = append(c.X, seen.At(i, 0)), append(c.Y, second)
		}
		if c.X != nil {
			f.Curves = append(f.Curves, c)
		}
	}
	return f
}
