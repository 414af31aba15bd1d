package command

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/docs/checker"
	"dyad/internal/files"
	"dyad/internal/page"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

type reportCmd struct {
	Model   string `arg:"" help:"Model file."`
	Figures string `placeholder:"FILE" help:"Private evaluation of the model (dyad evaluate --out). The page shows its ROC curve and scores."`
	Out     string `writes:"page" short:"o" placeholder:"FILE.html" help:"File of the page. Default: MODEL with the ending .html, or no page if only --curves is given."`
	Force   bool
	approvedFlag
	curvesFlag
	trackFlag
	ledgerFlag
}

// Run writes the page.
func (c *reportCmd) Run(a *app) error {
	known, err := c.path()
	if err != nil && c.Ledger == "" {
		known = ""
	}
	m, judged, err := a.trustedModel(c.Model, known)
	if err != nil {
		return err
	}
	if c.Out == "" && (c.Curves == "" || c.Figures != "" || c.Approved != "") {
		c.Out = strings.TrimSuffix(c.Model, filepath.Ext(c.Model)) + ".html"
	}
	out, err := files.NewOutput(c.Out, c.Force, c.Model, c.Figures, c.Ledger, c.Approved)
	if err != nil {
		return err
	}
	drawn, err := c.check(m, c.Force, c.Model, c.Figures, c.Ledger, c.Out)
	if err != nil {
		return err
	}
	if err := c.checkTrack(); err != nil {
		return err
	}
	d := modelDocument(m, c.Model)
	d.judged = &judged
	if c.Figures != "" {
		if d.figures, err = readFigures(c.Figures, m); err != nil {
			return err
		}
	}
	if m.Guarantee.Kind != privacy.Public {
		if err = c.charged(&d); err != nil {
			return err
		}
		if err := c.figureCharges(&d); err != nil {
			return err
		}
	}
	if c.Approved != "" {
		text, err := c.filled(m, d.figures, d.charges)
		if err == nil {
			err = out.Write(files.Shared, text)
		}
		if err != nil {
			return err
		}
		a.note("dyad: the approved page with the results is %s", out.Asked)
	} else if err := a.writePage(out, d); err != nil {
		return err
	}
	if err := c.curvesFlag.write(m, drawn); err != nil {
		return err
	}
	if err := c.trackFlag.write(a, c.Model, trackedRun{model: m, figures: d.figures}); err != nil {
		return err
	}
	made := map[string]string{"model": c.Model}
	if c.Out != "" {
		made["page"] = c.Out
	}
	return a.emit(made, "")
}

// charged adds the charges of the named ledger, or of the default one if it knows the run.
func (c *reportCmd) charged(d *document) error {
	m := d.model
	if m.Run == "" { // the model comes from messages of users, which are in no ledger here
		return nil
	}
	path, err := c.path()
	if err != nil || !exists(path) {
		if c.Ledger != "" {
			return noLedger(path)
		}
		return nil
	}
	l, err := ledger.Open(path)
	if err != nil {
		return err
	}
	all, err := chargesOf(l, m.DataID, m.Guarantee.Delta)
	if err != nil {
		return err
	}
	for _, r := range all.runs {
		if r.Run == m.Run {
			d.charges = all
			return d.chosenFrom(l)
		}
	}
	if c.Ledger != "" && all.away != "" {
		return badInput("the ledger %s has no charge of run %q, and its archive %s is missing; put the "+
			"archive next to the ledger", path, m.Run, all.away)
	}
	if c.Ledger != "" {
		return badInput("the ledger %s has no charge of run %q; give the ledger that the training used", path, m.Run)
	}
	return nil
}

// figureCharges adds the charges of figures of other data. They come from the ledger that the figures name, unless
// another ledger is given.
func (c *reportCmd) figureCharges(d *document) error {
	if d.charges == nil || d.figures == nil {
		return nil
	}
	path := cmp.Or(c.Ledger, d.figures.Ledger)
	if path == "" || !exists(path) {
		return nil
	}
	l, err := ledger.Open(path)
	if err != nil {
		return err
	}
	return d.alsoCharged(l, d.figures)
}

// readFigures reads the report of a private evaluation of a model.
func readFigures(path string, m *model) (*privateResult, error) {
	f, err := lib.LoadFigures(path, m)
	if err != nil {
		return nil, err
	}
	plan := algorithms.RecordHash(f.Plan)
	f.Plan = nil // the plan is in the file
	return &privateResult{PrivateFigures: *f, plan: plan}, nil
}

// modelDocument returns the document of a model file.
func modelDocument(m *model, file string) document {
	d := document{
		title: "A model and its guarantee", seen: "this model", guarantee: m.Guarantee, report: reportOf(m), model: m,
		file: file, buy: buy(m, file),
	}
	if text, err := m.Text(); err == nil {
		d.judged = &judgement{Verdict: checker.Check(text)}
	}
	return d
}

// savedPage writes the page of a model that received its name by --resume, if a page is requested.
func (a *app) savedPage(out *files.Output, r *runOutcome) error {
	if out == nil || r.Model == "" {
		return nil
	}
	m, err := readModel(r.Model)
	if err != nil {
		return err
	}
	l, err := ledger.Open(r.Ledger)
	if err != nil {
		return err
	}
	return a.chargedPage(out, modelDocument(m, r.Model), l, r.DataID)
}

// page returns the page of a search.
func (r *searchResult) page(m *model, planned privacy.Guarantee) document {
	d := document{title: "A private choice", guarantee: r.Guarantee, planned: planned, seen: "the choice",
		report: &r.Report}
	if m != nil {
		d.model, d.file, d.seen = m, cmp.Or(r.Model, r.Winner), "the choice and its model"
	}
	rows := [][2]string{{"winner", r.Winner}, {"road", r.Road},
		{"chosen on", fmt.Sprintf("%d training records or persons", r.Records)}}
	if r.AUC != nil {
		rows = append(rows, [2]string{"best released AUC of several, on the training records",
			fmt.Sprintf("%.4f", *r.AUC)})
	}
	d.sections = []page.Section{{ID: "winner", Title: "Chosen candidate",
		Tables: []page.Table{table("The choice", rows...)}}}
	if d.buy = r.Command; r.Command == "" && m != nil {
		d.buy = buy(m, d.file)
	}
	return d
}
