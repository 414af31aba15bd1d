package command

import (
	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
	"dyad/internal/files"
	"dyad/internal/input"
)

type influenceCmd struct {
	Model        string    `arg:"" help:"Model file. It sets loss, encoding and the start weights of a network."`
	Data         dataFiles `required:"" placeholder:"FILE" help:"As in train. The labelled records are left out one by one."`
	On           dataFiles `placeholder:"FILE" help:"Records for the mean loss. Default: those of --data."`
	L2           float64   `name:"l2" default:"0.01" help:"Coefficient of the L2 term of the objective."`
	Envelope     float64   `positive:"" placeholder:"MU" help:"Replace phi by its Moreau envelope, for a loss with kinks."`
	LeaveOut     int       `aliases:"check" positive:"" placeholder:"N" help:"Check N records from all parts of the ranking: refit without each."`
	Stability    bool      `help:"Compute pairwise stability. Slow: n^3 losses of pairs."`
	Top          int       `positive:"" default:"5" help:"Records to show at each end of the ranking."`
	PublicData   bool
	ExactFigures bool   `help:"Exact figures of private records. No guarantee covers them; do not publish them."`
	Out          string `writes:"table" short:"o" placeholder:"FILE" help:"CSV of every record's influence, in the order of the data."`
	Plot         string `placeholder:"FILE"`
	Force        bool
	labelsFlag
}

type influenceResult struct {
	*lib.Influences
	IDs  []string `json:"ids,omitempty"`
	Out  string   `json:"out,omitempty"`
	Plot string   `json:"plot,omitempty"`
}

// Run computes the ranking.
func (c *influenceCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, "")
	switch {
	case err != nil:
		return err
	case !c.PublicData && !c.ExactFigures:
		return badInput("an influence is exact and has no privacy guarantee; add --exact-figures, or --public-data " +
			"for public data")
	case c.Plot != "":
		if err := checkPlot(c.Plot); err != nil {
			return err
		}
	}
	out, err := files.NewOutput(c.Out, c.Force, c.Data.and(c.On.and(c.Labels, c.Model)...)...)
	if err != nil {
		return err
	}
	schema := *m.Encoder.Schema()
	if err := needs(m, input.Needs{Rows: "influence needs single records, but the model protects persons; train on " +
		"public data without role: person"}); err != nil {
		return err
	}
	data, err := a.readTraining(c.Data, &schema, c.options(dataset.Options{KeepIDs: true}), c.PublicData)
	if err != nil {
		return err
	}
	o := lib.InfluenceOptions{L2: c.L2, Envelope: c.Envelope, Check: c.LeaveOut, Stability: c.Stability}
	if c.On.given() {
		on, err := a.readTraining(c.On, &schema, dataset.Options{}, c.PublicData)
		if err != nil {
			return err
		}
		o.On = lib.NewData(on)
	}
	var bar *barTracker
	o.Progress = func(part string, done, total int) {
		if bar == nil || bar.what != part {
			bar = a.describedTracker(part)
		}
		bar.Step(done, total)
	}
	o.Estimate = func(seconds float64) {
		a.note("dyad: --stability takes %s for %d left-out records, by an estimate", algorithms.Duration(seconds),
			data.Records.Len())
	}
	i, err := m.Influence(a.ctx, lib.NewData(data), o)
	if err != nil {
		return err
	}
	r := influenceResult{i, data.IDs, c.Out, c.Plot}
	if c.Out != "" {
		if err := r.table().save(out); err != nil {
			return err
		}
	}
	if c.Plot != "" {
		if err := r.figure().Save(c.Plot); err != nil {
			return err
		}
	}
	return a.emit(r, r.text(c.Top))
}

// table returns the table of all records.
func (r *influenceResult) table() numbers {
	n, columns := numbers{ids: r.IDs, names: []string{"influence"}, matrix: true}, [][]float64{r.Changes}
	if r.Elastic != nil {
		n.names, columns = append(n.names, "elastic_stability"), append(columns, r.Elastic)
	}
	for i := range r.Changes {
		for _, c := range columns {
			n.values = append(n.values, c[i])
		}
	}
	return n
}

// name returns the name of a record: its id, or the number of its row.
func (r *influenceResult) name(i int) string {
	if r.IDs != nil {
		return r.IDs[i]
	}
	return fmt.Sprintf("row %d", i+1)
}

func (r *influenceResult) text(top int) string {
	var b strings.Builder
	line(&b, "objective", "%s, L2 %g, %d parameters, %d records", r.Objective, r.L2, r.Parameters, r.Records)
	line(&b, "mean loss", "%.6g", r.Mean)
	order := r.Order()
	n := len(order)
	fmt.Fprintf(&b, "\nwithout the record the mean loss changes by\n")
	for k, i := range order {
		if k >= top && k < n-top {
			if k == top {
				fmt.Fprintf(&b, "  ... %d records\n", n-2*top)
			}
			continue
		}
		fmt.Fprintf(&b, "  %-12s %+.3g\n", r.name(i), r.Changes[i])
	}
	fmt.Fprintln(&b)
	if r.Pearson != nil {
		line(&b, "check", "%d records were left out; correlation of predicted and exact changes: %.4f, of their "+
			"ranks: %.4f", len(r.Checked), *r.Pearson, *r.Rank)
	} else if len(r.Checked) > 0 {
		line(&b, "check", "%d records were left out; --json shows them", len(r.Checked))
	}
	if r.Uniform != nil && *r.Uniform > 0 {
		bound := ""
		if r.UniformBound != nil {
			bound = fmt.Sprintf(" (at most %.3g is proved)", *r.UniformBound)
		}
		line(&b, "stability", "one record left out changes a pair's loss by at most %.3g to first order%s",
			*r.Uniform, bound)
		line(&b, "", "averaged over the left-out records, the change is at most %.3g, or %.2g times the value in "+
			"the line above (Theorem 3 of Kang et al.)", *r.Expected,
			*r.Expected / *r.Uniform)
	}
	if r.PL != nil {
		line(&b, "PL ratio", "smallest ratio %.4g at %d points; the constant mu is at most this ratio",
			*r.PL, r.PLPoints)
	}
	some(&b, "table", r.Out)
	line(&b, "guarantee", "%s", r.Guarantee)
	return b.String()
}

// figure returns the figure of the ranking and of the records that were left out.
func (r *influenceResult) figure() experiment.Figure {
	order := r.Order()
	place := make([]float64, len(order))
	ranking := experiment.Curve{Name: "influence", Points: true}
	for k, i := range order {
		place[i] = float64(k + 1)
		ranking.X, ranking.Y = append(ranking.X, float64(k+1)), append(ranking.Y, r.Changes[i])
	}
	f := experiment.Figure{Title: "What single records do", X: "rank", Y: "change of the mean loss if the record " +
		"is left out",
		Curves: []experiment.Curve{ranking}}
	if len(r.Checked) > 0 {
		left := experiment.Curve{Name: "left out", Points: true}
		for _, c := range r.Checked {
			left.X, left.Y = append(left.X, place[c.Record]), append(left.Y, c.Exact)
		}
		f.Curves = append(f.Curves, left)
	}
	return f
}
