package dyad

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"dyad/autodiff"
	"dyad/engine"
	"dyad/internal/input"
)

// The tasks of a model.
const (
	AUC    = "auc"    // linear scores w.x that rank positives above negatives
	Metric = "metric" // a Mahalanobis metric in which equal labels are close
)

// Loss is the definition of a pair loss phi(u); u is the margin of a pair, positive if the
// pair is right. The zero value is the logistic loss.
type Loss struct {
	Name    string             `json:"name"`
	Formula string             `json:"formula,omitempty"` // of phi(u)
	Params  map[string]float64 `json:"params,omitempty"`
	Clip    float64            `json:"clip,omitempty"` // phi' is clamped to [-Clip, Clip]; 0: not
}

const (
	logistic = "logistic"
	custom   = "custom"
	square   = "square"
)

// lossName is what a name of a loss looks like; anything else is a formula.
var lossName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*$`)

// NewLoss is the built-in loss of a name, or that of a formula such as "log1p(exp(-u))".
// params are the values of the names in it.
func NewLoss(text string, params map[string]float64, clip float64) (Loss, error) {
	s := Loss{Name: text, Params: params, Clip: clip}
	if l, ok := engine.LibraryByName(text); ok {
		e, err := l.Expression(engine.ExpressionOptions{Params: params, Clip: clip})
		if err != nil {
			return s, input.As(err)
		}
		s.Formula, s.Params = e.Formula(), e.Params()
		return s, nil
	}
	if lossName.MatchString(text) && text != "u" {
		var names []string
		for _, l := range engine.Library() {
			names = append(names, l.Name)
		}
		return s, input.Errorf("dyad: loss %q is neither a built-in loss (%s) nor a formula in u", text, strings.Join(names, ", "))
	}
	s.Name, s.Formula = custom, text
	_, err := s.Scalar()
	return s, err
}

// named says that the caller chose a loss.
func (s Loss) named() bool { return s.Name != "" || s.Params != nil || s.Clip != 0 }

// defined is the loss with its formula.
func (s Loss) defined() (Loss, error) {
	if s.Formula != "" {
		return s, nil
	}
	return NewLoss(cmp.Or(s.Name, logistic), s.Params, s.Clip)
}

// Scalar is phi.
func (s Loss) Scalar() (*engine.Expression, error) {
	s, err := s.defined()
	if err != nil {
		return nil, err
	}
	e, err := engine.NewExpression(s.Name, s.Formula, engine.ExpressionOptions{Params: s.Params, Clip: s.Clip})
	var parse *autodiff.ParseError
	if errors.As(err, &parse) {
		return nil, input.Errorf("dyad: loss: column %d: %s\n%s", parse.Column, parse.Reason, parse.Caret())
	}
	return e, input.As(err)
}

// Of is the pair loss of a task. The logistic loss has kernels of its own.
func (s Loss) Of(task string) (engine.Loss, error) {
	if task != AUC && task != Metric {
		return nil, input.Errorf("dyad: the task %q is not known here; it is %q or %q", task, AUC, Metric)
	}
	switch own := (s.Name == logistic || s.Name == "") && s.Clip == 0; {
	case own && task == AUC:
		return engine.Logistic{}, nil
	case own:
		return engine.MahalanobisLogistic{}, nil
	}
	e, err := s.Scalar()
	switch {
	case err != nil:
		return nil, err
	case task == AUC:
		return engine.Score{Of: e}, nil
	}
	return engine.Metric{Of: e}, nil
}
