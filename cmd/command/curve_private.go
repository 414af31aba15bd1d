package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
	"dyad/internal/files"
	"dyad/privacy"
)

// checkPrivate refuses what a curve of private data cannot have, before they are read.
func (c *curveCmd) checkPrivate(s *dataset.Schema) error {
	switch {
	case c.HoldoutEpsilon == nil:
		return badInput("%s is private: its schema does not say public: true. Every point of a curve then costs a training and private figures of the held-out records; say their epsilon with --holdout-epsilon, or --public-data if the data are public", c.Data)
	case s.IsGraded():
		return badInput("a curve of private data needs the private AUC of two classes, and the labels are grades")
	case s.ByPerson():
		return badInput("a curve of private data protects rows, and the schema has persons with several; make the curve on synthetic visits (dyad data synth --visits), which are public")
	case c.Splits > 1 && c.N != nil && len(c.N) > 1, len(c.N) > 1:
		return badInput("a curve of private data has one number of training records, and -n gives %d", len(c.N))
	case c.Retry || c.Parallel != 1:
		return badInput("--retry and --parallel are for public data")
	}
	return nil
}

// curveBytes is what every curve has room in: whether it can be kept does not depend on its numbers.
const curveBytes = 2 << 20

// privateCurveResult is the JSON output of a curve of private data, and its file.
type privateCurveResult struct {
	runOutcome
	Report  algorithms.Report       `json:"report"`
	Rows    []experiment.PrivateRow `json:"rows"`
	Out     string                  `json:"out"`
	CSV     string                  `json:"csv"`
	Figures []string                `json:"figures"`
	Plan    json.RawMessage         `json:"plan,omitempty"` // algorithms.Plan.Record, in the file
}

func (r privateCurveResult) saved() (run, file string) { return r.Run, r.Out }

// private releases the curve of private data. Everything is charged at once.
func (c *curveCmd) private(a *app, d experiment.Data, set *dataset.Dataset, page *files.Output) error {
	p, err := c.plan(d, true)
	if err != nil {
		return curveError(err)
	}
	data := lib.NewData(set)
	units := set.Records.Units()
	held := privacy.Budget{Epsilon: *c.HoldoutEpsilon, Delta: privacy.DefaultDelta(max(2, units-d.N[0]))}
	if c.Delta != nil {
		held.Delta = *c.Delta
	}
	curve, err := p.Private(units, set.Records.Dim(), engine.UnitBounds(), held, lib.ProvenanceOf(set.Schema()))
	if err != nil {
		return curveError(err)
	}
	r := &privateCurveResult{runOutcome: runOutcome{Data: c.Data.String(), DataID: set.Schema().DataID}, Out: c.writes()[0]}
	for _, name := range c.writes()[1:] {
		if err := checkOut(name, c.Force, c.Data.and(c.Schema, c.Labels, c.Ledger)...); err != nil {
			return err
		}
	}
	fill := func(r *privateCurveResult, res *algorithms.Result) (err error) {
		r.Guarantee, r.Run, r.Report = res.Guarantee, res.Run, curve.Report()
		r.Report.Guarantee = res.Guarantee
		r.Rows, err = curve.Rows(res.Weights, defaultConfidence)
		return err
	}
	k := charging{runFlags: c.runFlags, as: target{name: r.Out}, inputs: c.Data.and(c.Schema, c.Labels), doing: "training", page: c.pageFlag, confirm: c.confirmFlag, outcome: &r.runOutcome}
	k.recovered = func(saved *lib.Outcome, _ *lib.Ledger) error { return k.noteReleased(a, saved, "rows are") }
	k.plan = func() (planned, error) {
		if c.Resume == "" {
			a.note("dyad: %d trainings and their private figures cost together: %s", curve.Runs(), curve.Guarantee.String())
		}
		return planned{
			warnings: curve.Warnings(), delta: max(curve.Guarantee.Delta, privacy.DefaultDelta(units)), n: units,
			ask: []string{fmt.Sprintf("all of it is charged to %q at once", nonEmpty(c.DataID, r.DataID))},
		}, nil
	}
	k.run = func(o lib.Run) (bool, error) {
		res, name, away := o.Keep(a.ctx, data.Source(), func(res *algorithms.Result) ([]byte, int, error) {
			kept := *r
			if err := fill(&kept, res); err != nil {
				return nil, 0, err
			}
			kept.Plan = res.Record
			text, err := files.Sealed(&kept)
			return text, max(len(text), curveBytes), err
		}, func(o algorithms.Options) (*algorithms.Result, error) {
			return algorithms.Execute(a.ctx, curve.Job(data.Records), o)
		})
		if res == nil {
			return false, a.charged(away)
		}
		if err := fill(r, res); err != nil {
			return false, err
		}
		r.Out = name
		return away == nil, asResult(away) // its files belong together
	}
	k.tell = func() (err error) {
		r.CSV = c.Out + ".csv"
		if err = files.Replace(r.CSV, r.table()); err == nil {
			r.Figures, err = curve.Draw(c.Out, r.Rows, c.Format...)
		}
		if err != nil {
			return fmt.Errorf("%v; run %s is complete, and its rows are in %s", err, r.Run, r.Out)
		}
		return a.emit(r, r.text())
	}
	k.draw = func(out *files.Output, l *lib.Ledger) error { return r.writePage(a, out, curve.Figure(r.Rows), l) }
	return k.perform(a)
}

func nonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// writes are the files that the curve of private data will write.
func (c *curveCmd) writes() []string {
	names := []string{c.Out + ".json", c.Out + ".csv"}
	for _, f := range c.Format {
		names = append(names, c.Out+"."+f)
	}
	return names
}

// table is the CSV of the rows.
func (r *privateCurveResult) table() []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	lines := [][]string{{"n", "held_out", "epsilon", "delta", "algorithm", "options", "split", "draw", "auc", "auc_low", "auc_high"}}
	for _, x := range r.Rows {
		lines = append(lines, []string{
			strconv.Itoa(x.N), strconv.Itoa(x.HeldOut), number(x.Epsilon), number(x.Delta), x.Algorithm, x.Options, strconv.Itoa(x.Split), strconv.Itoa(x.Draw),
			fmt.Sprintf("%.6f", x.AUC), fmt.Sprintf("%.6f", x.Low), fmt.Sprintf("%.6f", x.High),
		})
	}
	_ = w.WriteAll(lines) // to memory
	return []byte(b.String())
}

func (r *privateCurveResult) text() string {
	var b strings.Builder
	r.writeData(&b, fmt.Sprintf(": %d runs", len(r.Rows)))
	b.WriteString(r.Report.Text())
	r.writeLedger(&b)
	for _, x := range r.Rows {
		line(&b, "AUC", "epsilon %-6g %s: %.4f (%.4f to %.4f)", x.Epsilon, strings.TrimSpace(x.Algorithm+" "+x.Options), x.AUC, x.Low, x.High)
	}
	line(&b, "intervals", "%g %%, covering the sampling of the held-out records and the noise of their figures, for the model of that run", 100*defaultConfidence)
	for _, f := range slices.Concat([]string{r.Out, r.CSV}, r.Figures) {
		line(&b, "file", "%s", f)
	}
	return b.String()
}
