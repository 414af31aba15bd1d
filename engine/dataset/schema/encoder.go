package schema

import (
	"encoding/json"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
)

// Encoder maps a row of a file to the features of a record by the public numbers
// of a Schema (see the package comment for the map). Its JSON form, which models
// carry, is the schema, from which everything else follows.
type Encoder struct {
	schema       *Schema
	columns      []Feature   // the feature columns that the schema lists, in its order
	listed       map[int]int // numbered features: index - 1 to a place in columns
	common       Feature     // numbered features: every other index
	dim          int
	factor       float64
	LabelColumn  *Column
	GroupColumn  *Column // nil without query groups
	PersonColumn *Column // nil without persons
	positive     *parse.Set
	negative     *parse.Set      // nil: every value that is not positive
	Grades       *parse.Notation // of graded labels
	// notations reports whether a column of numbers has one.
	Notations    bool
	interactions []interaction
}

// NewEncoder validates s and builds its encoder. s is copied.
func NewEncoder(s *Schema) (*Encoder, error) {
	if s == nil {
		return nil, fmt.Errorf("dataset: schema is nil; load one, or write one with Draft")
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Basis == BasisAuto {
		return nil, fmt.Errorf("dataset: schema: basis: %s is chosen by dyad train and dyad plan, from the number of records and the budget; name a basis here, such as %s6 or %s", BasisAuto, basisCurve, BasisNone)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("dataset: schema: %w", err)
	}
	clone := new(Schema)
	if err := json.Unmarshal(text, clone); err != nil {
		return nil, fmt.Errorf("dataset: schema: %w", err)
	}
	return newEncoder(clone), nil
}

// newEncoder is NewEncoder of a schema that is valid and not copied.
func newEncoder(clone *Schema) *Encoder {
	e := &Encoder{schema: clone}
	for i := range clone.Columns {
		switch c := &clone.Columns[i]; c.RoleOf() {
		case RoleGroup:
			e.GroupColumn = c
		case RolePerson:
			e.PersonColumn = c
		case RoleLabel:
			e.LabelColumn = c
			if c.Kind == KindNumeric {
				e.Grades = clone.NotationOf(c)
				e.Notations = e.Notations || e.Grades != nil
			}
			e.positive = parse.NewSet([]string{c.class(c.Positive)})
			if c.Negative != "" {
				e.negative = parse.NewSet([]string{c.class(c.Negative)})
			}
		}
	}
	e.addFeatures()
	e.setFactor()
	return e
}

func (e *Encoder) addFeatures() {
	s := e.schema
	sets := map[*Missing]*parse.Set{}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.RoleOf() != RoleFeature {
			continue
		}
		f := s.featureEncoder(c, sets)
		e.Notations = e.Notations || f.Notation != nil
		if s.ByIndex() {
			f.Offset = c.Position - 1
			if e.listed == nil {
				e.listed = map[int]int{}
			}
			e.listed[c.Position-1] = len(e.columns)
		} else {
			f.Offset = e.dim
			e.dim += f.Width
		}
		e.columns = append(e.columns, f)
	}
	if s.ByIndex() {
		e.dim = s.Features
		if s.Range != nil {
			e.common = s.featureEncoder(&Column{Range: s.Range}, sets)
		}
	}
	e.addInteractions()
}

// featureEncoder builds the encoder of c without offset and factor. sets keeps
// the values of each policy.
func (s *Schema) featureEncoder(c *Column, sets map[*Missing]*parse.Set) Feature {
	m := s.missingOf(c)
	f := Feature{Name: c.Name, Width: 1, Policy: m.PolicyOf()}
	if f.Missing = sets[m]; f.Missing == nil {
		var values []string
		if m != nil {
			values = m.Values
		}
		f.Missing = parse.NewSet(values)
		sets[m] = f.Missing
	}
	if m != nil && m.Value != nil {
		f.value = *m.Value
	}
	if c.kind() == KindNumeric {
		f.Numeric = true
		f.Transform = c.Transform
		f.Notation = s.NotationOf(c)
		f.Lo, f.Hi = c.Bounds()
		f.Center, f.Half = centerAndHalf(f.Lo, f.Hi, f.Transform, s.IsSparse())
		if kind, k, _ := cosines(s.basisOf(c)); k > 0 {
			f.setCosines(k, kind)
		}
		return f
	}
	f.unknown = c.Unknown == UnknownOther
	f.Cats = parse.NewSet(c.Categories)
	f.CatNames = append([]string(nil), c.Categories...)
	if f.Policy == MissingCategory {
		f.CatNames = append(f.CatNames, "(missing)")
	}
	if len(f.CatNames) > 2 {
		f.Width = len(f.CatNames)
	}
	return f
}

// centerAndHalf are the shift and the divisor of a numeric column.
func centerAndHalf(lo, hi float64, transform string, sparse bool) (center, half float64) {
	a, b := Transform(lo, transform), Transform(hi, transform)
	if sparse {
		return 0, max(math.Abs(a), math.Abs(b))
	}
	return a/2 + b/2, b/2 - a/2
}

func (e *Encoder) setFactor() {
	switch s := e.schema; {
	case s.IsSparse():
		e.factor = 1 / math.Sqrt(float64(e.NonZerosPerRow()))
	case s.ByIndex():
		e.factor = 1 / math.Sqrt(float64(e.dim)/3)
	case s.ChooseInteractions > 0:
		e.factor = e.unprojected()
	default:
		e.factor = e.projectedFactor(0)
	}
	for i := range e.columns {
		e.columns[i].Factor = e.factor
	}
	e.common.Factor = e.factor
	for i := range e.interactions {
		e.interactions[i].scale /= e.factor
	}
}

// projectedFactor is the factor of columns and interactions with so many more of these.
func (e *Encoder) projectedFactor(more int) float64 {
	thirds := 3 * (len(e.interactions) + more) // V counted in thirds
	for _, f := range e.columns {
		switch {
		case f.Numeric && f.Cosines == 0:
			thirds++
		case f.Spike:
			thirds += 6
		default:
			thirds += 3
		}
	}
	return 1 / math.Sqrt(float64(thirds)/3)
}

// Width is the number of feature fields of a row.
func (e *Encoder) Width() int {
	if e.schema.ByIndex() {
		return e.dim
	}
	return len(e.columns)
}

// Feature is the encoder of feature field k, from 0, and its first output.
func (e *Encoder) Feature(k int) (f *Feature, offset int) {
	if !e.schema.ByIndex() {
		return &e.columns[k], e.columns[k].Offset
	}
	if i, ok := e.listed[k]; ok {
		return &e.columns[i], k
	}
	return &e.common, k
}

// FeatureName is the name of feature field k, from 0.
func (e *Encoder) FeatureName(k int) string {
	if f, _ := e.Feature(k); f.Name != "" {
		return f.Name
	}
	return fmt.Sprintf("f%d", k+1)
}

// Schema returns the schema; the caller must not change it.
func (e *Encoder) Schema() *Schema { return e.schema }

// Dim is d, the number of features of a record.
func (e *Encoder) Dim() int { return e.dim }

// Factor is the public factor that all columns share.
func (e *Encoder) Factor() float64 { return e.factor }

// Bounds are the bounds of the records: R = 1, |y| <= 1.
func (e *Encoder) Bounds() engine.Bounds { return engine.UnitBounds() }

// LabelValues is the public bound on the number of different labels: 2 for two
// classes, engine.AnyLabels for graded ones (engine.Problem.LabelValues).
func (e *Encoder) LabelValues() int {
	if e.schema.IsGraded() {
		return engine.AnyLabels
	}
	return 2
}

// NonZerosPerRow is the public bound on the stored features of a record; 0 if
// records are dense (engine.Problem.NonZerosPerRow).
func (e *Encoder) NonZerosPerRow() int {
	switch s := e.schema; {
	case !s.IsSparse():
		return 0
	case s.NonZeros > 0:
		return s.NonZeros
	}
	return e.schema.Features
}

// FeatureNames are the Dim names of the features: the name of the column,
// "column=category" for the category that a feature (or its +1) stands for,
// "column~k" for the k-th feature of the basis of a number, or "column=0" for its spike. A product has the names of its factors
// with " * " between them.
func (e *Encoder) FeatureNames() []string {
	names := make([]string, 0, e.dim)
	for k := range e.Width() {
		f, _ := e.Feature(k)
		switch {
		case f.Numeric:
			names = append(names, f.names(e.FeatureName(k))...)
		case f.Width == 1:
			names = append(names, f.Name+"="+f.CatNames[1])
		default:
			for _, c := range f.CatNames {
				names = append(names, f.Name+"="+c)
			}
		}
	}
	for _, p := range e.interactions {
		for _, a := range names[e.columns[p.a].Offset:][:p.wa] {
			for _, b := range names[e.columns[p.b].Offset:][:p.wb] {
				names = append(names, a+" * "+b)
			}
		}
	}
	return names
}

// Columns are the names of the feature columns in the order that Encode wants.
func (e *Encoder) Columns() []string {
	names := make([]string, e.Width())
	for k := range names {
		names[k] = e.FeatureName(k)
	}
	return names
}

// Encode returns the record of one row, with norm at most 1: the same bits as
// Load gives. fields are the texts of the columns that Columns names, in that
// order and in the schema's notation; for a LIBSVM schema, "0" where the row has no such index. An error is a
// *ParseError without file and row.
func (e *Encoder) Encode(fields []string) ([]float64, error) {
	if len(fields) != e.Width() {
		return nil, &source.ParseError{Rule: fmt.Sprintf("row has %d feature fields, want %d", len(fields), e.Width())}
	}
	texts := make([][]byte, len(fields))
	for k, field := range fields {
		texts[k] = []byte(field)
		if f, _ := e.Feature(k); f.Writes(texts[k]) {
			var rule string
			if texts[k], rule = f.Notation.Plain(nil, texts[k]); rule != "" {
				return nil, e.refuse(k, rule)
			}
		}
	}
	return e.EncodeRow(&Row{Fields: texts})
}

// project projects one encoded row in place, just as Load does.
func (e *Encoder) project(x []float64) error {
	if !e.schema.IsSparse() {
		e.ProjectDense(x)
		return nil
	}
	var index []int32
	var value []float64
	for k, v := range x {
		if v != 0 {
			index, value = append(index, int32(k)), append(value, v)
		}
	}
	if bound := e.NonZerosPerRow(); len(value) > bound {
		return &source.ParseError{Rule: TooManyNonZeros(bound)}
	}
	r, err := engine.NewSparseRecords([]int64{0, int64(len(value))}, index, value, make([]float64, 1), e.dim, e.Bounds())
	if err != nil {
		return err
	}
	r.Row(0, x)
	return nil
}

// ProjectDense finishes a dense row whose columns are encoded: it writes the products of interactions, projects the row to norm at most
// 1, and rounds it toward zero if records are stored in float32 (docs/theory.md#stored-records): a map of one row alone.
func (e *Encoder) ProjectDense(x []float64) {
	e.Multiply(x)
	engine.ProjectBall(x, e.Bounds().FeatureNorm)
	if e.schema.IsNarrow() {
		for k, v := range x {
			x[k] = float64(engine.TowardZero(v))
		}
	}
}

// TooManyNonZeros is the rule of a row with more stored features than the schema allows.
func TooManyNonZeros(bound int) string {
	return fmt.Sprintf("row has more than %d features that are not 0; raise nonzeros in the schema", bound)
}

// MarshalJSON writes the schema.
func (e *Encoder) MarshalJSON() ([]byte, error) { return json.Marshal(e.schema) }

// UnmarshalJSON reads what MarshalJSON wrote and validates it.
func (e *Encoder) UnmarshalJSON(text []byte) error {
	var s Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("dataset: encoder: %w", err)
	}
	n, err := NewEncoder(&s)
	if err != nil {
		return err
	}
	*e = *n
	return nil
}

// Listed is the encoder of feature column k, from 0, of those that the schema lists.
func (e *Encoder) Listed(k int) *Feature { return &e.columns[k] }
