package command

import (
	"cmp"
	"errors"

	lib "dyad"
	"dyad/engine"
)

// lossFlags are the flags that choose the pair loss.
type lossFlags struct {
	Loss      string             `type:"formula" placeholder:"NAME|EXPR" help:"Pair loss phi(u): a name of \"dyad lab losses\", or a formula such as 'log1p(exp(-u))'. u is the margin of a pair, positive if the pair is right. Default: logistic, except for algorithms with a loss of their own."`
	LossParam map[string]float64 `name:"loss-param" placeholder:"K=V" help:"Value V of the parameter K of the loss or formula. May be repeated."`
	LossClip  float64            `positive:"" name:"loss-clip" placeholder:"C" help:"Clip the slope phi'(u) to [-C, C], for a loss with unbounded slope. Default: no clipping."`
}

// named reports whether the user chose a loss.
func (f lossFlags) named() bool { return f.Loss != "" || f.LossParam != nil || f.LossClip != 0 }

// definition returns the loss described by the flags.
func (f lossFlags) definition() (lib.Loss, error) {
	l, err := lib.NewLoss(cmp.Or(f.Loss, "logistic"), f.LossParam, f.LossClip)
	if wrong, ok := errors.AsType[*engine.LossError](err); ok {
		err = badInput("--loss%s", wrong.Why)
	}
	return l, err
}

// loss returns the pair loss of the flags for a task.
func (f lossFlags) loss(task string) (engine.Loss, error) {
	s, err := f.definition()
	if err != nil {
		return nil, err
	}
	return s.Of(task)
}

// marginText returns the definition of u for a task.
func marginText(task string) string {
	if task == taskMetric {
		return "u = y y' (1 - (x - x')^T W (x - x'))"
	}
	return "u = (y - y') w.(x - x')"
}
