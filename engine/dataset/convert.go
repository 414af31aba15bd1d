package dataset

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"dyad/engine/dataset/schema"
)

// ConvertOptions are the options of Convert. The zero value writes raw rows.
type ConvertOptions struct {
	// Encoded writes the records as Load encodes them: numbers scaled by the public ranges, norm at most 1,
	// labels in [-1, 1]. If it is false, the columns keep their names and values, and columns with role ignore
	// are left out.
	Encoded bool
	// The fields Also, LabelsFile and Progress have the same meaning as in Options.
	Also       []string
	LabelsFile string
	Progress   func(rows int) error
}

// Convert reads the file `in` with schema s and writes the rows of the file to w. The format is csv or
// parquet. It returns the number of rows. If rows are not encoded, it also returns a schema that reads the
// output. That schema gives the same records, except that sparse LIBSVM rows become dense rows.
func Convert(in string, s *schema.Schema, w io.Writer, format string,
	o ConvertOptions) (rows int, out *schema.Schema, err error) {
	e, err := schema.NewEncoder(s)
	if err != nil {
		return 0, nil, err
	}
	if format != schema.FormatCSV && format != schema.FormatParquet {
		return 0, nil, fmt.Errorf("dataset: cannot write format %q; want csv or parquet", format)
	}
	c := &converter{e: e, format: format, encoded: o.Encoded, groups: map[string]int{}}
	// The first pass checks all rows and finds out whether they have labels.
	load := Options{Labels: LabelsOptional, KeepIDs: true, LabelsFile: o.LabelsFile, Progress: o.Progress, Also: o.Also}
	labels := false
	err = Scan(in, s, load, func(r *schema.Row) error {
		labels = r.Label != ""
		rows++
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	c.addColumns(labels)
	open := csvSink
	if format == schema.FormatParquet {
		open = parquetSink
	}
	to, err := open(w, c.columns)
	if err != nil {
		return 0, nil, err
	}
	row := make([]cell, len(c.columns))
	err = Scan(in, s, load, func(r *schema.Row) error {
		x, err := c.features(r)
		if err != nil {
			return err
		}
		for i := range row {
			row[i] = c.columns[i].of(r, x)
		}
		return to.write(row)
	})
	if err != nil {
		return 0, nil, err
	}
	if !c.encoded {
		out = c.outSchema()
	}
	return rows, out, to.close()
}

// converter turns the rows of a file into rows of the output.
type converter struct {
	e       *schema.Encoder
	format  string
	encoded bool // features, labels and groups are written as numbers
	columns []outColumn
	x       []float64 // numbers of a sparse row
	groups  map[string]int
}

// addColumns lists the columns of the output in the order of the schema. Two kinds of columns differ from that
// order: numbered features come first, and encoded columns are ordered features, label, group, id.
func (c *converter) addColumns(labels bool) {
	s, features := c.e.Schema(), 0
	add := func(name string, number bool, of func(r *schema.Row, x []float64) cell) {
		c.columns = append(c.columns, outColumn{name, number, of})
	}
	feature := func(name string, number bool) {
		k := features
		features++
		add(name, number, func(r *schema.Row, x []float64) cell {
			if x == nil {
				return cell{r.Fields[k], textNumber(r.Fields[k])}
			}
			return cell{number: x[k]}
		})
	}
	switch {
	case c.encoded:
		for _, name := range c.e.FeatureNames() {
			feature(name, true)
		}
	case s.ByIndex():
		for k := range c.e.Width() {
			f, _ := c.e.Feature(k)
			feature(c.e.FeatureName(k), f.Numeric)
		}
	}
	columns := slices.Clone(s.Columns)
	if c.encoded {
		rank := func(c *schema.Column) int {
			return slices.Index([]string{schema.RoleLabel, schema.RoleGroup, schema.RoleID}, c.RoleOf())
		}
		slices.SortStableFunc(columns, func(a, b schema.Column) int { return rank(&a) - rank(&b) })
	}
	for i := range columns {
		switch col := &columns[i]; {
		case col.RoleOf() == schema.RoleFeature && !c.encoded && !s.ByIndex():
			feature(col.Name, c.e.Listed(features).Numeric)
		case col.RoleOf() == schema.RoleLabel && labels && c.encoded:
			add(col.Name, true, func(r *schema.Row, _ []float64) cell { return cell{number: r.Y} })
		case col.RoleOf() == schema.RoleLabel && labels:
			add(col.Name, s.IsGraded(), func(r *schema.Row, _ []float64) cell {
				return cell{[]byte(r.Label), textNumber([]byte(c.e.TrimLabel(r.Label)))}
			})
		case col.RoleOf() == schema.RoleGroup && c.encoded:
			add(col.Name, true, func(r *schema.Row, _ []float64) cell { return cell{number: c.group(r.Group)} })
		case col.RoleOf() == schema.RoleGroup:
			add(col.Name, false, func(r *schema.Row, _ []float64) cell { return cell{text: []byte(r.Group)} })
		case col.RoleOf() == schema.RoleID:
			// the id as Load keeps it
			add(col.Name, false, func(r *schema.Row, _ []float64) cell {
				return cell{text: []byte(strings.ToValidUTF8(r.ID,
					"?"))}
			})
		}
	}
}

// features returns the features of a row as numbers. It returns nil if the row has texts.
func (c *converter) features(r *schema.Row) ([]float64, error) {
	switch {
	case c.encoded:
		return c.e.EncodeRow(r)
	case r.Fields != nil:
		return nil, nil
	case !c.e.Schema().ByPairs():
		return r.Value, nil
	}
	if c.x == nil {
		c.x = make([]float64, c.e.Width())
	}
	clear(c.x) // indices absent from the row stand for 0
	for j, k := range r.Index {
		c.x[k] = r.Value[j]
	}
	return c.x, nil
}

// group returns the number of a group. Groups are numbered from 0 in the order of their first appearance.
func (c *converter) group(id string) float64 {
	k, ok := c.groups[id]
	if !ok {
		k = len(c.groups)
		c.groups[id] = k
	}
	return float64(k)
}

// outSchema returns the schema of raw output.
func (c *converter) outSchema() *schema.Schema {
	s := c.e.Schema()
	out := &schema.Schema{
		DataID: s.DataID, Description: s.Description, Format: c.format, Public: s.Public,
		BoundsFromData: s.BoundsFromData, Draft: s.Draft, Missing: s.Missing, Basis: s.Basis, Interactions: s.Interactions,
		ChooseInteractions: s.ChooseInteractions,
	}
	out.CSV.Header = c.format == schema.FormatCSV
	if s.ByIndex() { // every numbered feature needs a named column
		for k := range c.e.Width() {
			col := schema.Column{Name: c.e.FeatureName(k), Range: s.Range}
			if i := slices.IndexFunc(s.Columns, func(l schema.Column) bool {
				return l.RoleOf() == schema.RoleFeature &&
					l.Position == k+1
			}); i >= 0 {
				col = s.Columns[i]
				col.Position = 0
			}
			out.Columns = append(out.Columns, col)
		}
	}
	for _, col := range s.Columns {
		role := col.RoleOf()
		if role == schema.RoleIgnore || role == schema.RoleFeature && s.ByIndex() {
			continue
		}
		col.Field, col.Position = "", 0
		if role == schema.RoleFeature && (col.Date != nil || col.Suffix != "") { // written as plain numbers
			lo, hi := col.Bounds()
			col.Range, col.Date, col.Suffix = []float64{lo, hi}, nil, ""
		}
		out.Columns = append(out.Columns, col)
	}
	return out
}
