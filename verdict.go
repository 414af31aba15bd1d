package dyad

import (
	"encoding/json"

	"dyad/docs/checker"
	"dyad/privacy"
)

// NotChecked is the verdict of a file whose check would take longer than a command that scores with it; dyad verify has no limit.
const NotChecked = "not checked"

// Verdict is what the checker says of a file (docs/verify.md): checker.Verified, checker.NotCovered, checker.Refused or NotChecked.
type Verdict = checker.Verdict

// What a check in passing may cost, by public numbers of the file: some milliseconds.
const (
	quickBytes = 1 << 18
	quickSteps = 3000 // of a recursion, 1 to 3 microseconds each
	quickShift = 12   // epsilon over mu: digits of the normal law
)

// origin is the file that a model or clusters were read from.
type origin struct {
	sum  []byte // its checksum, nil without one
	text []byte // nil if it has more than quickBytes
	kind privacy.Kind
	plan json.RawMessage
	said *Verdict
}

// head keeps a text of at most quickBytes.
type head struct{ text []byte }

// Write implements io.Writer.
func (h *head) Write(text []byte) (int, error) {
	h.text = append(h.text, text[:min(len(text), quickBytes+1-len(h.text))]...)
	return len(text), nil
}

// whole is nil for a longer text.
func (h *head) whole() []byte {
	if len(h.text) > quickBytes {
		return nil
	}
	return h.text
}

// verdict is evaluated once.
func (o *origin) verdict() Verdict {
	if o.said == nil {
		o.said = &Verdict{Verdict: NotChecked, Why: "that takes longer than this command may"}
		switch {
		case o.kind == privacy.Public:
			*o.said = Verdict{Verdict: checker.NotCovered, Why: "its data were declared public"}
		case o.text != nil && quick(o.plan):
			*o.said = checker.Check(o.text)
		}
		o.text = nil
	}
	return *o.said
}

// quick says that the checker takes some milliseconds for a plan. A plan that cannot be read costs nothing.
func quick(plan json.RawMessage) bool {
	var p struct {
		Problem struct {
			Loss struct{ Form, Formula string }
		}
		Schedule struct{ Steps float64 }
		Budget   struct{ Epsilon, Delta float64 }
		Releases []struct {
			Certificate struct {
				Theorem     string
				Sensitivity float64
			}
			Noise struct{ Scale float64 }
		}
	}
	if len(plan) == 0 || json.Unmarshal(plan, &p) != nil {
		return true
	}
	var squares float64
	for _, r := range p.Releases {
		if t := r.Certificate.Theorem; p.Schedule.Steps > quickSteps && (t == "recursion" || t == "average") {
			return false
		}
		ratio := r.Certificate.Sensitivity / r.Noise.Scale
		squares += ratio * ratio
	}
	cover := p.Problem.Loss.Form == "metric" && p.Problem.Loss.Formula == "log1p(exp(-u))" // of the cube of docs/theory.md#metric-diameter
	return !cover && (p.Budget.Delta == 0 || p.Budget.Epsilon*p.Budget.Epsilon < quickShift*quickShift*squares) && len(p.Releases) <= quickSteps
}

// Verdict is what the checker says of the file that the model was read from. It is evaluated at the first call, in some
// milliseconds; a file for which that is not enough, by its size and its plan, is NotChecked. Of public data nothing is
// claimed, and nothing checked. A model that was not read has the verdict of its Text.
func (m *Model) Verdict() Verdict {
	if m.read == nil {
		text, err := m.Text()
		if err != nil {
			return Verdict{Verdict: checker.Refused, Why: err.Error()}
		}
		m.read = &origin{text: text, kind: m.Guarantee.Kind, plan: m.Plan}
	}
	return m.read.verdict()
}

// Verdict is Model.Verdict for clusters, which no theorem of the checker covers in this version.
func (c *Clusters) Verdict() Verdict {
	why := "no theorem of clusters is recomputed"
	if c.Guarantee.Kind == privacy.Public {
		why = "its data were declared public"
	}
	return Verdict{Verdict: checker.NotCovered, Why: why}
}
