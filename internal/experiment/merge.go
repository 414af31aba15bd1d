package experiment

import (
	"fmt"
	"slices"
	"strings"

	"dyad/internal/input"
)

// Merge joins the result files of the parts of a plan into one file at path. The result has the bytes that one
// run would have written, except for the times. Merge returns an error if runs are missing, if files disagree
// about the plan, the data or a run, or if two files have the same part.
func (p *Plan) Merge(path string, parts ...string) error {
	all := &table{rows: map[Row]Row{}}
	files, count := map[string]string{}, "" // of the parts that say which they are, and their number
	for _, part := range parts {
		t, _, err := p.readTable(part)
		if err != nil {
			return err
		}
		if len(t.rows) == 0 {
			return input.As(fmt.Errorf("experiment: %s has no rows", part))
		}
		if which := t.part(); which != "" {
			_, of, _ := strings.Cut(which, "/")
			switch {
			case files[which] != "":
				return input.As(fmt.Errorf("experiment: %s and %s both have %s", files[which], part, which))
			case count != "" && of != count:
				return input.As(fmt.Errorf("experiment: %s has %s, but another file is from a run of %s parts",
					part, which, count))
			}
			files[which], count = part, of
			t.comments = slices.DeleteFunc(t.comments, func(c string) bool { return c == which })
		}
		var data []string
		for _, c := range all.comments {
			if strings.HasPrefix(c, "data ") {
				data = append(data, c)
			}
		}
		if err := p.checkTable(part, t, data); err != nil {
			return err
		}
		for _, c := range t.comments {
			if want := fmt.Sprintf("plan %s %s;", p.name, p.digest); strings.HasPrefix(c, "plan ") &&
				!strings.HasPrefix(c, want) {
				return input.As(fmt.Errorf("experiment: %s belongs to another version of the plan (%s); run the "+
					"plan again to add the missing runs", part, c))
			}
		}
		all.comments = append(all.comments, t.comments...)
		for key, row := range t.rows {
			if old, twice := all.rows[key]; twice && old != row {
				return input.As(fmt.Errorf("experiment: %s and an earlier file have different outcomes for %s", part,
					strings.TrimSpace(row.line())))
			}
			all.rows[key] = row
		}
	}
	for _, b := range p.blocks() {
		for _, r := range b.runs {
			if _, ok := all.rows[r.row.key()]; !ok {
				return input.As(fmt.Errorf("experiment: runs are missing: only %d of %d are there; first missing "+
					"run: %s split %d %s", len(all.rows), p.Runs(), r.group(), r.row.Split, r.method.label()))
			}
		}
	}
	return p.write(path, all)
}

// Rows reads the results of a plan from a file, in the order of the plan.
func (p *Plan) Rows(path string) ([]Row, error) {
	t, _, err := p.readTable(path)
	if err != nil {
		return nil, err
	}
	return p.rows(t), p.checkTable(path, t, nil)
}
