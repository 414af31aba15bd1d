package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"

	"dyad/engine"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/source"
)

// Encoder maps a row of a file to the features of a record by the public numbers
// of a Schema (see the package comment for the map). Its JSON form, which models
// carry, is the schema, from which everything else follows.
type Encoder struct {
	schema   *Schema
	columns  []featureEncoder // the feature columns that the schema lists, in its order
	listed   map[int]int      // numbered features: index - 1 to a place in columns
	common   featureEncoder   // numbered features: every other index
	dim      int
	factor   float64
	label    *Column
	group    *Column // nil without query groups
	person   *Column // nil without persons
	positive *parse.Set
	negative *parse.Set      // nil: every value that is not positive
	grades   *parse.Notation // of graded labels
	// notations says that a column of numbers has one.
	notations    bool
	interactions []interaction
}

// featureEncoder encodes one column.
type featureEncoder struct {
	name      string
	offset    int // first output
	width     int // outputs: 1, m for m > 2 categories, K for K cosines
	factor    float64
	numeric   bool
	transform string
	lo, hi    float64 // range, before the transform
	center    float64 // of the transformed range; 0 if sparse
	half      float64 // half its length; the largest magnitude if sparse
	cosines   int     // K of its basis, 0 for none
	line      bool    // the first of them is the line
	shrink    float64 // makes the mean square norm of K cosines 1
	cats      *parse.Set
	catNames  []string
	missing   *parse.Set
	policy    string
	value     float64 // for MissingValue
	notation  *parse.Notation
	unknown   bool // other categories become all 0
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
		return nil, fmt.Errorf("dataset: schema: basis: %s is chosen by dyad train and dyad plan, from the number of records and the budget; name a basis here, such as %s6 or %s", BasisAuto, BasisCurve, BasisNone)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("dataset: schema: %w", err)
	}
	clone := new(Schema)
	if err := json.Unmarshal(text, clone); err != nil {
		return nil, fmt.Errorf("dataset: schema: %w", err)
	}
	e := &Encoder{schema: clone}
	for i := range clone.Columns {
		switch c := &clone.Columns[i]; c.role() {
		case RoleGroup:
			e.group = c
		case RolePerson:
			e.person = c
		case RoleLabel:
			e.label = c
			if c.Kind == KindNumeric {
				e.grades = clone.notation(c)
				e.notations = e.notations || e.grades != nil
			}
			e.positive = parse.NewSet([]string{c.class(c.Positive)})
			if c.Negative != "" {
				e.negative = parse.NewSet([]string{c.class(c.Negative)})
			}
		}
	}
	e.addFeatures()
	e.setFactor()
	return e, nil
}

func (e *Encoder) addFeatures() {
	s := e.schema
	sets := map[*Missing]*parse.Set{}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.role() != RoleFeature {
			continue
		}
		f := s.featureEncoder(c, sets)
		e.notations = e.notations || f.notation != nil
		if s.byIndex() {
			f.offset = c.Position - 1
			if e.listed == nil {
				e.listed = map[int]int{}
			}
			e.listed[c.Position-1] = len(e.columns)
		} else {
			f.offset = e.dim
			e.dim += f.width
		}
		e.columns = append(e.columns, f)
	}
	if s.byIndex() {
		e.dim = s.Features
		if s.Range != nil {
			e.common = s.featureEncoder(&Column{Range: s.Range}, sets)
		}
	}
	e.addInteractions()
}

// featureEncoder builds the encoder of c without offset and factor. sets keeps
// the values of each policy.
func (s *Schema) featureEncoder(c *Column, sets map[*Missing]*parse.Set) featureEncoder {
	m := s.missingOf(c)
	f := featureEncoder{name: c.Name, width: 1, policy: m.policy()}
	if f.missing = sets[m]; f.missing == nil {
		var values []string
		if m != nil {
			values = m.Values
		}
		f.missing = parse.NewSet(values)
		sets[m] = f.missing
	}
	if m != nil && m.Value != nil {
		f.value = *m.Value
	}
	if c.kind() == KindNumeric {
		f.numeric = true
		f.transform = c.Transform
		f.notation = s.notation(c)
		f.lo, f.hi = c.bounds()
		f.center, f.half = centerAndHalf(f.lo, f.hi, f.transform, s.IsSparse())
		if k, line, _ := cosines(s.basisOf(c)); k > 0 {
			f.setCosines(k, line)
		}
		return f
	}
	f.unknown = c.Unknown == UnknownOther
	f.cats = parse.NewSet(c.Categories)
	f.catNames = append([]string(nil), c.Categories...)
	if f.policy == MissingCategory {
		f.catNames = append(f.catNames, "(missing)")
	}
	if len(f.catNames) > 2 {
		f.width = len(f.catNames)
	}
	return f
}

// centerAndHalf are the shift and the divisor of a numeric column.
func centerAndHalf(lo, hi float64, transform string, sparse bool) (center, half float64) {
	a, b := transformed(lo, transform), transformed(hi, transform)
	if sparse {
		return 0, max(math.Abs(a), math.Abs(b))
	}
	return a/2 + b/2, b/2 - a/2
}

func (e *Encoder) setFactor() {
	switch s := e.schema; {
	case s.IsSparse():
		e.factor = 1 / math.Sqrt(float64(e.NonZerosPerRow()))
	case s.byIndex():
		e.factor = 1 / math.Sqrt(float64(e.dim)/3)
	default:
		thirds := 3 * len(e.interactions) // V counted in thirds
		for _, f := range e.columns {
			if f.numeric && f.cosines == 0 {
				thirds++
			} else {
				thirds += 3
			}
		}
		e.factor = 1 / math.Sqrt(float64(thirds)/3)
	}
	for i := range e.columns {
		e.columns[i].factor = e.factor
	}
	e.common.factor = e.factor
	for i := range e.interactions {
		e.interactions[i].scale /= e.factor
	}
}

// width is the number of feature fields of a row.
func (e *Encoder) width() int {
	if e.schema.byIndex() {
		return e.dim
	}
	return len(e.columns)
}

// feature is the encoder of feature field k, from 0, and its first output.
func (e *Encoder) feature(k int) (f *featureEncoder, offset int) {
	if !e.schema.byIndex() {
		return &e.columns[k], e.columns[k].offset
	}
	if i, ok := e.listed[k]; ok {
		return &e.columns[i], k
	}
	return &e.common, k
}

// featureName is the name of feature field k, from 0.
func (e *Encoder) featureName(k int) string {
	if f, _ := e.feature(k); f.name != "" {
		return f.name
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
// "column=category" for the category that a feature (or its +1) stands for, or
// "column~k" for the k-th feature of the basis of a number. A product has the names of its factors
// with " * " between them.
func (e *Encoder) FeatureNames() []string {
	names := make([]string, 0, e.dim)
	for k := range e.width() {
		f, _ := e.feature(k)
		switch {
		case f.numeric:
			names = append(names, f.names(e.featureName(k))...)
		case f.width == 1:
			names = append(names, f.name+"="+f.catNames[1])
		default:
			for _, c := range f.catNames {
				names = append(names, f.name+"="+c)
			}
		}
	}
	for _, p := range e.interactions {
		for _, a := range names[e.columns[p.a].offset:][:p.wa] {
			for _, b := range names[e.columns[p.b].offset:][:p.wb] {
				names = append(names, a+" * "+b)
			}
		}
	}
	return names
}

// Columns are the names of the feature columns in the order that Encode wants.
func (e *Encoder) Columns() []string {
	names := make([]string, e.width())
	for k := range names {
		names[k] = e.featureName(k)
	}
	return names
}

// Encode returns the record of one row, with norm at most 1: the same bits as
// Load gives. fields are the texts of the columns that Columns names, in that
// order and in the schema's notation; for a LIBSVM schema, "0" where the row has no such index. An error is a
// *ParseError without file and row.
func (e *Encoder) Encode(fields []string) ([]float64, error) {
	if len(fields) != e.width() {
		return nil, &source.ParseError{Rule: fmt.Sprintf("row has %d feature fields, want %d", len(fields), e.width())}
	}
	x := make([]float64, e.dim)
	for k, field := range fields {
		f, offset := e.feature(k)
		text, rule := []byte(field), ""
		if f.writes(text) {
			text, rule = f.notation.Plain(nil, text)
		}
		if rule == "" {
			rule = f.encode(text, x[offset:offset+f.width])
		}
		if rule != "" {
			return nil, &source.ParseError{Column: e.featureName(k), Position: k + 1, Rule: rule}
		}
	}
	return x, e.project(x)
}

// project projects one encoded row in place, just as Load does.
func (e *Encoder) project(x []float64) error {
	if !e.schema.IsSparse() {
		e.projectDense(x)
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
		return &source.ParseError{Rule: tooManyNonZeros(bound)}
	}
	r, err := engine.NewSparseRecords([]int64{0, int64(len(value))}, index, value, make([]float64, 1), e.dim, e.Bounds())
	if err != nil {
		return err
	}
	r.Row(0, x)
	return nil
}

// projectDense finishes a dense row whose columns are encoded: it writes the products of interactions, projects the row to norm at most
// 1, and rounds it toward zero if records are stored in float32 (docs/theory.md#stored-records): a map of one row alone.
func (e *Encoder) projectDense(x []float64) {
	e.multiply(x)
	engine.ProjectBall(x, e.Bounds().FeatureNorm)
	if e.schema.IsNarrow() {
		for k, v := range x {
			x[k] = float64(engine.TowardZero(v))
		}
	}
}

func tooManyNonZeros(bound int) string {
	return fmt.Sprintf("row has more than %d features that are not 0; raise nonzeros in the schema", bound)
}

// encode writes the outputs of a trimmed field to dst, which must be zero. The
// rule is empty on success.
func (f *featureEncoder) encode(field []byte, dst []float64) (rule string) {
	if f.numeric && f.missing.Numeric {
		if v, ok := parse.ShortNumber(field); ok {
			return f.encodeNumber(v, dst)
		}
	}
	if len(field) == 0 || f.missing.Find(field) >= 0 {
		return f.encodeMissing(dst)
	}
	if f.numeric {
		v, rule := parse.Number(field)
		switch {
		case rule == "":
			return f.encodeNumber(v, dst)
		case bytes.EqualFold(field, []byte("nan")):
			return f.encodeMissing(dst)
		case rule == parse.RuleNotNumber && f.notation == nil:
			return parse.OtherNotation(field)
		}
		return rule
	}
	k := f.cats.Find(field)
	if k < 0 && !utf8.Valid(field) {
		return ruleNotUTF8 // also with unknown: other, which would drop every letter of another encoding
	}
	if k < 0 && f.unknown {
		return "" // dst is zero
	}
	if k < 0 {
		return ruleCategory
	}
	f.setCategory(k, dst)
	return ""
}

// encodeNumber is encode for a number v of a numeric column.
func (f *featureEncoder) encodeNumber(v float64, dst []float64) (rule string) {
	if f.missing.FindNumber(v) >= 0 {
		return f.encodeMissing(dst)
	}
	f.encodeScaled(v, dst)
	return ""
}

func (f *featureEncoder) encodeMissing(dst []float64) (rule string) {
	switch f.policy {
	case MissingMiddle:
		clear(dst)
	case MissingValue:
		f.encodeScaled(f.value, dst)
	case MissingCategory:
		f.setCategory(len(f.catNames)-1, dst)
	default:
		return ruleMissing
	}
	return ""
}

func (f *featureEncoder) setCategory(k int, dst []float64) {
	if f.width == 1 {
		dst[0] = float64(2*k-1) * f.factor
		return
	}
	dst[k] = f.factor
}

// scale maps v, which is finite, to [-factor, factor].
func (f *featureEncoder) scale(v float64) float64 {
	if f.transform == "" && v > f.lo && v < f.hi { // most values: nothing below clamps them
		if u := (v - f.center) / f.half; u > -1 && u < 1 {
			return u * f.factor
		}
	}
	return f.place(v) * f.factor
}

// place maps v, which is finite, to [-1, 1].
func (f *featureEncoder) place(v float64) float64 {
	u := (transformed(min(max(v, f.lo), f.hi), f.transform) - f.center) / f.half
	return min(max(u, -1), 1)
}

// inverse is 1/half where half is a power of two, as for ranges of [-1, 1] and [0, 1]: a product with it
// is then the quotient by half to the bit, as both round the same number, and takes a fourth of the time.
func (f *featureEncoder) inverse() (inverse float64, exact bool) {
	mantissa, exponent := math.Frexp(f.half)
	return 1 / f.half, mantissa == 0.5 && -1000 < exponent && exponent < 1000
}

func transformed(v float64, transform string) float64 {
	if transform == TransformLog1p {
		return math.Log1p(v)
	}
	return v
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

// The rules of a field.
const (
	ruleMissing  = "value is missing; fill it in, or give the column a missing policy other than error"
	ruleCategory = "category is not in the schema; correct the value, add it to categories (which are public), or say `unknown: other`"
	ruleNotUTF8  = "the file is not UTF-8; set csv.encoding: windows-1252 if it is Latin-1, or save it as UTF-8"
)
