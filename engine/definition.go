package engine

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"dyad/autodiff"
	"dyad/internal/input"
)

// Definition defines a pair loss phi(u). The margin u of a pair is positive if the pair is in
// the right order (AUC) or on the right side of distance 1 (metric). The zero value is the
// logistic loss.
type Definition struct {
	Name    string             `json:"name"`
	Formula string             `json:"formula,omitempty"` // the formula of phi(u)
	Params  map[string]float64 `json:"params,omitempty"`
	Clip    float64            `json:"clip,omitempty"` // phi' is clamped to [-Clip, Clip]; 0 means no clamping
}

// TaskAUC and TaskMetric are the tasks of a model.
const TaskAUC, TaskMetric = "auc", "metric"

// LogisticName is the name of the loss of a Definition without a name.
const LogisticName = "logistic"

// custom is the name of a loss that is a formula.
const custom = "custom"

// lossName matches the name of a loss. Any other text is a formula.
var lossName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*$`)

// Define returns the built-in loss with the name text. If text is not a name, it is a
// formula such as "log1p(exp(-u))". params are the values of the names in the formula.
func Define(text string, params map[string]float64, clip float64) (Definition, error) {
	s := Definition{Name: text, Params: params, Clip: clip}
	if l, ok := LibraryByName(text); ok {
		e, err := l.Expression(ExpressionOptions{Params: params, Clip: clip})
		if err != nil {
			return s, input.As(err)
		}
		s.Formula, s.Params = e.Formula(), e.Params()
		return s, nil
	}
	if lossName.MatchString(text) && text != "u" {
		var names []string
		for _, l := range Library() {
			names = append(names, l.Name)
		}
		return s, lossError(" %q is neither a built-in loss (%s) nor a formula in u", text,
			strings.Join(names, ", "))
	}
	s.Name, s.Formula = custom, text
	_, err := s.Scalar()
	return s, err
}

// Named reports whether the caller chose a loss.
func (s Definition) Named() bool {
	return s.Name != "" || s.Formula != "" || s.Params != nil || s.Clip != 0
}

// Defined returns the definition with its name and its formula filled in. The name becomes "custom" if a formula has no
// name, or has the name of a built-in loss with another formula.
func (s Definition) Defined() (Definition, error) {
	if s.Formula == "" {
		return Define(cmp.Or(s.Name, LogisticName), s.Params, s.Clip)
	}
	if l, builtin := LibraryByName(s.Name); s.Name == "" || builtin && l.Text != s.Formula {
		s.Name = custom
	}
	return s, nil
}

// Scalar returns phi.
func (s Definition) Scalar() (*Expression, error) {
	s, err := s.Defined()
	if err != nil {
		return nil, err
	}
	e, err := NewExpression(s.Name, s.Formula, ExpressionOptions{Params: s.Params, Clip: s.Clip})
	var parse *autodiff.ParseError
	if errors.As(err, &parse) {
		return nil, lossError(": column %d: %s\n%s", parse.Column, parse.Reason, parse.Caret())
	}
	return e, input.As(err)
}

// Of returns the pair loss for a task. The logistic loss is a Logistic or a
// MahalanobisLogistic, and backends have special kernels for these types.
func (s Definition) Of(task string) (Loss, error) {
	if task != TaskAUC && task != TaskMetric {
		return nil, input.Errorf("engine: the task %q is unknown; the task must be %q or %q", task, TaskAUC, TaskMetric)
	}
	s, err := s.Defined()
	if err != nil {
		return nil, err
	}
	switch own := s.Name == LogisticName && s.Clip == 0; {
	case own && task == TaskAUC:
		return Logistic{}, nil
	case own:
		return MahalanobisLogistic{}, nil
	}
	return s.Analysed(task)
}

// Analysed returns the pair loss for a task in a form that can be analysed. This includes the logistic loss.
func (s Definition) Analysed(task string) (ScalarLoss, error) {
	e, err := s.Scalar()
	switch {
	case err != nil:
		return nil, err
	case task == TaskAUC:
		return Score{Of: e}, nil
	}
	return Metric{Of: e}, nil
}

// Functions returns the names of the functions that a formula may use.
func Functions() []string { return autodiff.Functions() }
