package embedding

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
)

// Loss is the pair loss of a model, l(theta; z, z') = Pair(f_theta(x), f_theta(x'), y, y'), with clipped
// Jacobians: what AddGrad adds is
//
//	s J^T a + s' J'^T b,   s = min(1, Clip/||J||_F),   J the Jacobian of f_theta at x
//
// It is an engine.Loss and an engine.ConstrainedLoss. The zero value is not valid.
type Loss struct {
	Model Model
	Pair  PairLoss
	// Clip is C > 0, the clipping norm of Jacobians; it is public.
	Clip float64
	// Seed draws the start; Start is used instead if it is not nil, e.g. weights that were trained on
	// public data. Both are public.
	Seed  uint64
	Start []float64
	// PairClip > 0 clips the whole term of every pair to this norm instead, which is tighter and dearer: G =
	// PairClip, Dg = 2 PairClip, and n^2 times the widths of the layers for an MLP (scores, or at most one
	// hidden layer), else a backward pass for every pair. Clip is then ignored.
	PairClip float64
}

// Radius bounds ||theta||: the smallest Problem.Radius for this loss.
func (l Loss) Radius() float64 { return domainOf(l).radius() }

// Score is the bipartite ranking loss phi((y - y')(f - f')) of a network with m = 1.
type Score struct{ Of engine.Scalar }

// Bilinear is phi(y y' f.f'): with Output.Unit the cosine.
type Bilinear struct{ Of engine.Scalar }

// Distance is phi(y y' (1 - ||f - f'||^2)).
type Distance struct{ Of engine.Scalar }

var _ engine.ConstrainedLoss = Loss{}

// Name joins the names of the pair loss and of the network.
func (l Loss) Name() string { return l.Pair.Name() + " of " + l.Model.Network.Name() }

// Definition is the formula of the pair loss, and what f is.
func (l Loss) Definition() string {
	clipped := fmt.Sprintf("Jacobians clipped to %g", l.Clip)
	if l.PairClip > 0 {
		clipped = fmt.Sprintf("gradients of pairs clipped to %g", l.PairClip)
	}
	return fmt.Sprintf("%s, f = %s, %s", l.Pair.Definition(), l.Model.Network.Name(), clipped)
}

// ParamDim is the number of parameters of the network.
func (l Loss) ParamDim(int) int { return Parameters(l.Model.Network) }

// Domain is the product of the balls of the layers.
func (l Loss) Domain(int, float64) engine.Domain { return domainOf(l) }

// Constants are G = 2 A C, Dg = 4 A C or the smaller one of PairBounds, L = +Inf
// (docs/theory.md#networks); with PairClip c they are G = c and Dg = 2c.
func (l Loss) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	if err := l.validate(b, radius); err != nil {
		return engine.Constants{}, err
	}
	c := engine.Constants{Lipschitz: l.PairClip, PairDiameter: 2 * l.PairClip, Smoothness: math.Inf(1), Origin: engine.ClippedTerms}
	if l.PairClip > 0 {
		return c, nil
	}
	k, err := l.bounds(b)
	if err != nil {
		return engine.Constants{}, err
	}
	c.Lipschitz, c.PairDiameter = 2*k.Slope*l.Clip*up, min(k.Diameter, 4*k.Slope)*l.Clip*up
	return c, c.Validate()
}

// bounds returns the bounds of the pair loss on the range of the model.
func (l Loss) bounds(b engine.Bounds) (PairBounds, error) {
	_, m := l.Model.Dims()
	return l.Pair.Bounds(b, l.Model.Reach(b.FeatureNorm), m)
}

// validate checks everything but the pair loss.
func (l Loss) validate(b engine.Bounds, radius float64) error {
	if l.Pair == nil {
		return errors.New("embedding: Loss.Pair is nil; choose a loss such as Score{Of: engine.Logistic{}}")
	}
	if err := errors.Join(l.Model.Validate(), b.Validate()); err != nil {
		return err
	}
	switch reach := l.Model.Reach(b.FeatureNorm); {
	case l.PairClip < 0 || math.IsNaN(l.PairClip) || l.PairClip > 0x1p200:
		return fmt.Errorf("embedding: Loss.PairClip is %v, want a clipping norm, or 0 to clip Jacobians", l.PairClip)
	case l.PairClip == 0 && !(l.Clip >= 0x1p-200 && l.Clip <= 0x1p200):
		return fmt.Errorf("embedding: Loss.Clip is %v, want a clipping norm of Jacobians between 2^-200 and 2^200", l.Clip)
	case l.PairClip == 0 && !(reach <= 0x1p200):
		return fmt.Errorf("embedding: the range of network %s has no usable bound (%v); set Output.Unit or Output.Within", l.Model.Network.Name(), reach)
	case radius < l.Radius():
		return fmt.Errorf("embedding: Problem.Radius is %v, the layers' balls need %v; use Loss.Radius", radius, l.Radius())
	case l.Start != nil && len(l.Start) != Parameters(l.Model.Network):
		return fmt.Errorf("embedding: Loss.Start has %d numbers, network %s has %d parameters", len(l.Start), l.Model.Network.Name(), Parameters(l.Model.Network))
	}
	return nil
}

// Value is the loss of a pair at theta; NaN if theta does not fit.
func (l Loss) Value(theta []float64, z, zp engine.Record) float64 {
	f, fp, err := l.pair(theta, z, zp)
	if err != nil {
		return math.NaN()
	}
	return l.Pair.Phi(l.Pair.Link().Of(f, fp), z.Y, zp.Y)
}

func (l Loss) pair(theta []float64, z, zp engine.Record) (f, fp []float64, err error) {
	_, m := l.Model.Dims()
	both := make([]float64, 2*m)
	x := append(append(make([]float64, 0, len(z.X)+len(zp.X)), z.X...), zp.X...)
	err = l.Model.Embed(both, theta, x, 2)
	return both[:m], both[m:], err
}

// AddGrad adds the term of a pair with clipped Jacobians, or with PairClip the gradient before it is
// clipped, which the backend does.
func (l Loss) AddGrad(dst, theta []float64, z, zp engine.Record) {
	p, err := l.Model.plainPass()
	if err != nil {
		return
	}
	_, m := l.Model.Dims()
	p.Set(theta)
	x := append(append(make([]float64, 0, len(z.X)+len(zp.X)), z.X...), zp.X...)
	f, v, norms, scale := make([]float64, 2*m), make([]float64, 2*m), make([]float64, 2), make([]float64, 2)
	p.embed(f, norms, x, 2)
	for i := range 2 {
		if !usable(f[i*m:][:m], norms[i]) {
			clear(f[i*m:][:m])
			norms[i] = math.Inf(1)
		}
	}
	link := l.Pair.Link()
	link.Pull(v[:m], v[m:], f[:m], f[m:], l.Pair.DPhi(link.Of(f[:m], f[m:]), z.Y, zp.Y))
	if slices.ContainsFunc(v, func(a float64) bool { return math.IsNaN(a) || math.IsInf(a, 0) }) {
		return
	}
	for i, n := range norms {
		if scale[i] = l.scale(n); scale[i] == 0 {
			continue
		}
		p.embed(f[:m], norms[:1], x[i*len(z.X):], 1)
		p.pull(dst, v[i*m:][:m], scale[i:], 1)
	}
}

// scale is min(1, Clip/norm), rounded so that it times norm is at most Clip, for a norm of at least that
// of the Jacobian; 0 for a record without a Jacobian, and 1 with PairClip.
func (l Loss) scale(norm float64) float64 {
	switch {
	case !(norm <= math.MaxFloat64):
		return 0
	case l.PairClip > 0:
		return 1
	}
	return min(1, l.Clip/norm*(1-0x1p-50))
}
