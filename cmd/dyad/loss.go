package main

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"dyad/autodiff"
	"dyad/engine"
)

// lossFlags choose the pair loss.
type lossFlags struct {
	Loss      string             `type:"formula" placeholder:"NAME|EXPR" help:"Pair loss phi(u): a name of \"dyad losses\", or a formula such as 'log1p(exp(-u))'. u is the margin of a pair, positive if the pair is right. Default: logistic, but for algorithms with a loss of their own."`
	LossParam map[string]float64 `name:"loss-param" placeholder:"K=V" help:"Value of a name in the formula, or of a parameter of a named loss; may be repeated."`
	LossClip  float64            `positive:"" name:"loss-clip" placeholder:"C" help:"Clamp phi' of every pair to [-C, C], for a loss whose slope has no bound. Default: no clipping."`
}

// lossSpec is the definition of a loss in a model file.
type lossSpec struct {
	Name    string             `json:"name"`
	Formula string             `json:"formula,omitempty"` // of phi(u)
	Params  map[string]float64 `json:"params,omitempty"`
	Clip    float64            `json:"clip,omitempty"`
}

const (
	logisticName = "logistic"
	customName   = "custom"
)

// lossName is what a name of a loss looks like; anything else is a formula.
var lossName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*$`)

// named says that the user chose a loss.
func (f lossFlags) named() bool { return f.Loss != "" || f.LossParam != nil || f.LossClip != 0 }

// definition is the loss that the flags describe, and loss builds it for a task.
func (f lossFlags) definition() (lossSpec, error) {
	f.Loss = cmp.Or(f.Loss, logisticName)
	s := lossSpec{Name: f.Loss, Params: f.LossParam, Clip: f.LossClip}
	if l, ok := engine.LibraryByName(f.Loss); ok {
		e, err := l.Expression(engine.ExpressionOptions{Params: f.LossParam, Clip: f.LossClip})
		if err != nil {
			return s, asInput(err)
		}
		s.Formula, s.Params = e.Formula(), e.Params()
		return s, nil
	}
	if lossName.MatchString(f.Loss) && f.Loss != "u" {
		var names []string
		for _, l := range engine.Library() {
			names = append(names, l.Name)
		}
		return s, badInput("--loss %q is neither a built-in loss (%s) nor a formula in u", f.Loss, strings.Join(names, ", "))
	}
	s.Name, s.Formula = customName, f.Loss
	return s, nil
}

// own reports that the loss has kernels of its own instead of its formula.
func (s lossSpec) own() bool { return (s.Name == logisticName || s.Name == "") && s.Clip == 0 }

// scalar is phi.
func (s lossSpec) scalar() (*engine.Expression, error) {
	e, err := engine.NewExpression(s.Name, s.Formula, engine.ExpressionOptions{Params: s.Params, Clip: s.Clip})
	var parse *autodiff.ParseError
	if errors.As(err, &parse) {
		return nil, badInput("--loss: column %d: %s\n%s", parse.Column, parse.Reason, parse.Caret())
	}
	return e, asInput(err)
}

// build is the pair loss of a task.
func (s lossSpec) build(task string) (engine.Loss, error) {
	known, ok := tasks[task]
	if !ok {
		return nil, badInput("task %q is unknown to this program", task)
	}
	if s.own() {
		return known, nil
	}
	e, err := s.scalar()
	if err != nil {
		return nil, err
	}
	if task == taskMetric {
		return engine.Metric{Of: e}, nil
	}
	return engine.Score{Of: e}, nil
}

// loss is the pair loss of the flags.
func (f lossFlags) loss(task string) (engine.Loss, error) {
	s, err := f.definition()
	if err != nil {
		return nil, err
	}
	return s.build(task)
}

// marginText says what u is.
func marginText(task string) string {
	if task == taskMetric {
		return "u = y y' (1 - (x - x')^T W (x - x'))"
	}
	return "u = (y - y') w.(x - x')"
}
