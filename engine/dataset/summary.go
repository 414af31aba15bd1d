package dataset

import (
	"math"

	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// Summary describes a data set read with a schema. Everything except the names and ranges is computed from the
// records, so it is as private as the records.
type Summary struct {
	DataID   string `json:"data_id"`
	Rows     int    `json:"rows"`
	Features int    `json:"features"` // number d of features of a record
	// Label is the name of the label. If there are two classes, the counts below are set. If labels are
	// graded, Grades is set. Labels is false for a file without labels.
	Label     string         `json:"label"`
	Labels    bool           `json:"has_labels"`
	Positives int            `json:"positives"`
	Negatives int            `json:"negatives"`
	Grades    *ColumnSummary `json:"grades,omitempty"`
	// Groups is the number of query groups, and LargestGroup is the number of rows of the largest group.
	Groups       int `json:"groups,omitempty"`
	LargestGroup int `json:"largest_group,omitempty"`
	// IDs is the name of the column with role id or person. RowsOfID is the largest number of rows with the
	// same id (IDKey), if it is more than one.
	IDs      string          `json:"ids,omitempty"`
	RowsOfID int             `json:"largest_rows_of_id,omitempty"`
	Persons  int             `json:"persons,omitempty"` // number of distinct ids in the column with role person
	Columns  []ColumnSummary `json:"columns"`
	// Problem is the reason why nothing can be learned from the labels (Dataset.CheckPairs), or why no run takes the
	// persons: their number is not that of the schema. It is nil if there is no problem.
	Problem error `json:"-"`
}

// ColumnSummary describes a feature column.
type ColumnSummary struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // kind of the column: KindNumeric or KindCategorical
	Missing int    `json:"missing"`

	// The fields below are for numeric columns. Range is the public range. Min and Max are the smallest and the
	// largest value in the file. Clamped is the number of values outside the range, which are clamped. Used is
	// the share of the range, after transform and scaling, that lies between Min and Max.
	Range     []float64 `json:"range,omitempty"`
	Transform string    `json:"transform,omitempty"`
	Min       float64   `json:"min"`
	Max       float64   `json:"max"`
	Clamped   int       `json:"clamped"`
	Used      float64   `json:"used"`

	// The fields below are for categorical columns. Counts are the numbers of rows of the Categories, in the
	// schema's order.
	Categories []string `json:"categories,omitempty"`
	Counts     []int    `json:"counts,omitempty"`
	Unknown    int      `json:"unknown,omitempty"` // number of rows whose category is not listed

	present int
}

// Summarize reads the file with schema s and describes it. Labels may be absent.
func Summarize(path string, s *schema.Schema, o Options) (*Summary, error) {
	s = s.Decided()
	e, err := schema.NewEncoder(s)
	if err != nil {
		return nil, err
	}
	m := &Summary{DataID: s.DataID, Features: e.Dim(), Label: e.LabelColumn.Name,
		Columns: make([]ColumnSummary, e.Width())}
	encoders := make([]*schema.Feature, e.Width())
	for k := range m.Columns {
		f, _ := e.Feature(k)
		encoders[k] = f
		m.Columns[k] = newColumnSummary(e.FeatureName(k), f)
	}
	if s.IsGraded() {
		m.Grades = &ColumnSummary{Name: e.LabelColumn.Name, Kind: schema.KindNumeric, Range: e.LabelColumn.Range,
			Min: math.Inf(1), Max: math.Inf(-1)}
	}
	groups, labels, ids := map[string]int{}, labelSpread[string]{}, map[string]int{}
	o.Labels, o.Persons = LabelsOptional, IgnorePersons
	err = Scan(path, s, o, func(r *schema.Row) error {
		m.Rows++
		if m.addLabel(e, r); r.Label != "" {
			labels.add(r.Group, r.Y)
		}
		if r.ID != "" {
			key := schema.IDKey(r.ID)
			if ids[key]++; ids[key] > max(m.RowsOfID, 1) {
				m.RowsOfID = ids[key]
			}
		}
		if e.GroupColumn != nil {
			groups[r.Group]++
			m.LargestGroup = max(m.LargestGroup, groups[r.Group])
		}
		switch {
		case r.Fields != nil:
			for k, field := range r.Fields {
				m.Columns[k].addField(encoders[k], field)
			}
		case s.ByPairs():
			for j, k := range r.Index {
				m.Columns[k].addNumber(encoders[k], r.Value[j])
			}
		default:
			for k, v := range r.Value {
				m.Columns[k].addNumber(encoders[k], v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.Groups = len(groups)
	if c := s.ColumnOf(schema.RoleID); c != nil && m.RowsOfID > 0 {
		m.IDs = c.Name
	}
	if c := s.ColumnOf(schema.RolePerson); c != nil {
		m.IDs, m.Persons = c.Name, len(ids)
	}
	if m.Labels {
		m.Problem = labels.check(path, e)
	}
	if s.Persons > 0 && m.Persons != s.Persons {
		m.Problem = &source.ParseError{File: path, Column: m.IDs, Rule: ruleOtherPersons}
	}
	for k := range m.Columns {
		c := &m.Columns[k]
		if absent := m.Rows - c.present - c.Missing; s.ByPairs() && absent > 0 {
			c.addZeros(encoders[k], absent)
		}
		c.finish(encoders[k])
	}
	if m.Grades != nil {
		m.Grades.Used = share(m.Grades.Min, m.Grades.Max, m.Grades.Range[0], m.Grades.Range[1])
	}
	return m, nil
}

func newColumnSummary(name string, f *schema.Feature) ColumnSummary {
	if !f.Numeric {
		return ColumnSummary{Name: name, Kind: schema.KindCategorical, Categories: f.CatNames,
			Counts: make([]int, len(f.CatNames))}
	}
	return ColumnSummary{
		Name: name, Kind: schema.KindNumeric, Range: []float64{f.Lo, f.Hi}, Transform: f.Transform,
		Min: math.Inf(1), Max: math.Inf(-1),
	}
}

func (m *Summary) addLabel(e *schema.Encoder, r *schema.Row) {
	if r.Label == "" {
		return
	}
	m.Labels = true
	switch {
	case m.Grades != nil:
		v := textNumber([]byte(e.TrimLabel(r.Label)))
		m.Grades.Min, m.Grades.Max = min(m.Grades.Min, v), max(m.Grades.Max, v)
	case r.Y > 0:
		m.Positives++
	default:
		m.Negatives++
	}
}

func (c *ColumnSummary) addField(f *schema.Feature, field []byte) {
	switch {
	case len(field) == 0 || f.Missing.Find(field) >= 0:
		c.Missing++
		if f.Policy == schema.MissingCategory {
			c.Counts[len(c.Counts)-1]++
		}
	case f.Numeric:
		c.addNumber(f, textNumber(field))
	default:
		if k := f.Cats.Find(field); k >= 0 {
			c.Counts[k]++
		} else {
			c.Unknown++
		}
	}
}

func (c *ColumnSummary) addNumber(f *schema.Feature, v float64) {
	if math.IsNaN(v) || f.Missing.FindNumber(v) >= 0 {
		c.Missing++
		return
	}
	c.present++
	c.Min, c.Max = min(c.Min, v), max(c.Max, v)
	if v < f.Lo || v > f.Hi {
		c.Clamped++
	}
}

// addZeros counts the rows from which a feature is absent. Its value there is 0.
func (c *ColumnSummary) addZeros(f *schema.Feature, rows int) {
	missing, present, clamped := c.Missing, c.present, c.Clamped
	c.addNumber(f, 0)
	c.Missing = missing + (c.Missing-missing)*rows
	c.present = present + (c.present-present)*rows
	c.Clamped = clamped + (c.Clamped-clamped)*rows
}

func (c *ColumnSummary) finish(f *schema.Feature) {
	switch {
	case c.Kind != schema.KindNumeric:
	case c.present == 0:
		c.Min, c.Max = 0, 0
	default:
		lo, hi := schema.Transform(f.Lo, f.Transform), schema.Transform(f.Hi, f.Transform)
		clamp := func(v float64) float64 { return schema.Transform(min(max(v, f.Lo), f.Hi), f.Transform) }
		c.Used = share(clamp(c.Min), clamp(c.Max), lo, hi)
	}
}

// share returns the share of [lo, hi] that lies between a and b. It is 0 if there are no values.
func share(a, b, lo, hi float64) float64 {
	if !(a < b) {
		return 0
	}
	return min((b-a)/(hi-lo), 1)
}

// textNumber returns the number in a valid field, or NaN if the field means missing.
func textNumber(field []byte) float64 {
	v, rule := parse.Number(field)
	if rule != "" {
		return math.NaN()
	}
	return v
}
