package command

import (
	"fmt"
	"os"
	"strings"

	"dyad/engine/dataset"
	"dyad/internal/page"
)

type dataInspectCmd struct {
	File       []string `arg:"" help:"Data file. Several files, a folder or a pattern are read as one."`
	Schema     string   `required:"" placeholder:"FILE" help:"Schema of the data (YAML); \"dyad data schema FILE\" drafts one."`
	PublicData bool     `help:"As in train. The figures may be published."`
	labelsFlag
}

// privateFigures is the warning of inspect.
const privateFigures = `!!! Computed from PRIVATE data: every figure below reveals something about single records, and
!!! no guarantee covers the figures. Do not publish them, and do not use them to set ranges.
!!! (If the data are public, add --public-data.)
`

type inspectResult struct {
	File    string `json:"file"`
	Public  bool   `json:"public"`
	Warning string `json:"warning,omitempty"`
	*dataset.Summary
	// MayNamePersons lists columns that look like identifiers and whose values repeat. It is set for a schema
	// without a column of persons.
	MayNamePersons []string `json:"may_name_persons,omitempty"`
	PersonCap      int      `json:"max_rows_per_person,omitempty"` // rows of a person that count in a run
}

// Run describes the file.
func (c *dataInspectCmd) Run(a *app) error {
	s, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return asInput(err)
	}
	progress, done := a.rowProgress("reading")
	m, err := dataset.Summarize(c.File[0], s, c.options(dataset.Options{Progress: progress, Also: c.File[1:]}))
	var repeats []string
	if info, e := os.Stat(c.File[0]); len(c.File) == 1 && err == nil && e == nil && info.Mode().IsRegular() &&
		!s.ByPerson() {
		repeats, _ = dataset.MayNamePersons(c.File[0], progress) // only a hint; Summarize has already read the file
	}
	done()
	if err := a.asInput(err); err != nil {
		return err
	}
	r := inspectResult{File: strings.Join(c.File, ", "), Public: c.PublicData || s.Public, Summary: m,
		MayNamePersons: repeats}
	if s.ByPerson() {
		r.PersonCap = s.PersonCap()
	}
	r.Warning = pick(r.Public, "", strings.ReplaceAll(strings.TrimSpace(privateFigures), "\n", " "))
	if err := a.emit(r, r.text()); err != nil {
		return err
	}
	return asInput(m.Problem)
}

// maxInspected is the largest number of columns in the text. The output of --json has all columns.
const maxInspected = 60

func (r *inspectResult) text() string {
	var b strings.Builder
	b.WriteString(pick(r.Public, "", privateFigures))
	fmt.Fprintf(&b, "data    %s (data id %s): %d rows, %d columns, %d features\n", r.File, r.DataID, r.Rows,
		len(r.Columns), r.Features)
	switch {
	case !r.Labels:
		fmt.Fprintf(&b, "label   %s: not in the file\n", r.Label)
	case r.Grades != nil:
		fmt.Fprintf(&b, "label   %s: graded, %g to %g in the range [%g, %g]\n", r.Label, r.Grades.Min, r.Grades.Max,
			r.Grades.Range[0], r.Grades.Range[1])
	default:
		fmt.Fprintf(&b, "label   %s: %d positive, %d negative\n", r.Label, r.Positives, r.Negatives)
	}
	if r.Groups > 0 {
		fmt.Fprintf(&b, "groups  %d, of up to %d rows\n", r.Groups, r.LargestGroup)
	}
	switch {
	case r.Persons > 0:
		fmt.Fprintf(&b, "persons %d in %s; all rows of a person (up to %d) are protected together%s\n", r.Persons, r.IDs,
			max(r.RowsOfID, 1), pick(r.RowsOfID > r.PersonCap, fmt.Sprintf("; a run takes the first %d, but these figures "+
				"count all", r.PersonCap), ""))
	case r.RowsOfID > 0:
		fmt.Fprintf(&b, "ids     %s: up to %d rows have the same id; if each id is a person, set role: person to "+
			"protect all rows of a person\n", r.IDs, r.RowsOfID)
	}
	for _, name := range r.MayNamePersons {
		if name != r.IDs {
			fmt.Fprintf(&b, "repeats %s has repeated values; if it names persons, set role: person to protect "+
				"their rows together\n", name)
		}
	}
	b.WriteByte('\n')
	t := page.Table{Head: []string{"column", "public range", "values", "used", "clamped", "missing"}}
	for i, c := range r.Columns {
		if i == maxInspected {
			t.Add(fmt.Sprintf("... %d more (--json shows all)", len(r.Columns)-i))
			break
		}
		if c.Kind == dataset.KindCategorical {
			t.Add(c.Name, categoryCounts(c), "", "", "", fmt.Sprint(c.Missing))
			continue
		}
		scale := pick(c.Transform != "", " "+c.Transform, "")
		t.Add(c.Name, fmt.Sprintf("[%g, %g]%s", c.Range[0], c.Range[1], scale), fmt.Sprintf("%.6g to %.6g", c.Min, c.Max),
			fmt.Sprintf("%.0f%%", 100*c.Used), fmt.Sprint(c.Clamped), fmt.Sprint(c.Missing))
	}
	return b.String() + t.Text()
}

// categoryCounts returns the numbers of rows of the first categories of the schema.
func categoryCounts(c dataset.ColumnSummary) string {
	const most = 6
	var parts []string
	for i, name := range c.Categories {
		if i == most {
			parts = append(parts, fmt.Sprintf("... %d more", len(c.Categories)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", name, c.Counts[i]))
	}
	return strings.Join(parts, ", ")
}
