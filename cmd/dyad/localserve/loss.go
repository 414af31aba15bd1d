package localserve

import (
	"errors"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"dyad/algorithms/local"
	"dyad/autodiff"
)

// Bounds of a loss that came from elsewhere.
const (
	maxFormula = 1000 // bytes of a formula, and of each name
	maxParams  = 100
	// MaxOperations bounds the size of the slope of a formula. With it a plan is a bounded
	// number of interval operations (autodiff.Expr.Range), about a second at worst and a
	// millisecond for every loss of the library, whose slopes have at most 40.
	MaxOperations = 128
)

// formulaLoss is a loss whose formula came from a server. It is ScalarLoss of the same
// formula with as much work as a client needs, and no more: the bound of the slope. What
// engine.Expression proves besides, and its check of the derivative by differences, serve the
// quality of the model, which the server is free to spoil. Privacy does not rest on them: a
// gradient is clipped to the bound, and zero if it is not finite.
type formulaLoss struct {
	name  string
	slope autodiff.Expr
	clip  float64 // 0: none
}

var _ local.Loss = formulaLoss{}

// Name returns the name of the function.
func (l formulaLoss) Name() string { return l.name }

// Slope is phi'(v), clipped.
func (l formulaLoss) Slope(v float64) float64 { return l.clipped(l.slope.Eval(v)) }

// MaxSlope is sup |phi'| on [-margin, margin], rounded up.
func (l formulaLoss) MaxSlope(margin float64) float64 {
	r := l.slope.Range(autodiff.Interval{Lo: -margin, Hi: margin})
	return max(-l.clipped(r.Lo), l.clipped(r.Hi), 0)
}

func (l formulaLoss) clipped(v float64) float64 {
	if l.clip > 0 {
		return math.Max(-l.clip, math.Min(l.clip, v))
	}
	return v
}

// loss builds the loss of a definition that came from elsewhere.
func (l Loss) loss() (local.Loss, error) {
	names := []string{l.Name, l.Formula}
	for k := range l.Params {
		names = append(names, k)
	}
	for _, name := range names {
		if len(name) > maxFormula || len(l.Params) > maxParams {
			return nil, fmt.Errorf("localserve: the definition of the server's loss is longer than %d bytes, or has more than %d parameters", maxFormula, maxParams)
		}
		for _, r := range name {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return nil, errors.New("localserve: the definition of the server's loss has characters that cannot be printed")
			}
		}
	}
	if !(l.Clip >= 0) || math.IsInf(l.Clip, 0) {
		return nil, fmt.Errorf("localserve: the server's loss is clipped at %v", l.Clip)
	}
	phi, err := autodiff.Parse(l.Formula, l.Params)
	if err != nil {
		return nil, fmt.Errorf("localserve: the server's loss: %w", err)
	}
	slope := phi.Derivative()
	if n := slope.Size(); n > MaxOperations {
		return nil, fmt.Errorf("localserve: the slope of the server's loss has %d operations, and clients take at most %d", n, MaxOperations)
	}
	return formulaLoss{l.Name, slope, l.Clip}, nil
}
