package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
	"dyad/engine/dataset/parse"
)

// Encoder maps a row of a file to the features of a record, using only the public numbers of a Schema.
// Package dataset describes the map. The JSON form of an Encoder is the schema, because everything else
// follows from the schema. Model files contain this JSON form.
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
		return nil, fmt.Errorf(`dataset: schema: "basis: %s" is only for dyad train and dyad plan; name a basis `+
			"here, such as %s6 or %s", BasisAuto, basisCurve, BasisNone)
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

// Listed returns the encoder of the k-th feature column that the schema lists, counted from 0.
func (e *Encoder) Listed(k int) *Feature { return &e.columns[k] }

// addInteractions adds the blocks after the features of the columns. The scales do not include the factor of the
// encoder.
func (e *Encoder) addInteractions() {
	place := func(name string) int {
		return slices.IndexFunc(e.columns, func(f Feature) bool { return f.Name == name })
	}
	for _, names := range e.schema.Interactions {
		p := Interaction{A: place(names[0]), B: place(names[1]), Offset: e.dim}
		p.WidthA, p.WidthB, p.Scale = lowest(e.columns[p.A], e.columns[p.B])
		e.dim += p.WidthA * p.WidthB
		e.interactions = append(e.interactions, p)
	}
}

// Interactions returns the blocks of products in the order of the schema. They come after the outputs of all columns.
func (e *Encoder) Interactions() []Interaction { return slices.Clone(e.interactions) }

// unprojected returns the factor for which every row has norm at most 1. The projection then changes no row, so
// products of a chosen pair are products of the original row.
func (e *Encoder) unprojected() float64 {
	sum := 0.0
	for i := range e.columns {
		sum += e.columns[i].largest(e.columns[i].Width)
	}
	for _, p := range e.interactions {
		sum += p.Scale * p.Scale * e.columns[p.A].largest(p.WidthA) * e.columns[p.B].largest(p.WidthB)
	}
	return 1 / math.Sqrt(sum*(1+0x1p-40))
}

// DimWith returns the number of features with another basis. ok is false if there is no encoder with this basis.
func (s *Schema) DimWith(basis string) (d int, ok bool) {
	e, err := NewEncoder(s.WithBasis(basis))
	if err != nil {
		return 0, false
	}
	return e.Dim(), true
}
