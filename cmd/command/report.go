package command

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/internal/files"
	"dyad/internal/page"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// pageFlag is the flag that requests a page.
type pageFlag struct {
	Report string `writes:"page" placeholder:"FILE.html" help:"Also write an HTML page with guarantee, budget, figures and assumptions. All figures of private data in it are charged."`
}

// output makes sure, before anything is charged, that the page can be written. others are the inputs and the
// other outputs.
func (f pageFlag) output(force bool, others ...string) (*files.Output, error) {
	for _, other := range others {
		if f.Report != "" && other != "" && filepath.Clean(other) == filepath.Clean(f.Report) {
			return nil, badInput("--report %s names another file of this command; give the page a file of its own", f.Report)
		}
	}
	return files.NewOutput(f.Report, force, others...)
}

// document holds the contents of a page: released files, the ledger and public numbers. Field open is set for
// public data only. No other field is computed from records, except by a release.
type document struct {
	title     string
	command   []string
	seen      string // name of the release within a sentence
	guarantee privacy.Guarantee
	planned   privacy.Guarantee // for public data, the guarantee that the run would have on private data
	report    *algorithms.Report
	sections  []page.Section // sections of the command, after the guarantee
	figures   *privateResult // charged figures
	buy       string         // command that releases figures for a charge
	open      *openFigures
	charges   *charges
	model     *model
	file      string     // file of the model
	judged    *judgement // verdict on a file that others may have written

	// otherCharges are the charges of the figures, and of searches that chose the model, if they have other data ids.
	otherCharges []*charges
	chosen       []string // sentences that name these searches
}

// charges holds all charges of a data id.
type charges struct {
	spent *spending
	left  string
	runs  []chargedRun
	at    string // which delta the total is stated at
	away  string // name of an archive that is missing next to the ledger and may contain more charges
}

// chargesOf reads the charges from the ledger, which is nil for public data.
func chargesOf(l *ledger.Ledger, id string, delta float64) (*charges, error) {
	if l == nil {
		return nil, nil
	}
	at := "the delta of this release"
	if delta == 0 {
		delta, at = 1e-5, "as this release has none"
	}
	c := &charges{at: at, left: "no cap is set, so the ledger refuses nothing (dyad ledger init sets a cap)"}
	var err error
	if c.spent, err = spendingOf(l, id, delta); err != nil {
		return nil, err
	}
	more, limit, capped, err := l.Room(id)
	if err != nil {
		return nil, err
	}
	if capped {
		c.left = fmt.Sprintf("no budget; the cap is epsilon = %g at delta = %g", limit.Epsilon, limit.Delta)
		if more > 0 {
			c.left = fmt.Sprintf("one more run may cost epsilon = %g; the cap is epsilon = %g at delta = %g", more,
				limit.Epsilon, limit.Delta)
		}
	}
	entries, away, err := l.History()
	c.runs, c.away = chargedRuns(entries, id), away
	return c, err
}

// alsoCharged adds the charges of figures whose data id differs from the model's, because they are of other records.
func (d *document) alsoCharged(l *ledger.Ledger, r *privateResult) error {
	if d.model == nil || r.DataID == d.model.DataID {
		return nil
	}
	c, err := chargesOf(l, r.DataID, r.Guarantee.Delta)
	if err != nil || c == nil || len(c.runs) == 0 {
		return err
	}
	d.otherCharges = append(d.otherCharges, c)
	return nil
}

// choosers returns the charges of searches that released the file with the given digest because they chose it among
// released models. run is the run that made the model.
func choosers(entries []ledger.Entry, digest, run string) (all []*ledger.Charge) {
	for _, end := range entries {
		if end.Status != ledger.StatusReleased || end.Kept.Digest != digest || end.Run == run {
			continue
		}
		for _, e := range entries {
			if e.Charge != nil && e.Run == end.Run {
				all = append(all, e.Charge)
			}
		}
	}
	return all
}

// chosenFrom adds the searches that chose the model by records of other data ids.
func (d *document) chosenFrom(l *ledger.Ledger) error {
	text, err := d.model.Text()
	if err != nil {
		return err
	}
	entries, _, err := l.History()
	if err != nil {
		return err
	}
	for _, by := range choosers(entries, files.Digest(text), d.model.Run) {
		d.chosen = append(d.chosen, fmt.Sprintf("Run %s chose this model by the records of data id %q. So the model "+
			"reveals information about these records, too.", by.Run, by.DataID))
		if by.DataID == d.model.DataID {
			continue
		}
		c, err := chargesOf(l, by.DataID, d.model.Guarantee.Delta)
		if err != nil {
			return err
		}
		d.otherCharges = append(d.otherCharges, c)
	}
	return nil
}

// writePage writes the page of a document. The charged result must be printed and saved before.
func (a *app) writePage(out *files.Output, d document) error {
	if out == nil {
		return nil
	}
	d.command = append([]string{"dyad"}, a.args...)
	text, err := d.text()
	if err == nil {
		err = out.Write(files.Shared, text)
	}
	if err != nil {
		again := ""
		if d.file != "" {
			again = fmt.Sprintf("; the model is saved, and \"dyad report %s\" makes its page at no cost", d.file)
		}
		return fmt.Errorf("the page is not written: %w%s", err, again)
	}
	a.note("dyad: the page is %s", out.Asked)
	return nil
}

// chargedPage is like writePage, with the charges of a data id at the delta of the document.
func (a *app) chargedPage(out *files.Output, d document, l *ledger.Ledger, id string) (err error) {
	if d.charges == nil && out != nil {
		if d.charges, err = chargesOf(l, id, d.guarantee.Delta); err != nil {
			return err
		}
	}
	return a.writePage(out, d)
}

// text returns the page.
func (d document) text() (_ []byte, err error) {
	if d.figures != nil && d.model != nil {
		d.title = "A model, its guarantee and figures"
	}
	r := page.Report{Title: d.title, Words: glossary(),
		About: fmt.Sprintf("Written by dyad %s. This file loads nothing from elsewhere.", version)}
	if r.Facts, err = d.facts(); err != nil {
		return nil, err
	}
	r.Verdict, r.Class = d.verdict()
	if d.guarantee.Kind != "" { // an audit has no guarantee of its own
		r.Sections = append(r.Sections, d.promise(), d.charged())
	}
	r.Sections = append(r.Sections, d.sections...)
	quality, err := d.quality()
	if err != nil {
		return nil, err
	}
	r.Sections = append(r.Sections, quality...)
	if d.model != nil {
		r.Sections = append(r.Sections, columnsSection(d.model))
		curves, err := curvesSection(d.model)
		if err != nil {
			return nil, err
		}
		r.Sections = append(append(r.Sections, curves), weightsSection(d.model)...)
	}
	if d.report != nil {
		r.Sections = append(r.Sections, d.schedule())
	}
	r.Sections = append(r.Sections, d.again())
	r.Sections = slices.DeleteFunc(r.Sections, func(s page.Section) bool { return s.ID == "" })
	var b bytes.Buffer
	err = r.Write(&b)
	return b.Bytes(), err
}

// promise returns the section with the guarantee in two sentences and with all its assumptions.
func (d document) promise() page.Section {
	g := d.guarantee
	s := page.Section{ID: "guarantee", Title: "The guarantee", Quote: g.Sentences(d.seen)}
	broken := ""
	for _, w := range g.Warnings {
		if slices.Contains(void, w) {
			broken = w
		}
	}
	switch {
	case g.Kind == privacy.Public:
		s.Text = append(s.Text, "No guarantee is needed: the data are declared public, and no budget was charged.")
		if q := d.planned.Sentences(d.seen); q != nil {
			s.Text = append(s.Text, "On private data this run would have this guarantee:")
			s.Text = append(s.Text, q...)
		}
		g.Warnings = nil // the warnings repeat the text
	case s.Quote == nil:
		s.Text = append(s.Text, "There is no privacy guarantee.")
	case broken != "":
		s.Warnings = append(s.Warnings, "This guarantee does not hold: "+broken+". Without that it would be:")
		s.Text, s.Quote = s.Quote, nil
	case slices.Contains(g.Warnings, algorithms.DraftAway):
		broken = algorithms.DraftAway
		s.Warnings = append(s.Warnings, "This guarantee may not hold: "+broken+". If it does:")
		s.Text, s.Quote = s.Quote, nil
	}
	for _, w := range g.Warnings {
		if w != broken {
			s.Warnings = append(s.Warnings, w)
		}
	}
	if c := g.Claim; c != nil && !c.Holds {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s claims epsilon = %.6g, but its noise does not give this guarantee.",
			c.Source, c.Epsilon))
	}
	if d.judged != nil {
		s.Text = append(s.Text, "The independent checker (dyad verify) says: "+d.judged.Verdict.Verdict+". "+
			manyDigits.ReplaceAllStringFunc(sentence(d.judged.Statement+d.judged.Why), shortNumber)+".")
	}
	if d.judged != nil && !d.recomputed() && g.Kind != privacy.Public {
		s.Warnings = append(s.Warnings, "The numbers on this page come from the model file and were not recomputed.")
	}
	if g.Derivation != "" && !d.recomputed() {
		s.Text = append(s.Text, "Why: "+manyDigits.ReplaceAllStringFunc(g.Derivation, shortNumber)+".")
	}
	if g.Assumptions != nil {
		s.Text = append(s.Text, "It rests on these assumptions:")
		s.List = shortened(g.Assumptions)
	}
	return s
}

// charged returns the section with the spent and the remaining budget. It contains days and no times of day,
// because times would reveal how long records were read.
func (d document) charged() (s page.Section) {
	s = page.Section{ID: "charges", Title: "Charges and remaining budget"}
	switch {
	case d.charges != nil:
		d.charges.add(&s)
		s.Text = append(s.Text, d.chosen...)
		for _, other := range d.otherCharges {
			other.add(&s)
		}
		return s
	case d.guarantee.Kind == privacy.Public:
		s.Text = []string{"No budget was charged: the data are declared public."}
		return s
	case d.model != nil:
		s.Text = []string{"The ledger was not read. \"dyad report\" with --ledger FILE shows its charges."}
		return s
	default:
		return page.Section{}
	}
}

// add adds the charges of a data id to a section.
func (c *charges) add(s *page.Section) {
	total := "no finite epsilon"
	switch {
	case c.spent.Mixed:
		total = "no total, because the runs protect different units (" + c.spent.Unit + ")"
	case c.spent.Epsilon != nil:
		total = fmt.Sprintf("epsilon %s at delta = %.4g, %s", privacy.FormatUp(*c.spent.Epsilon), c.spent.Delta, c.at)
	}
	s.Text = append(s.Text, fmt.Sprintf("Runs charged to the data id %q: %d. Total: %s. Left: %s.", c.spent.DataID,
		c.spent.Runs, total, c.left))
	if c.spent.Runs > 1 && !c.spent.Mixed {
		looking := "no finite epsilon"
		if c.spent.Looking != nil {
			looking = "epsilon " + privacy.FormatUp(*c.spent.Looking)
		}
		s.Text = append(s.Text, fmt.Sprintf("The total and the remaining budget assume that all budgets were fixed "+
			"before the first run. If budgets depended on earlier results, the total is %s at delta = %.4g.",
			looking, c.spent.Delta))
	}
	holds := c.away == "" && !slices.ContainsFunc(c.runs,
		func(r chargedRun) bool { return r.FromData || r.DraftAway || r.Seeded })
	if c.spent.Epsilon != nil && !c.spent.Mixed && c.spent.Unit != "" && c.spent.Runs > 1 && holds {
		all := algorithms.Stated(c.spent.Unit, *c.spent.Epsilon, c.spent.Delta, c.spent.Mu)
		s.Text = append(s.Text, "With budgets that were fixed before the first run: "+
			all.Sentences("everything that was released from them")[0])
	}
	t := page.Table{Caption: "Charges on " + c.spent.DataID,
		Head: []string{"run", "charged", "algorithm", "guarantee", "state"}}
	for _, r := range c.runs {
		state := "holds"
		switch {
		case r.FromData || r.Seeded:
			state = "does not hold"
		case r.DraftAway:
			state = "not known"
		}
		t.Add(r.Run, r.Charged.Format(time.DateOnly), r.Algorithm, r.Guarantee, state)
	}
	s.Tables = append(s.Tables, t)
}

// again returns the section that describes how to repeat the release and how to check it.
func (d document) again() page.Section {
	s := page.Section{ID: "reproduce", Title: "How to reproduce and check it"}
	rows := [][2]string{{"version", "dyad " + version}}
	if m := d.model; m != nil {
		rows[0][1] = "dyad " + m.Version
		rows = append(rows, [2]string{"model", d.file}, [2]string{"created", m.Created.Format(time.RFC3339)},
			[2]string{"data id", m.DataID})
		if m.Run != "" {
			rows = append(rows, [2]string{"run", m.Run})
		}
		if m.Plan != nil {
			rows = append(rows, [2]string{"plan", algorithms.RecordHash(m.Plan)})
		}
		s.Text = append(s.Text,
			"Anybody who has the model can check its guarantee with independent code:")
		s.Code = append(s.Code, "dyad verify "+shell(d.file))
	}
	if d.command != nil {
		s.Code = append(s.Code, shell(d.command...))
	}
	if d.charges != nil {
		s.Text = append(s.Text,
			"The noise is random, so the same command again gives another release and another charge.")
	}
	s.Tables = append(s.Tables, table("Versions", rows...))
	return s
}

// sentence returns the text with a capital first letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// table returns a table with one row for each pair of a name and a value.
func table(caption string, rows ...[2]string) page.Table {
	t := page.Table{Caption: caption}
	for _, r := range rows {
		t.Add(r[:]...)
	}
	return t
}

// glossary returns the entries of "dyad help words".
func glossary() (all []page.Word) {
	for line := range strings.Lines(wordsTopic) {
		name, text, found := strings.Cut(strings.TrimRight(line, "\n"), "  ")
		switch {
		case !found:
		case name != "":
			all = append(all, page.Word{Name: name, Means: strings.TrimSpace(text)})
		case len(all) > 0:
			all[len(all)-1].Means += " " + strings.TrimSpace(text)
		}
	}
	return all
}
