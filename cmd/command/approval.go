package command

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/internal/page"
	"dyad/privacy"
)

// studyFlags are the flags for the contents of an approval page besides the plan.
type studyFlags struct {
	Report      string  `writes:"page" needs:"schema" why:"it shows the columns with their ranges" placeholder:"FILE.html" help:"Also write a page for approval before any data are read: study, columns, ranges, risk, releases, expected AUC interval."`
	Study       string  `needs:"report" placeholder:"TEXT" help:"Name of the study, for --report."`
	Institution string  `needs:"report" placeholder:"TEXT" help:"Institution, for --report."`
	Purpose     string  `needs:"report" placeholder:"TEXT" help:"Purpose of the analysis, for --report."`
	Responsible string  `needs:"report" placeholder:"TEXT" help:"Responsible person, for --report."`
	Language    string  `default:"en" enum:"en,de,fr" help:"Language of --report: en, de or fr."`
	Needs       float64 `default:"0.2" positive:"" placeholder:"W" help:"Largest acceptable width of the AUC's 95 % interval. The expected width should be smaller."`
	Force       bool    `help:"Replace an existing file."`
}

// approvedFlag is the flag that names an approved page.
type approvedFlag struct {
	Approved string `not:"seed public-data exact-figures" why:"the page states secret noise, a charge, and either private figures or none" placeholder:"FILE.html" help:"Page of \"dyad plan --report\" that was approved. A run with another plan or other columns is refused; the SHA-256 of the page goes into the ledger and the model."`
}

// schemaDigest returns the hash of a schema without its description and without the keys for cutting a file
// into fields.
func schemaDigest(of *dataset.Schema) (string, error) {
	s := *of
	s.Version, s.Description, s.Format, s.CSV, s.Sheet, s.IgnoreOthers, s.Arrays, s.LabelsFile = 0, "", "",
		dataset.Schema{}.CSV, "", false, nil, ""
	s.Store = cmp.Or(s.Store, dataset.StoreFloat64)
	text, err := json.Marshal(s)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// figuresDigest returns the hash of the recorded plan of an evaluation. The file of the figures has the same hash. It
// returns "" if there is no evaluation. The hash does not depend on the model, which is trained later and is named by
// the objective.
func figuresDigest(held *lib.FigurePlan) (string, error) {
	if held == nil {
		return "", nil
	}
	record, err := held.Record()
	return algorithms.RecordHash(record), err
}

// read returns the approved page and its digest, or nil without the flag.
func (f approvedFlag) read() (*page.Approved, string, error) {
	if f.Approved == "" {
		return nil, "", nil
	}
	text, err := os.ReadFile(f.Approved)
	if err != nil {
		return nil, "", asInput(err)
	}
	a, err := page.ReadApproved(text)
	if err != nil {
		return nil, "", badInput("--approved %s: %s", f.Approved, err)
	}
	sum := sha256.Sum256(text)
	return a, hex.EncodeToString(sum[:]), nil
}

// agrees returns an error if a run differs from the approved run; otherwise it returns the digest of the page.
func (f approvedFlag) agrees(p *algorithms.Plan, held *lib.FigurePlan, s *dataset.Schema,
	dataID string) (string, error) {
	a, digest, err := f.read()
	if a == nil || err != nil {
		return "", err
	}
	columns, err := schemaDigest(s)
	if err != nil {
		return "", err
	}
	plan, err := p.Digest()
	if err != nil {
		return "", err
	}
	figures, err := figuresDigest(held)
	if err != nil {
		return "", err
	}
	problem, grouped, sizes := p.Spec.Kernel.Problem(), "", ""
	if problem.Groups != nil {
		grouped, sizes = "no or other query groups, ", ", and set the group sizes by --set group-sizes=S,..."
	}
	for _, part := range []struct {
		differs            bool
		name, with, remedy string
	}{
		{dataID != "" && dataID != s.DataID, "data id",
			fmt.Sprintf("it is %q on the page, and --data-id is %q", s.DataID, dataID),
			"leave --data-id out"},
		{columns != a.Schema, "schema",
			"columns, ranges or categories, missing values, persons, basis, interactions or --store differ",
			"restore the schema"},
		{figures != "" && figures != a.Figures, "evaluation of held-out records",
			"another number of held-out records, or another epsilon",
			"repeat --holdout and --holdout-epsilon of \"dyad plan\""},
		{plan != a.Plan, fmt.Sprintf("plan than this run with n = %d", problem.N),
			grouped + "another number of records, another epsilon or delta, or another option",
			"repeat the flags of \"dyad plan\"" + sizes},
	} {
		if part.differs {
			return "", badInput("--approved %s: the page approves another %s (%s); %s, or have a new page approved", f.Approved,
				part.name, part.with, part.remedy)
		}
	}
	return digest, nil
}

// filled returns the approved page with the results of the run filled in. It refuses the page of another model. The page
// allows one run, so it tells how many runs the ledger charged with it. spent is nil if the ledger is not known.
func (f approvedFlag) filled(m *model, figures *privateResult, spent *charges) ([]byte, error) {
	a, digest, err := f.read()
	if err != nil {
		return nil, err
	}
	if m.Approved != digest {
		return nil, badInput("--approved %s: the model %s; its SHA-256 is %s", f.Approved,
			pick(m.Approved == "", "was trained without an approved page", "was trained with the page "+m.Approved), digest)
	}
	columns, err := schemaDigest(m.Encoder.Schema())
	if err != nil {
		return nil, err
	}
	t, err := page.TextsOf(a.Language)
	if err != nil {
		return nil, err
	}
	var changed []string
	// A result of public data has no plan.
	if columns != a.Schema || m.DataID != m.Encoder.Schema().DataID ||
		m.Plan != nil && algorithms.RecordHash(m.Plan) != a.Record {
		return nil, badInput("--approved %s: the page approves a plan or schema that is not this model's; check "+
			`the model with "dyad verify"`, f.Approved)
	}
	if figures != nil && figures.plan != "" && figures.plan != a.Figures {
		changed = append(changed, t.Of("other_figures", t.Number(up(figures.Guarantee.Epsilon))))
	}
	runs := 0
	if spent != nil {
		for _, r := range spent.runs {
			if r.approved == digest {
				runs++
			}
		}
	}
	if runs > 1 {
		changed = append(changed, t.Of("other_runs", fmt.Sprint(runs)))
	}
	if spent == nil || spent.away != "" {
		changed = append(changed, t.Of("no_ledger"))
	}
	if changed == nil {
		changed = []string{t.Of("nothing")}
	}
	rows := [][2]string{{t.Of("changed"), strings.Join(changed, "; ")}, {t.Of("run"), m.Run},
		{t.Of("made"), m.Created.Format(time.DateOnly)},
		{t.Of("page_digest"), digest}}
	if figures != nil && figures.Figures.AUC != nil {
		x := *figures.Figures.AUC
		text := t.Of("to", t.Number(x.Low), t.Number(x.High))
		rows = append(rows, [2]string{t.Of("auc"), pick(x.Vague(), text, t.Number(x.Value)+" ("+text+")")})
	}
	return a.Filled(rows), nil
}

// write writes the page of a plan if it is requested. held is the plan of the figures of heldOut records or persons, or
// nil if there are none.
func (f studyFlags) write(a *app, p *algorithms.Plan, held *lib.FigurePlan, heldOut int, s *dataset.Schema) error {
	out, err := files.NewOutput(f.Report, f.Force)
	if err != nil || out == nil {
		return err
	}
	d, err := f.page(p, held, heldOut, s)
	if err != nil {
		return err
	}
	text, err := d.Bytes()
	if err == nil {
		err = out.Write(files.Shared, text)
	}
	if err == nil {
		a.note("dyad: the page is %s", out.Asked)
	}
	return err
}

// page returns the page of a plan, of whose data heldOut records or persons do not train. It contains public numbers
// only.
func (f studyFlags) page(p *algorithms.Plan, held *lib.FigurePlan, heldOut int,
	s *dataset.Schema) (d page.Approval, err error) {
	if d.Texts, err = page.TextsOf(f.Language); err != nil {
		return d, err
	}
	t, problem, g := d.Texts, p.Spec.Kernel.Problem(), p.Guarantee
	both, err := inAll(p, held)
	if err != nil {
		return d, err
	}
	if both != nil {
		both.Warnings, g = append(both.Warnings, g.Warnings...), *both
	}
	all := fmt.Sprint(problem.N + heldOut)
	unit, risk := t.Of("unit_record", all), "risk_record"
	if problem.PersonRows > 0 {
		unit, risk = t.Of("unit_person", fmt.Sprint(problem.PersonRows), all), "risk_person"
	}
	if heldOut > 0 {
		unit += t.Of("parts", fmt.Sprint(problem.N), fmt.Sprint(heldOut))
	}
	about := s.DataID + pick(s.Description != "", ": "+s.Description, "")
	d.Facts = [][2]string{
		{t.Of("study"), f.Study}, {t.Of("institution"), f.Institution}, {t.Of("purpose"), f.Purpose},
		{t.Of("responsible"), f.Responsible},
		{t.Of("date"), time.Now().Format(time.DateOnly)}, {t.Of("data"), about}, {t.Of("unit"), unit},
	}
	d.Facts = append(d.Facts, basisFact(t, s)...)
	if s.Public {
		d.Broken = append(d.Broken, "the schema declares the data public: a run would charge nothing and give no guarantee")
	}
	for _, w := range append(slices.Clone(g.Warnings), p.Warnings()...) {
		switch {
		case slices.Contains(void, w) && !slices.Contains(d.Broken, w):
			d.Broken = append(d.Broken, w)
		case !slices.Contains(void, w) && !slices.Contains(d.Warnings, w):
			d.Warnings = append(d.Warnings, w)
		}
	}
	if d.Risk = t.Of("no_risk"); g.Kind != privacy.None && d.Broken == nil {
		d.Risk = t.Of(risk, g.SuccessPercent())
		d.Terms = t.Of("terms", t.Number(up(g.Epsilon)), t.Number(up(g.Delta)))
	}
	d.Columns, d.Releases = columnsTable(t, s), releasesTable(t, p, held)
	f.expected(&d, held)
	for k := 1; k <= 5; k++ {
		key := fmt.Sprintf("not_%d", k)
		if problem.PersonRows > 0 && k == 5 { // rows above the cap do not count
			key = "not_two_ids"
		}
		d.NotCovered = append(d.NotCovered, t.Of(key))
	}
	d.Assumptions = shortened(p.Guarantee.Assumptions)
	derivation := p.Guarantee.Derivation
	if held != nil {
		derivation += "; " + held.Guarantee.Derivation
	}
	var anchors []string
	for _, why := range strings.Split(derivation, "; ") {
		linked, cited := page.Cited(manyDigits.ReplaceAllStringFunc(why, shortNumber))
		d.Derivations, anchors = append(d.Derivations, linked), append(anchors, cited...)
	}
	for k, anchor := range anchors {
		if theorem, ok := page.TheoremOf(anchor); ok && !slices.Contains(anchors[:k], anchor) {
			d.Theorems = append(d.Theorems, theorem)
		}
	}
	if d.Plan, err = p.Digest(); err != nil {
		return d, err
	}
	record, err := p.Record()
	if d.Record = algorithms.RecordHash(record); err != nil {
		return d, err
	}
	if d.Figures, err = figuresDigest(held); err != nil {
		return d, err
	}
	d.Schema, err = schemaDigest(s)
	d.Version = version
	return d, err
}

// up rounds a positive number up to three significant digits.
func up(x float64) float64 {
	if x <= 0 {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return math.Ceil(x/unit*(1-1e-12)) * unit
}

var manyDigits = regexp.MustCompile(`\d+\.\d{5,}(e[-+]?\d+)?`)

// shortNumber shortens a number to four significant digits.
func shortNumber(text string) string {
	var x float64
	if _, err := fmt.Sscan(text, &x); err != nil {
		return text
	}
	return fmt.Sprintf("%.4g", x)
}

func shortened(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, manyDigits.ReplaceAllStringFunc(text, shortNumber))
	}
	return out
}

// columnsTable returns a table of the columns with all facts about them that the guarantee treats as public.
func columnsTable(t page.Texts, s *dataset.Schema) page.Table {
	table := page.Table{Caption: t.Of("columns"),
		Head: []string{t.Of("column"), t.Of("role"), t.Of("values"), t.Of("known")}}
	for _, c := range s.Columns {
		role := cmp.Or(c.Role, dataset.RoleFeature)
		values := strings.Join(c.Categories, ", ")
		switch {
		case role == dataset.RoleLabel && c.Positive != "":
			values = strings.TrimSuffix(c.Positive+" / "+c.Negative, " / ")
		case len(c.Range) == 2:
			values = t.Of("to", t.Number(c.Range[0]), t.Number(c.Range[1]))
		case c.Date != nil:
			values = t.Of("to", c.Date.From, c.Date.To)
		}
		known := c.KnownFrom
		switch {
		case c.FromData || s.BoundsFromData:
			known = t.Of("from_data")
		case known == "" && values != "":
			known = t.Of("schema")
		}
		table.Rows = append(table.Rows, []page.Cell{{Text: c.Name, Head: true}, {Text: t.Of("role_" + role)}, {Text: values},
			{Text: known}})
	}
	return table
}

// releasesTable returns the table of the releases of the training and of the figures. The names of releases are
// in English.
func releasesTable(t page.Texts, p *algorithms.Plan, held *lib.FigurePlan) page.Table {
	table := page.Table{Caption: t.Of("releases"),
		Head: []string{"", t.Of("release"), t.Of("numbers"), t.Of("moves"), t.Of("noise")}}
	add := func(of string, rows algorithms.Releases) {
		for _, r := range rows {
			moves, noise := "–", "–"
			if r.Noise != nil {
				moves, noise = t.Number(r.Certificate.Sensitivity()), t.Number(r.Deviation())
			}
			name, language := t.Release(r.Name)
			numbers := pick(r.Times > 1, fmt.Sprintf("%d × ", r.Times), "") + fmt.Sprint(r.Coordinates)
			table.Rows = append(table.Rows, []page.Cell{{Text: of, Head: true}, {Text: name, Class: language}, {Text: numbers},
				{Text: moves}, {Text: noise}})
		}
	}
	add(t.Of("training"), p.Releases)
	if held != nil {
		add(t.Of("evaluation"), held.Releases)
	}
	return table
}

// expected adds the expected interval of the AUC and the verdict for the purpose.
func (f studyFlags) expected(d *page.Approval, held *lib.FigurePlan) {
	t := d.Texts
	if d.Verdict, d.Class = f.verdict(t, held); held == nil {
		return
	}
	d.ExpectedWhy = t.Of("expected_why", t.Number(held.Guarantee.Epsilon), heldOut(t, held))
	d.Expected = page.Table{Caption: t.Of("expected"), Head: []string{t.Of("true_auc"), t.Of("half"), t.Of("tenth")}}
	for _, auc := range []float64{0.6, 0.75, 0.9} {
		row := []page.Cell{{Text: t.Number(auc), Head: true}}
		for _, share := range []float64{0.5, 0.1} {
			x := held.Expect(auc, share, defaultConfidence)
			row = append(row, page.Cell{Text: t.Of("to", t.Number(x.Low), t.Number(x.High))})
		}
		d.Expected.Rows = append(d.Expected.Rows, row)
	}
}

// heldOut returns the number of records or persons that the figures are about.
func heldOut(t page.Texts, held *lib.FigurePlan) string {
	return t.Of(pick(held.Options.PersonRows > 0, "of_persons", "of_records"), fmt.Sprint(held.Options.Records))
}

// verdict returns the sentence whether the figures will be accurate enough for the purpose, and its class on a page.
func (f studyFlags) verdict(t page.Texts, held *lib.FigurePlan) (says, class string) {
	if held == nil {
		return t.Of("no_figures"), ""
	}
	x := held.Expect(0.75, 0.5, defaultConfidence)
	width, key := x.High-x.Low, "enough"
	if class = "enough"; width > f.Needs {
		class, key = "short", "not_enough"
	}
	says = t.Of(key, t.Number(width), t.Number(f.Needs))
	if x.Vague() {
		says += " " + t.Of("vague", t.Number(held.Guarantee.Epsilon), heldOut(t, held))
	}
	return says, class
}

// basisFact returns the row with the basis of a schema. There is none if every number is one feature.
func basisFact(t page.Texts, s *dataset.Schema) [][2]string {
	var all []string
	for _, c := range append([]dataset.Column{{Basis: s.Basis}}, s.Columns...) {
		if c.Basis != "" && c.Basis != dataset.BasisNone && !slices.Contains(all, c.Basis) {
			all = append(all, c.Basis)
		}
	}
	if all == nil {
		return nil
	}
	return [][2]string{{t.Of("basis"), t.Of("curves", strings.Join(all, ", "))}}
}
