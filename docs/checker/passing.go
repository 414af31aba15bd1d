package checker

import "encoding/json"

// NotChecked is the verdict of a file whose check would take longer than a command that reads it in passing; Check has no limit.
const NotChecked = "not checked"

// What a check in passing may cost, by public numbers of the file: some milliseconds.
const (
	quickBytes = 1 << 18
	quickSteps = 3000 // of a recursion, 1 to 3 microseconds each
	quickShift = 12   // epsilon over mu: digits of the normal law
)

// Passing is a model file that is read for another purpose. The text of the file is written to it, and it keeps the first
// quickBytes and one of them.
type Passing struct {
	Plan json.RawMessage // of the file
	text []byte
	said *Verdict
}

// Write implements io.Writer.
func (p *Passing) Write(text []byte) (int, error) {
	p.text = append(p.text, text[:min(len(text), quickBytes+1-len(p.text))]...)
	return len(text), nil
}

// Empty reports whether Passing got no text.
func (p *Passing) Empty() bool { return p.text == nil && p.said == nil }

// Verdict returns the verdict of Check, which is called once, or NotChecked.
func (p *Passing) Verdict() Verdict {
	if p.said == nil {
		p.said = &Verdict{Verdict: NotChecked, Why: "that takes longer than this command may"}
		if len(p.text) <= quickBytes && quick(p.Plan) {
			*p.said = Check(p.text)
		}
		p.text = nil
	}
	return *p.said
}

// quick reports whether the checker takes some milliseconds for a plan. A plan that cannot be read costs nothing.
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
				Numbers     struct{ Horizon float64 } // of a stream
			}
			Noise struct{ Scale float64 }
		}
	}
	if len(plan) == 0 || json.Unmarshal(plan, &p) != nil {
		return true
	}
	var squares float64
	for _, r := range p.Releases {
		if t := r.Certificate.Theorem; r.Certificate.Numbers.Horizon > quickSteps || p.Schedule.Steps > quickSteps && (t == "recursion" || t == "average" || t == "hidden-iterates") {
			return false
		}
		ratio := r.Certificate.Sensitivity / r.Noise.Scale
		squares += ratio * ratio
	}
	cover := p.Problem.Loss.Form == "metric" && p.Problem.Loss.Formula == "log1p(exp(-u))" // of the cube of docs/theory.md#metric-diameter
	return !cover && (p.Budget.Delta == 0 || p.Budget.Epsilon*p.Budget.Epsilon < quickShift*quickShift*squares) && len(p.Releases) <= quickSteps
}
