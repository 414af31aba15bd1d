package dataset

import "bytes"

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
	switch {
	case len(field) == 0:
		return l, ruleNoLabel
	case e.label.Kind == KindNumeric:
		return e.encodeGrade(field)
	case e.positive.find(field) >= 0:
		return encodedLabel{y: 1}, ""
	case e.negative == nil || e.negative.find(field) >= 0:
		return encodedLabel{y: -1}, ""
	case e.label.Others == OthersDrop:
		return encodedLabel{drop: true}, ""
	}
	return l, ruleLabel
}

// labelMemo remembers the labels of the first few texts, which are those of most rows.
type labelMemo struct {
	texts  []string
	labels []encodedLabel
}

// encode is e.encodeLabel. A memo is of one encoder.
func (m *labelMemo) encode(e *Encoder, field []byte) (l encodedLabel, rule string) {
	for i, text := range m.texts {
		if string(field) == text {
			return m.labels[i], ""
		}
	}
	if l, rule = e.encodeLabel(field); rule == "" && len(m.texts) < 4 {
		m.texts, m.labels = append(m.texts, string(field)), append(m.labels, l)
	}
	return l, rule
}

// encodeGrade maps the range linearly to [-1, 1].
func (e *Encoder) encodeGrade(field []byte) (l encodedLabel, rule string) {
	v, rule := parseNumber(field)
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
