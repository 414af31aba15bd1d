package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"dyad/autodiff"
	"dyad/internal/memo"
	"dyad/kernels"
)

// Expression is a Scalar that is defined by a formula. Its derivative is computed
// symbolically, and its bounds are proved by interval arithmetic. So a guarantee for a
// user's own loss depends only on proved constants. An Expression is immutable.
type Expression struct {
	name, text string
	params     map[string]float64
	clip       float64
	f          *autodiff.Function
	dphi       autodiff.Expr     // phi' without clipping
	slope      *autodiff.Program // the program that computes dphi
	scratch    *sync.Pool        // of slope: *[]float64
	pieces     []Piece           // pieces of phi' if phi' is piecewise linear, else nil
	// proved caches results that take milliseconds to prove. It maps autodiff.Interval to
	// ScalarBounds, gatePassed to true and strip to the result of StripBound.
	proved *sync.Map
}

var (
	_ PiecewiseScalar = (*Expression)(nil)
	_ analyticScalar  = (*Expression)(nil)
)

// ExpressionOptions are the options of NewExpression. The zero value is valid.
type ExpressionOptions struct {
	// Params are the values of the names in the formula.
	Params map[string]float64
	// Clip > 0 clamps phi' to [-Clip, Clip] for every pair. 0 means no clipping. Without
	// clipping, a phi' that cannot be bounded is refused. The clipped slope is the
	// derivative of another loss. This other loss is convex if phi is convex, and smooth
	// if phi is smooth. So every certificate that phi allows also holds for the other
	// loss (docs/theory.md#clipping). Phi still returns the value of the formula.
	Clip float64
}

// NewExpression returns the phi(u) that text defines in the notation of autodiff.Parse,
// for example
//
//	NewExpression("hinge", "max(0, m - u)", ExpressionOptions{Params: map[string]float64{"m": 1}})
//
// It fails with a *autodiff.ParseError if text is not a formula.
func NewExpression(name, text string, o ExpressionOptions) (*Expression, error) {
	return expressions.Get(formula{name, text, fmt.Sprint(o.Params), o.Clip}, func() (*Expression, error) {
		phi, err := autodiff.Parse(text, o.Params)
		if err != nil {
			return nil, err
		}
		e, err := NewFunctionExpression(name, autodiff.NewFunction(phi), o.Clip)
		if err != nil {
			return nil, err
		}
		e.text, e.params = text, maps.Clone(o.Params)
		return e, nil
	})
}

// formula holds the definition of an Expression. Expressions with equal formulas share their proved bounds.
type formula struct {
	name, text, params string
	clip               float64
}

var expressions memo.Answers[formula, *Expression]

// NewFunctionExpression is like NewExpression for a phi that was built in Go or read from
// a Gorgonia graph (autodiff/gorgonia).
func NewFunctionExpression(name string, f *autodiff.Function, clip float64) (*Expression, error) {
	if err := checkClip(name, clip); err != nil {
		return nil, err
	}
	slope := f.Phi.Derivative()
	e := &Expression{name: name, text: f.Phi.String(), clip: clip, f: f, dphi: slope, slope: slope.Compile(),
		proved: new(sync.Map)}
	if p, ok := slope.Piecewise(); ok && clip == 0 {
		e.pieces = piecesOf(p)
	}
	e.scratch = &sync.Pool{New: func() any {
		s := make([]float64, e.slope.ScratchLen())
		return &s
	}}
	return e, nil
}

// Name returns the name of the loss.
func (e *Expression) Name() string { return e.name }

// Formula returns the text of the formula alone.
func (e *Expression) Formula() string { return e.text }

// Params returns the values of the names in the formula.
func (e *Expression) Params() map[string]float64 { return maps.Clone(e.params) }

// Clip returns ExpressionOptions.Clip.
func (e *Expression) Clip() float64 { return e.clip }

// Text returns the formula with its parameters and its clip.
func (e *Expression) Text() string {
	var b strings.Builder
	b.WriteString(e.text)
	for _, k := range slices.Sorted(maps.Keys(e.params)) {
		fmt.Fprintf(&b, ", %s = %g", k, e.params[k])
	}
	if e.clip > 0 {
		fmt.Fprintf(&b, ", slope clipped to %g", e.clip)
	}
	return b.String()
}

// SlopeExpr returns phi' as an expression, without clipping. Backends that generate their
// own code use it.
func (e *Expression) SlopeExpr() autodiff.Expr { return e.dphi }

// Phi returns phi(u), without clipping.
func (e *Expression) Phi(u float64) float64 { return e.f.Phi.Eval(u) }

// DPhi returns phi'(u), clipped.
func (e *Expression) DPhi(u float64) float64 {
	v := [1]float64{u}
	e.Slopes(v[:])
	return v[0]
}

// Slopes replaces every number of u by its DPhi.
func (e *Expression) Slopes(u []float64) {
	scratch := e.scratch.Get().(*[]float64)
	e.slope.Eval(u, u, *scratch)
	e.scratch.Put(scratch)
	if e.clip > 0 {
		for i, v := range u {
			u[i] = kernels.Clamp(v, -e.clip, e.clip)
		}
	}
}

// Pieces implements PiecewiseScalar. It finds piecewise linear slopes in rational
// arithmetic.
func (e *Expression) Pieces(lo, hi float64) ([]Piece, bool) { return piecesOn(e.pieces, lo, hi) }

// StripBound implements analyticScalar by complex interval arithmetic. It returns +Inf if
// the slope is clipped, because a clipped slope is not analytic.
func (e *Expression) StripBound(reach, height float64) float64 {
	if e.clip > 0 {
		return math.Inf(1)
	}
	at := strip{reach, height}
	if b, ok := e.proved.Load(at); ok {
		return b.(float64)
	}
	b := e.dphi.StripBound(autodiff.Interval{Lo: -reach, Hi: reach}, height)
	e.proved.Store(at, b)
	return b
}

// strip is the key of a cached StripBound.
type strip struct{ reach, height float64 }

// clippedCells is the number of parts of a range in which a clipped slope is analysed.
const clippedCells = 128

// unclipped returns the curvature and the evaluation error of the clipped slope if phi'
// is Lipschitz on the interval.
//
// Proof. In a part of the interval where phi' exceeds Clip by more than its evaluation
// error, the clipped slope is constant and computed exactly. Elsewhere clipping does not
// increase differences. A continuous function that has the same Lipschitz constant on
// each of finitely many adjacent parts has this Lipschitz constant on their union. QED
func (e *Expression) unclipped(on autodiff.Interval) (curvature, slopeError float64) {
	at := func(i int) float64 {
		if i == clippedCells {
			return on.Hi
		}
		return on.Lo + (on.Hi-on.Lo)*float64(i)/clippedCells
	}
	for i := range clippedCells {
		cell := autodiff.Interval{Lo: at(i), Hi: at(i + 1)}
		p, roundoff := e.f.Prove(cell), e.slope.Roundoff(cell)
		if beyond := e.clip + 2*roundoff; p.Slope.Hi < -beyond || p.Slope.Lo > beyond {
			continue
		}
		curvature, slopeError = max(curvature, p.Smoothness), max(slopeError, roundoff+p.Slack)
	}
	return curvature, slopeError
}

// largestJump is the largest jump of phi that rounding of the constants in its formula
// may cause, relative to the change of phi over the interval.
const largestJump = 0x1p-40

// gatePassed is the key of a range that Gate has passed.
type gatePassed autodiff.Interval

// Gate calls autodiff.Function.Check on [lo, hi]. It checks that the derivative agrees
// with difference quotients of phi, and that the derivative and phi are finite. Computing
// the constants of a loss calls Gate for the whole range of margins.
func (e *Expression) Gate(lo, hi float64) error {
	on := gatePassed{Lo: lo, Hi: hi}
	if _, ok := e.proved.Load(on); ok {
		return nil
	}
	if err := e.f.Check(lo, hi); err != nil {
		return fmt.Errorf("engine: loss %s does not suit margins from %.6g to %.6g: %w", e.name, lo, hi, err)
	}
	e.proved.Store(on, true)
	return nil
}

// Bounds returns bounds that autodiff.Function.Prove has proved.
//
// Convex and Curvature hold for a function g with |phi' - g| <= Properties.Slack. SlopeError contains
// this slack and the rounding errors of the program that computes phi'. Clamping to [-Clip, Clip] is a
// non-expansive and nondecreasing function, so Curvature, Convex and SlopeError hold for the clipped
// slope, too.
func (e *Expression) Bounds(lo, hi float64) (ScalarBounds, error) {
	if err := checkRange(e.name, lo, hi); err != nil {
		return ScalarBounds{}, err
	}
	on := autodiff.Interval{Lo: lo, Hi: hi}
	if b, ok := e.proved.Load(on); ok {
		return b.(ScalarBounds), nil
	}
	p := e.f.Prove(on)
	b := ScalarBounds{
		SlopeMin: p.Slope.Lo, SlopeMax: p.Slope.Hi,
		Curvature: p.Smoothness, Convex: p.Convex, SlopeError: e.slope.Roundoff(on) + p.Slack,
		Gap: p.SlopeGap(), Origin: Derived,
	}
	if e.clip > 0 && (b.SlopeMin < -e.clip || b.SlopeMax > e.clip) {
		b.SlopeMin, b.SlopeMax = kernels.Clamp(b.SlopeMin, -e.clip, e.clip), kernels.Clamp(b.SlopeMax, -e.clip, e.clip)
		b.Gap, b.Origin = 0, Clipped
		if !math.IsInf(b.Curvature, 0) && p.Slack == 0 {
			b.Curvature, b.SlopeError = e.unclipped(on)
		}
	}
	switch {
	case math.IsInf(b.SlopeMin, 0) || math.IsInf(b.SlopeMax, 0) || math.IsNaN(b.SlopeMin) || math.IsNaN(b.SlopeMax):
		return ScalarBounds{}, fmt.Errorf("engine: the slope of loss %s has no proved bound for margins from %.6g "+
			"to %.6g; clip it (Clip, --loss-clip), or use a smaller radius", e.name, lo, hi)
	case !(p.Jump <= largestJump*(1+b.Slope()*(hi-lo))):
		return ScalarBounds{}, fmt.Errorf("engine: loss %s may be discontinuous for margins from %.6g to %.6g; "+
			"choose a continuous loss", e.name, lo, hi)
	}
	e.proved.Store(on, b)
	return b, nil
}
