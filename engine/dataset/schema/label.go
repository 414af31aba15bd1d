package schema

import (
	"bytes"

	"dyad/engine/dataset/parse"
)

// Label is the outcome of reading the label of a row.
type Label struct {
	Y    float64 // in [-1, 1]
	Drop bool    // leave the row out
}

// EncodeLabel returns -1 or +1, or the place in the range of a graded label. The
// rule is empty on success.
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

// Fold makes texts that differ in capitals and in blanks around them one text.
func Fold[T string | []byte](text T) []byte {
	return bytes.ToLower(bytes.TrimSpace([]byte(text)))
}

// class is the text that a value of the label is compared with.
func (c *Column) class(value string) string {
	if c.Fold {
		return string(Fold(value))
	}
	return value
}

// LabelMemo remembers the labels of some texts: those of two classes find a place each, so that no branch
// depends on the label.
type LabelMemo [8]struct {
	text  string // empty: no label has this text
	label Label
}

// Encode is e.EncodeLabel. A memo is of one encoder.
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

// encodeGrade maps the range linearly to [-1, 1].
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

// TrimLabel cuts the suffix that the schema names.
func (e *Encoder) TrimLabel(label string) string {
	if n := len(label) - len(e.LabelColumn.TrimSuffix); n >= 0 && label[n:] == e.LabelColumn.TrimSuffix {
		return label[:n]
	}
	return label
}

// The rules of a label.
const (
	RuleLabel       = "label is neither the positive nor the negative class of the schema; correct the value, or the schema"
	RuleNoLabel     = "label is missing; training and evaluation need a label in every row"
	RuleLabelRange  = "label is outside its range; correct the value, or the range in the schema"
	RuleLabelNumber = "label is not a finite number; correct the value"
)
