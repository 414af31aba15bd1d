package schema

import (
	"bytes"
	"strings"

	"dyad/engine/dataset/parse"
)

// Label is the encoded label of a row.
type Label struct {
	Y    float64 // label in [-1, 1]
	Drop bool    // the row must be left out
}

// EncodeLabel returns -1 or +1 for a label with two classes. For a graded label it returns the position in the
// range, scaled to [-1, 1]. rule is the rule that the field breaks, or "" on success.
func (e *Encoder) EncodeLabel(field []byte) (l Label, rule string) {
	if suffix := e.LabelColumn.TrimSuffix; suffix != "" {
		field = bytes.TrimSuffix(field, []byte(suffix))
	}
	if e.LabelColumn.Fold {
		field = Fold(field)
	}
	switch {
	case len(field) == 0:
		return l, RuleNoLabel
	case e.LabelColumn.Kind == KindNumeric:
		return e.encodeGrade(field)
	case e.positive.Find(field) >= 0:
		return Label{Y: 1}, ""
	case e.negative == nil || e.negative.Find(field) >= 0:
		return Label{Y: -1}, ""
	case e.LabelColumn.Others == OthersDrop:
		return Label{Drop: true}, ""
	}
	return l, RuleLabel
}

// LabelMemo caches the encoded labels of up to 8 texts. Each of two classes has a slot of its own, so
// that no branch depends on the label.
type LabelMemo [8]struct {
	text  string // empty if the slot is unused, because no label has an empty text
	label Label
}

// Encode returns the result of e.EncodeLabel. A memo must be used with one encoder only.
func (m *LabelMemo) Encode(e *Encoder, field []byte) (l Label, rule string) {
	if len(field) == 0 {
		return e.EncodeLabel(field)
	}
	known := &m[(3*int(field[0])+2*int(field[len(field)-1])+len(field))&7]
	if string(field) == known.text {
		return known.label, ""
	}
	if l, rule = e.EncodeLabel(field); rule == "" && known.text == "" && len(field) <= 64 {
		known.text, known.label = string(field), l
	}
	return l, rule
}

// encodeGrade maps the range of a graded label linearly to [-1, 1].
func (e *Encoder) encodeGrade(field []byte) (l Label, rule string) {
	v, rule := parse.Number(field)
	if rule != "" {
		return l, RuleLabelNumber
	}
	lo, hi := e.LabelColumn.Range[0], e.LabelColumn.Range[1]
	if v < lo || v > hi {
		return l, RuleLabelRange
	}
	u := (v - (lo/2 + hi/2)) / (hi/2 - lo/2)
	return Label{Y: min(max(u, -1), 1)}, ""
}

// TrimLabel removes the suffix declared by the schema.
func (e *Encoder) TrimLabel(label string) string {
	return strings.TrimSuffix(label, e.LabelColumn.TrimSuffix)
}

// The rules of a label.
const (
	RuleLabel = "the label is neither the positive nor the negative class of the schema; correct the value or the " +
		"schema"
	RuleNoLabel     = "the label is missing; training and evaluation need a label in every row"
	RuleLabelRange  = "the label is outside its range; correct the value, or the range in the schema"
	RuleLabelNumber = "the label is not a finite number; correct the value"
)
