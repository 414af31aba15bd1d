package checker

import (
	"encoding/json"
	"sync"
)

// NotChecked is the verdict on a file if the check would take too long for a command that only reads the file. The
// function Check itself has no time limit.
const NotChecked = "not checked"

// The limits of a quick check, by public numbers of the file. A quick check takes a few milliseconds.
const (
	quickBytes = 1 << 18
	quickSteps = 3000 // steps of a recursion, 1 to 3 microseconds each
	quickShift = 12   // limit of epsilon/mu, which determines the digits of the normal distribution function
)

// Passing checks a model file that a command reads anyway. The command writes the text of the file to Passing,
// which stores at most the first quickBytes + 1 bytes.
type Passing struct {
	Plan json.RawMessage // plan of the file
	text []byte
	said *Verdict
}

// Write implements io.Writer.
func (p *Passing) Write(text []byte) (int, error) {
	p.text = append(p.text, text[:min(len(text), quickBytes+1-len(p.text))]...)
	return len(text), nil
}

// Verdict returns the verdict of Check, or NotChecked if the check would take too long. It calls Check at most once.
func (p *Passing) Verdict() Verdict {
	if p.said == nil {
		p.said = &Verdict{Verdict: NotChecked, Why: "the check takes longer than this command allows"}
		if len(p.text) <= quickBytes && quick(p.Plan) {
			*p.said = Check(p.text)
		}
		p.text = nil
	}
	return *p.said
}

// Later is the verdict on a file that was read, or nil if no file was read. The first call runs the check. Several
// goroutines may call it at once.
type Later func() Verdict

// Later returns a function that returns the verdict of p. Call this function only after p has all text and the plan.
func (p *Passing) Later() Later { return sync.OnceValue(p.Verdict) }

// Of returns the verdict on the file that was read. If no file was read, it returns the verdict on the given text
// and plan. It checks nothing if the data are public, because there is no claim to check.
func (l Later) Of(public bool, text func() ([]byte, error), plan json.RawMessage) Verdict {
	switch {
	case public:
		return Verdict{Verdict: NotCovered, Why: "its data were declared public"}
	case l != nil:
		return l()
	}
	all, err := text()
	if err != nil {
		return Verdict{Verdict: Refused, Why: err.Error()}
	}
	p := Passing{Plan: plan}
	p.Write(all) // to memory
	return p.Verdict()
}

// quick reports whether checking a plan takes at most a few milliseconds. For a plan that cannot be read it returns
// true, because the check then ends at once.
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
		if t := r.Certificate.Theorem; r.Certificate.Numbers.Horizon > quickSteps ||
			p.Schedule.Steps > quickSteps && (t == "recursion" || t == "average" || t == "hidden-iterates") {
			return false
		}
		ratio := r.Certificate.Sensitivity / r.Noise.Scale
		squares += ratio * ratio
	}
	// the check covers the cube of docs/theory.md#metric-diameter
	cover := p.Problem.Loss.Form == "metric" && p.Problem.Loss.Formula == "log1p(exp(-u))"
	return !cover && (p.Budget.Delta == 0 || p.Budget.Epsilon*p.Budget.Epsilon < quickShift*quickShift*squares) &&
		len(p.Releases) <= quickSteps
}
