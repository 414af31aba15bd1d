package command

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/curve"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
	"dyad/internal/files"
	"dyad/privacy"
)

// checkPrivate returns an error for flags that a curve of private data cannot have. It is called before the
// data are read.
func (c *curveCmd) checkPrivate() error {
	switch {
	case c.HoldoutEpsilon == nil:
		return badInput("%s is private, so the figures need a budget; give --holdout-epsilon, or --public-data if "+
			"the data are public", c.Data)
	case len(c.N) > 1:
		return badInput("on private data, -n takes one number of training records, not %d", len(c.N))
	case c.Retry || c.Parallel != 1:
		return badInput("--retry and --parallel are only for public data")
	}
	return nil
}

func (r privateCurveResult) saved() (run, file string) { return r.Run, r.Out }

// points returns the options of a curve of private data with n training records.
func (c *curveCmd) points(n int) (o lib.CurveOptions, err error) {
	o = lib.CurveOptions{Epsilons: c.epsilons(), Delta: c.Delta, Training: n, Splits: c.Splits, Draws: c.Noises,
		HeldEpsilon: *c.HoldoutEpsilon, Confidence: defaultConfidence}
	o.Names.Data = c.Data.String()
	o.Names.Ledger, _ = c.path() // opening the ledger reports the error
	for _, name := range c.names() {
		s := lib.Setting{Name: name, Options: lib.Options{Task: c.Task}}
		if name != algorithms.AutoName {
			if s.Options.Algorithm, err = algorithms.ByName(name); err != nil {
				return o, asInput(err)
			}
		}
		o.Settings = append(o.Settings, s)
	}
	return o, nil
}

// private releases the curve of private data. All its points are charged together.
func (c *curveCmd) private(a *app, d experiment.Data, set *dataset.Dataset, page *files.Output) error {
	data := lib.NewData(set)
	units := data.Shape().Records
	o, err := c.points(d.N[0])
	if err != nil {
		return err
	}
	p, err := lib.PlanCurve(data.Shape(), o)
	if err != nil {
		return err
	}
	r := &privateCurveResult{runOutcome: runOutcome{Data: o.Names.Data, DataID: set.Schema().DataID}, Out: c.Out + ".json"}
	for _, name := range c.draws() {
		if err := checkOut(name, c.Force, c.Data.and(c.Schema, c.Labels, c.Ledger)...); err != nil {
			return err
		}
	}
	k := charging{runFlags: c.runFlags, as: target{name: r.Out}, inputs: c.Data.and(c.Schema, c.Labels), doing: "training",
		page: c.pageFlag, outcome: &r.runOutcome}
	k.recovered = func(saved *lib.Outcome, _ *lib.Ledger) error { return k.noteReleased(a, saved, "rows are") }
	k.plan = func() (planned, error) {
		if c.Resume == "" {
			a.note("dyad: the cost of all %d trainings with their private figures: %s", len(p.Options.Runs),
				p.Guarantee.String())
		}
		return planned{
			warnings: p.Warnings(), delta: max(p.Guarantee.Delta, privacy.DefaultDelta(units)), n: units,
			ask: []string{fmt.Sprintf("the cost of all runs is charged to %q at once", cmp.Or(c.DataID, r.DataID))},
		}, nil
	}
	k.run = func(o lib.Run) (bool, error) {
		found, away := p.Run(a.ctx, data, o)
		if found == nil {
			return false, a.charged(away)
		}
		r.Guarantee, r.Run, r.Report, r.Rows, r.Out = found.Guarantee, found.Run, found.Report, found.Rows, found.Out
		return away == nil, asResult(away) // the files of a curve belong together
	}
	figure := func() experiment.Figure { return c.figure(d.Name, o, r.Rows) }
	k.tell = func() (err error) {
		r.CSV = c.Out + ".csv"
		err = files.Replace(r.CSV, r.table())
		for _, name := range c.draws()[1:] {
			if err == nil {
				err = figure().Save(name)
				r.Figures = append(r.Figures, name)
			}
		}
		if err != nil {
			return fmt.Errorf("%v; run %s is complete, and its rows are in %s", err, r.Run, r.Out)
		}
		return a.emit(r, r.text())
	}
	k.draw = func(*lib.Ledger) (document, error) { return r.page(figure()) }
	return k.perform(a)
}

// figure returns the mean of the released AUCs for each epsilon, with the mean of their intervals as a band.
func (c *curveCmd) figure(name string, o lib.CurveOptions, rows []curve.Row) experiment.Figure {
	f := experiment.Figure{
		Title: fmt.Sprintf("%s, n = %d\nreleased privately; band: interval", name, o.Training), X: "epsilon of the training",
		LogX: true, Ticks: o.Epsilons, Y: "AUC",
	}
	for _, s := range o.Settings {
		line := experiment.Curve{Name: s.Name}
		for _, e := range o.Epsilons {
			var sum, low, high, n float64
			for _, r := range rows {
				if r.Epsilon == e && r.Algorithm == s.Name {
					sum, low, high, n = sum+r.AUC, low+r.Low, high+r.High, n+1
				}
			}
			line.X, line.Y, line.Low, line.High = append(line.X, e), append(line.Y, sum/n), append(line.Low, low/n),
				append(line.High, high/n)
		}
		f.Curves = append(f.Curves, line)
	}
	return f
}

// draws returns the names of the files drawn from a curve of private data: the table of its rows, then pictures.
func (c *curveCmd) draws() []string {
	names := []string{c.Out + ".csv"}
	for _, f := range c.Format {
		names = append(names, c.Out+"."+f)
	}
	return names
}

// table returns the rows as CSV.
func (r *privateCurveResult) table() []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	lines := [][]string{{"n", "held_out", "epsilon", "delta", "algorithm", "options", "split", "draw", "auc",
		"auc_low", "auc_high"}}
	for _, x := range r.Rows {
		lines = append(lines, []string{
			strconv.Itoa(x.N), strconv.Itoa(x.HeldOut), number(x.Epsilon), number(x.Delta), x.Algorithm, "",
			strconv.Itoa(x.Split), strconv.Itoa(x.Draw),
			fmt.Sprintf("%.6f", x.AUC), fmt.Sprintf("%.6f", x.Low), fmt.Sprintf("%.6f", x.High),
		})
	}
	_ = w.WriteAll(lines) // cannot fail: it writes to memory
	return []byte(b.String())
}

func (r *privateCurveResult) text() string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d runs", len(r.Rows)))
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	for _, x := range r.Rows {
		line(&b, "AUC", "epsilon %-6g %s: %.4f (%.4f to %.4f)", x.Epsilon, x.Algorithm, x.AUC, x.Low, x.High)
	}
	line(&b, "intervals", "%g %% for each model; they cover the sampling of held-out records and the noise of the "+
		"figures", 100*defaultConfidence)
	for _, f := range slices.Concat([]string{r.Out, r.CSV}, r.Figures) {
		line(&b, "file", "%s", f)
	}
	return b.String()
}
