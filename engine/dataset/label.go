package dataset

import (
	"bytes"

	"dyad/engine/dataset/parse"
)

// encodedLabel is what becomes of the label of a row.
type encodedLabel struct {
	y    float64 // in [-1, 1]
	drop bool    // leave the row out
}

// encodeLabel returns -1 or +1, or the place in the range of a graded label. The
// rule is empty on success.
func (e *Encoder) encodeLabel(field []byte) (l encodedLabel, rule string) {
	if suffix := e.label.TrimSuffix; suffix != "" {
		field = bytes.TrimSuffix(field, []byte(suffix))
	}
	if e.label.Fold {
		field = foldLabel(field)
	}
	switch {
	case len(field) == 0:
		return l, ruleNoLabel
	case e.label.Kind == KindNumeric:
		return e.encodeGrade(field)
	case e.positive.Find(field) >= 0:
		return encodedLabel{y: 1}, ""
	case e.negative == nil || e.negative.Find(field) >= 0:
		return encodedLabel{y: -1}, ""
	case e.label.Others == OthersDrop:
		return encodedLabel{drop: true}, ""
	}
	return l, ruleLabel
}

// foldLabel makes texts that differ in capitals and in blanks around them one text.
func foldLabel[T string | []byte](text T) []byte {
	return bytes.ToLower(bytes.TrimSpace([]byte(text)))
}

// class is the text that a value of the label is compared with.
func (c *Column) class(value string) string {
	if c.Fold {
		return string(foldLabel(value))
	}
	return value
}

// labelMemo remembers the labels of some texts: those of two classes find a place each, so that no branch
// depends on the label.
type labelMemo [8]struct {
	text  string // empty: no label has this text
	label encodedLabel
}

// encode is e.encodeLabel. A memo is of one encoder.
func (m *labelMemo) encode(e *Encoder, field []byte) (l encodedLabel, rule string) {
	if len(field) == 0 {
		return e.encodeLabel(field)
	}
	known := &m[(3*int(field[0])+2*int(field[len(field)-1])+len(field))&7]
	if string(field) == known.text {
		return known.label, ""
	}
	if l, rule = e.encodeLabel(field); rule == "" && known.text == "" && len(field) <= 64 {
		known.text, known.label = string(field), l
	}
	return l, rule
}

// encodeGrade maps the range linearly to [-1, 1].
func (e *Encoder) encodeGrade(field []byte) (l encodedLabel, rule string) {
	v, rule := parse.Number(field)
	if rule != "" {
		return l, ruleLabelNumber
	}
	lo, hi := e.label.Range[0], e.label.Range[1]
	if v < lo || v > hi {
		return l, ruleLabelRange
	}
	u := (v - (lo/2 + hi/2)) / (hi/2 - lo/2)
	return encodedLabel{y: min(max(u, -1), 1)}, ""
}

// trimLabel cuts the suffix that the schema names.
func (e *Encoder) trimLabel(label string) string {
	if n := len(label) - len(e.label.TrimSuffix); n >= 0 && label[n:] == e.label.TrimSuffix {
		return label[:n]
	}
	return label
}

// The rules of a label.
const (
	ruleLabel       = "label is neither the positive nor the negative class of the schema; correct the value, or the schema"
	ruleNoLabel     = "label is missing; training and evaluation need a label in every row"
	ruleLabelRange  = "label is outside its range; correct the value, or the range in the schema"
	ruleLabelNumber = "label is not a finite number; correct the value"
)
