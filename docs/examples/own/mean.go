package own

import (
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/cmd/command"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/privacy"
)

// Mean is a kind of run that releases the mean of one column. It returns a certificate, the exact sum and the meaning
// of the released sum. The commands plan, charge, resume, page, verify and audit work as they do for every kind.
type Mean struct {
	Column       string // its name in the schema
	middle, half float64
}

var _ command.Reader = Mean{}

// Info implements algorithms.Kind.
func (Mean) Info() algorithms.Info {
	return algorithms.Info{Name: "mean", Title: "Release the mean of a column", Released: "the sum of the column"}
}

// Reads implements command.Reader. The run reads one column only. The encoder multiplies the feature of a single
// column by sqrt 3. Reads makes the range sqrt 3 times as wide, so the feature is -1, 0 and 1 at the beginning,
// middle and end of the old range. The encoder shortens rows with a norm above 1 to norm 1.
func (m Mean) Reads(s *dataset.Schema) (algorithms.Kind, *dataset.Schema, error) {
	at := slices.IndexFunc(s.Columns, func(c dataset.Column) bool { return c.Name == m.Column })
	if at < 0 || len(s.Columns[at].Range) != 2 || s.Columns[at].Transform != "" {
		return nil, nil, fmt.Errorf("own: --column %q must name a numeric column with a range and without a transform",
			m.Column)
	}
	s.BoundsFromData = s.RangesFromData() // of a column that is left out, too
	for i := range s.Columns {
		if c := &s.Columns[i]; i != at && (c.Role == "" || c.Role == dataset.RoleFeature) {
			*c = dataset.Column{Name: c.Name, Field: c.Field, Position: c.Position, Role: dataset.RoleIgnore}
		}
	}
	c := &s.Columns[at]
	m.middle, m.half = c.Range[0]/2+c.Range[1]/2, c.Range[1]/2-c.Range[0]/2
	wide := m.half * math.Sqrt(3)
	c.Range, s.Basis, c.Basis, s.Interactions = []float64{m.middle - wide, m.middle + wide}, "", "", nil
	return m, s, s.Validate()
}

// Rows implements algorithms.Kind. A feature is in [-1, 1], so a replaced record moves the sum by at most 2. The
// error of adding n numbers in float64 is at most n^2 2^-52.
func (m Mean) Rows(s algorithms.KindShape) (algorithms.Releases, error) {
	n := float64(s.Records)
	c, err := privacy.RecordSum{Radius: 1, Weight: 1, Error: n * n * 0x1p-52, Name: "sum of the column"}.Certify()
	return algorithms.Releases{{Name: "sum of the column", Coordinates: 1, Certificate: c}}, err
}

// Exact implements algorithms.Kind.
func (Mean) Exact(r *engine.Records, _ int, _ [][]float64) []float64 {
	x, sum := make([]float64, r.Dim()), 0.0
	for i := range r.Len() {
		r.Row(i, x)
		sum += x[0]
	}
	return []float64{sum}
}

// Figures implements algorithms.Kind.
func (m Mean) Figures(s algorithms.KindShape, rows algorithms.Releases, released [][]float64) (f algorithms.Facts) {
	scale := m.half / float64(s.Records)
	f.Line("mean", "%.6g for column %s; standard deviation of the noise: %.2g",
		f.Add("mean", m.middle+scale*released[0][0]), f.Add("column", m.Column), f.Add("noise", scale*rows[0].Deviation()))
	return f
}
