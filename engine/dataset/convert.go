package dataset

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"dyad/engine"
)

// ConvertOptions of Convert. The zero value writes raw rows.
type ConvertOptions struct {
	// Encoded writes the records as Load makes them: numbers scaled by the
	// public ranges, within norm 1, labels in [-1, 1]. Otherwise the columns keep
	// their names and values, and columns with role ignore are left out.
	Encoded bool
	// LabelsFile and Progress are those of Options.
	LabelsFile string
	Progress   func(rows int) error
}

// ConvertFormats are the formats that Convert writes.
var convertFormats = [...]string{FormatCSV, FormatJSONL, FormatParquet, FormatLIBSVM, FormatNPZ}

// outColumn is a column of an output file.
type outColumn struct {
	name   string
	role   string
	number bool
}

// outRow is a row for a sink: numbers[i] for columns of numbers, NaN for missing,
// and texts[i] for the others, nil for missing. For numbers of raw rows, texts[i]
// is what the file had.
type outRow struct {
	texts   [][]byte
	numbers []float64
	index   []int32 // with value: the features of a sparse row, instead of numbers
	value   []float64
	y       float64
	group   int // from 0
}

// sink writes rows in one format.
type sink interface {
	write(*outRow) error
	close() error
}

// Convert reads the file in by s and writes its rows to w in a format: csv,
// jsonl, parquet, libsvm or npz. It returns the number of rows and, unless rows
// are encoded, the schema that reads the output: to the same records, except
// where sparse LIBSVM rows become dense ones. LIBSVM and NPZ hold numbers only:
// raw rows need numeric features, labels become 1 and -1 (graded ones stay) and
// groups are numbered.
func Convert(in string, s *Schema, w io.Writer, format string, o ConvertOptions) (rows int, out *Schema, err error) {
	e, err := NewEncoder(s)
	if err != nil {
		return 0, nil, err
	}
	if !slices.Contains(convertFormats[:], format) {
		return 0, nil, fmt.Errorf("dataset: cannot write format %q, want csv, jsonl, parquet, libsvm or npz", format)
	}
	load := Options{Labels: LabelsOptional, KeepIDs: true, LabelsFile: o.LabelsFile, Progress: o.Progress}
	if o.Encoded {
		rows, err = convertRecords(in, s, w, format, load)
		return rows, nil, err
	}
	c := &converter{e: e, name: in, format: format, groups: map[string]int{}}
	if err := c.checkNumbers(); err != nil {
		return 0, nil, err
	}
	// The first pass counts rows, which some formats begin with.
	err = Scan(in, s, load, func(r *Row) error {
		c.hasLabels = r.Label != ""
		rows++
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	c.addColumns()
	to, err := newSink(w, format, c.columns, rows, e.schema.IsGraded())
	if err != nil {
		return 0, nil, err
	}
	err = Scan(in, s, load, func(r *Row) error {
		if err := c.fill(r); err != nil {
			return err
		}
		return to.write(&c.row)
	})
	if err != nil {
		return 0, nil, err
	}
	return rows, c.outSchema(), to.close()
}

func newSink(w io.Writer, format string, columns []outColumn, rows int, graded bool) (sink, error) {
	switch format {
	case FormatJSONL:
		return newJSONSink(w, columns), nil
	case FormatParquet:
		return newParquetSink(w, columns)
	case FormatLIBSVM:
		return newLIBSVMSink(w, columns), nil
	case FormatNPZ:
		return newNPZSink(w, columns, rows)
	}
	return newCSVSink(w, columns)
}

// converter turns raw rows into rows of the output.
type converter struct {
	e         *Encoder
	name      string
	format    string
	hasLabels bool
	columns   []outColumn
	feature   []int // for each column, its place among the features
	row       outRow
	groups    map[string]int
}

// numbersOnly says that the output has no texts.
func (c *converter) numbersOnly() bool { return c.format == FormatLIBSVM || c.format == FormatNPZ }

func (c *converter) checkNumbers() error {
	for _, f := range c.e.columns {
		if c.numbersOnly() && !f.numeric {
			return fmt.Errorf("dataset: column %q is categorical, and %s holds numbers only; write encoded rows, or another format", f.name, c.format)
		}
	}
	return nil
}

// addColumns lists the columns of the output.
func (c *converter) addColumns() {
	s := c.e.schema
	add := func(name, role string, number bool, feature int) {
		c.columns = append(c.columns, outColumn{name, role, number})
		c.feature = append(c.feature, feature)
	}
	features := func() {
		for k := range c.e.width() {
			f, _ := c.e.feature(k)
			add(c.e.featureName(k), RoleFeature, f.numeric, k)
		}
	}
	if s.byIndex() || c.numbersOnly() {
		features()
	}
	named := 0
	for i := range s.Columns {
		switch col := &s.Columns[i]; col.role() {
		case RoleFeature:
			if !s.byIndex() && !c.numbersOnly() {
				add(col.Name, RoleFeature, c.e.columns[named].numeric, named)
				named++
			}
		case RoleLabel:
			if c.hasLabels {
				add(col.Name, RoleLabel, s.IsGraded() || c.numbersOnly(), -1)
			}
		case RoleID:
			if !c.numbersOnly() {
				add(col.Name, RoleID, false, -1)
			}
		case RoleGroup:
			add(col.Name, RoleGroup, c.numbersOnly(), -1)
		}
	}
	c.row.texts, c.row.numbers = make([][]byte, len(c.columns)), make([]float64, len(c.columns))
}

// fill sets the output row from a raw one.
func (c *converter) fill(r *Row) error {
	out := &c.row
	out.y = r.Y
	if c.e.group != nil {
		k, ok := c.groups[r.Group]
		if !ok {
			k = len(c.groups)
			c.groups[r.Group] = k
		}
		out.group = k
	}
	sparse := c.e.schema.IsLIBSVM()
	out.index, out.value = nil, nil
	if sparse && c.format == FormatLIBSVM {
		out.index, out.value = r.Index, r.Value
	}
	if sparse { // indices that the row leaves out are 0
		for i, col := range c.columns {
			if col.role == RoleFeature {
				out.numbers[i], out.texts[i] = 0, nil
			}
		}
		for j, k := range r.Index {
			out.numbers[k] = r.Value[j] // numbered features come first
		}
	}
	for i, col := range c.columns {
		switch col.role {
		case RoleLabel:
			out.texts[i], out.numbers[i] = []byte(r.Label), r.Y
			if c.e.schema.IsGraded() {
				out.numbers[i] = textNumber([]byte(c.e.trimLabel(r.Label)))
				out.y = out.numbers[i]
			}
		case RoleID:
			out.texts[i] = []byte(r.ID)
		case RoleGroup:
			out.texts[i], out.numbers[i] = []byte(r.Group), float64(out.group)
		case RoleFeature:
			switch k := c.feature[i]; {
			case sparse:
			case r.Fields == nil:
				out.numbers[i], out.texts[i] = r.Value[k], nil
			default:
				out.texts[i], out.numbers[i] = r.Fields[k], textNumber(r.Fields[k])
			}
			if c.format == FormatLIBSVM && math.IsNaN(out.numbers[i]) {
				return &ParseError{File: c.name, Row: r.Number, Column: col.name, Rule: "value is missing, which a LIBSVM file cannot say; write encoded rows, or another format"}
			}
		}
	}
	return nil
}

// textNumber is the number in a valid field; NaN if it stands for missing.
func textNumber(field []byte) float64 {
	v, rule := parseNumber(field)
	if rule != "" {
		return math.NaN()
	}
	return v
}

// convertRecords writes encoded rows.
func convertRecords(in string, s *Schema, w io.Writer, format string, o Options) (int, error) {
	d, err := Load(in, s, o)
	if err != nil {
		return 0, err
	}
	e := d.Encoder
	var columns []outColumn
	for _, name := range e.FeatureNames() {
		columns = append(columns, outColumn{name, RoleFeature, true})
	}
	if d.HasLabels {
		columns = append(columns, outColumn{e.label.Name, RoleLabel, true})
	}
	if d.Groups != nil {
		columns = append(columns, outColumn{e.group.Name, RoleGroup, true})
	}
	if d.IDs != nil && format != FormatLIBSVM && format != FormatNPZ {
		columns = append(columns, outColumn{s.column(RoleID).Name, RoleID, false})
	}
	to, err := newSink(w, format, columns, d.Records.Len(), e.schema.IsGraded())
	if err != nil {
		return 0, err
	}
	row := outRow{texts: make([][]byte, len(columns)), numbers: make([]float64, len(columns))}
	for i := range d.Records.Len() {
		fillRecord(&row, columns, d, i)
		if format == FormatLIBSVM {
			row.index, row.value = sparseRow(d.Records, i)
		}
		if err := to.write(&row); err != nil {
			return 0, err
		}
	}
	return d.Records.Len(), to.close()
}

func fillRecord(row *outRow, columns []outColumn, d *Dataset, i int) {
	d.Records.Row(i, row.numbers[:d.Records.Dim()])
	row.y = d.Records.Label(i)
	if d.Groups != nil {
		row.group = int(d.Groups[i])
	}
	for k := d.Records.Dim(); k < len(columns); k++ {
		switch columns[k].role {
		case RoleLabel:
			row.numbers[k] = row.y
		case RoleGroup:
			row.numbers[k] = float64(row.group)
		case RoleID:
			row.texts[k] = []byte(d.IDs[i])
		}
	}
}

// sparseRow is row i of sparse records, nil for dense ones.
func sparseRow(r *engine.Records, i int) (index []int32, value []float64) {
	if !r.IsSparse() {
		return nil, nil
	}
	start, columns, values := r.Sparse()
	from, to := start[i], start[i+1]
	return columns[from:to:to], values[from:to:to]
}

// outSchema is the schema of raw output.
func (c *converter) outSchema() *Schema {
	s := c.e.schema
	out := &Schema{
		DataID: s.DataID, Description: s.Description, Format: c.format, Public: s.Public,
		BoundsFromData: s.BoundsFromData, Missing: s.Missing,
	}
	switch {
	case c.format == FormatCSV:
		out.CSV.Header = true
	case c.format == FormatLIBSVM && s.IsSparse():
		out.Features, out.NonZeros, out.Range = s.Features, s.NonZeros, s.Range
	case c.numbersOnly():
		out.Features, out.Range, out.Dense = c.e.width(), s.Range, c.format == FormatLIBSVM
	}
	if c.numbersOnly() && s.column(RoleGroup) != nil && c.format == FormatNPZ {
		out.Arrays = &ArrayNames{Group: "group"}
	}
	toNames := s.byIndex() && !c.numbersOnly() // every feature needs its column
	if toNames {
		for k := range c.e.width() {
			col := Column{Name: c.e.featureName(k), Range: s.Range}
			if i := slices.IndexFunc(s.Columns, func(l Column) bool { return l.role() == RoleFeature && l.Position == k+1 }); i >= 0 {
				col = s.Columns[i]
				col.Position = 0
			}
			out.Columns = append(out.Columns, col)
		}
	}
	for i, col := range s.Columns {
		role := col.role()
		if role == RoleIgnore || role == RoleID && c.numbersOnly() || role == RoleFeature && toNames {
			continue
		}
		col.Field, col.Position = "", 0
		if role == RoleLabel && c.numbersOnly() && !s.IsGraded() {
			col.Positive, col.Negative, col.Others, col.TrimSuffix = "1", "-1", "", ""
		}
		if role == RoleFeature && c.numbersOnly() {
			col.Position = 1 + slices.Index(c.e.Columns(), s.Columns[i].Name)
		}
		out.Columns = append(out.Columns, col)
	}
	return out
}

// trimLabel cuts the suffix that the schema names.
func (e *Encoder) trimLabel(label string) string {
	if n := len(label) - len(e.label.TrimSuffix); n >= 0 && label[n:] == e.label.TrimSuffix {
		return label[:n]
	}
	return label
}

func appendJSONNumber(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }
