package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
)

// Encoder maps a row of a file to the features of a record, using only the public numbers of a Schema. See
// package dataset for the map. Its JSON form, which model files contain, is the schema, from which everything
// else follows.
type Encoder struct {
	schema       *Schema
	columns      []Feature   // feature columns listed in the schema, in its order
	listed       map[int]int // for numbered features, maps index - 1 to an index in columns
	common       Feature     // for numbered features, the encoding of every index that is not listed
	dim          int
	factor       float64
	LabelColumn  *Column
	GroupColumn  *Column // column of query groups, nil if there is none
	PersonColumn *Column // column of persons, nil if there is none
	positive     *parse.Set
	negative     *parse.Set      // if nil, every value that is not positive is negative
	Grades       *parse.Notation // notation of graded labels
	// Notations reports whether a numeric column has a notation.
	Notations    bool
	interactions []Interaction
}

// NewEncoder validates a copy of s and returns its encoder.
func NewEncoder(s *Schema) (*Encoder, error) {
	if s == nil {
		return nil, fmt.Errorf("dataset: schema is nil; load one, or write one with Draft")
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Basis == BasisAuto {
		return nil, fmt.Errorf("dataset: schema: basis: %s is chosen by dyad train and dyad plan, from the number of "+
			"records and the budget; name a basis here, such as %s6 or %s", BasisAuto, basisCurve, BasisNone)
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

// newEncoder returns the encoder of a valid schema without copying it.
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

// featureEncoder builds the encoder of c without offset and factor. sets caches the set of missing values of
// each policy.
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
		if kind, k, _ := cosines(cmp.Or(c.Basis, s.Basis)); k > 0 {
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

// centerAndHalf returns the shift and the divisor of a numeric column.
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
		e.interactions[i].Scale /= e.factor
	}
}

// projectedFactor returns the factor of columns and interactions. more is the number of interactions to be added.
func (e *Encoder) projectedFactor(more int) float64 {
	thirds := 3 * (len(e.interactions) + more) // three times V
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

// Width returns the number of feature fields of a row.
func (e *Encoder) Width() int {
	if e.schema.ByIndex() {
		return e.dim
	}
	return len(e.columns)
}

// Feature returns the encoder of feature field k, counted from 0, and the index of its first output.
func (e *Encoder) Feature(k int) (f *Feature, offset int) {
	if !e.schema.ByIndex() {
		return &e.columns[k], e.columns[k].Offset
	}
	if i, ok := e.listed[k]; ok {
		return &e.columns[i], k
	}
	return &e.common, k
}

// FeatureName returns the name of feature field k, counted from 0.
func (e *Encoder) FeatureName(k int) string {
	if f, _ := e.Feature(k); f.Name != "" {
		return f.Name
	}
	return fmt.Sprintf("f%d", k+1)
}

// Schema returns the schema. The caller must not change it.
func (e *Encoder) Schema() *Schema { return e.schema }

// Dim returns d, the number of features of a record.
func (e *Encoder) Dim() int { return e.dim }

// Factor returns the public factor of all columns.
func (e *Encoder) Factor() float64 { return e.factor }

// Bounds returns the bounds of the records: R = 1 and |y| <= 1.
func (e *Encoder) Bounds() engine.Bounds { return engine.UnitBounds() }

// LabelValues returns the public bound on the number of distinct labels (engine.Problem.LabelValues). It is 2
// for two classes and engine.AnyLabels for graded labels.
func (e *Encoder) LabelValues() int {
	if e.schema.IsGraded() {
		return engine.AnyLabels
	}
	return 2
}

// NonZerosPerRow returns the public bound on the number of stored features of a record
// (engine.Problem.NonZerosPerRow). It is 0 if records are dense.
func (e *Encoder) NonZerosPerRow() int {
	switch s := e.schema; {
	case !s.IsSparse():
		return 0
	case s.NonZeros > 0:
		return s.NonZeros
	}
	return e.schema.Features
}

// FeatureNames returns the names of the Dim features. A number has the name of its column. A feature of a
// categorical column is named "column=category" after the category for which the feature is positive. The k-th
// feature of the basis of a number is "column~k", and its spike is "column=0". A product has the names of its
// factors with " * " between them.
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
		for _, a := range names[e.columns[p.A].Offset:][:p.WidthA] {
			for _, b := range names[e.columns[p.B].Offset:][:p.WidthB] {
				names = append(names, a+" * "+b)
			}
		}
	}
	return names
}

// Columns returns the names of the feature columns in the order in which Encode takes them.
func (e *Encoder) Columns() []string {
	names := make([]string, e.Width())
	for k := range names {
		names[k] = e.FeatureName(k)
	}
	return names
}

// Encode returns the record of one row, with norm at most 1. It has the same bits as the record that Load
// returns. fields are the texts of the columns given by Columns, in that order and in the schema's notation.
// For a LIBSVM schema, an index that is absent from the row has the text "0". An error is a *ParseError without
// file and row.
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

// project projects one encoded row in place, in the same way as Load.
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

// ProjectDense completes a dense row whose columns are encoded. It writes the products of interactions, projects the
// row to norm at most 1, and rounds it toward zero if records are stored in float32 (docs/theory.md#stored-records).
// The result depends on this row alone.
func (e *Encoder) ProjectDense(x []float64) {
	e.Multiply(x)
	engine.ProjectBall(x, e.Bounds().FeatureNorm)
	if e.schema.IsNarrow() {
		for k, v := range x {
			x[k] = float64(engine.TowardZero(v))
		}
	}
}

// TooManyNonZeros returns the rule broken by a row with more stored features than the schema allows.
func TooManyNonZeros(bound int) string {
	return fmt.Sprintf("row has more than %d features that are not 0; raise nonzeros in the schema", bound)
}

// MarshalJSON returns the schema as JSON.
func (e *Encoder) MarshalJSON() ([]byte, error) { return json.Marshal(e.schema) }

// UnmarshalJSON parses a schema written by MarshalJSON and validates it.
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

// Listed returns the encoder of feature column k of the columns that the schema lists, counted from 0.
func (e *Encoder) Listed(k int) *Feature { return &e.columns[k] }
