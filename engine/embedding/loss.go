package embedding

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/engine"
)

// Loss is the pair loss of a model, l(theta; z, z') = Pair(f_theta(x), f_theta(x'), y, y'), with clipped
// Jacobians. AddGrad adds
//
//	s J^T a + s' J'^T b,   s = min(1, Clip/||J||_F),   J the Jacobian of f_theta at x
//
// Loss implements engine.Loss and engine.ConstrainedLoss. The zero value is not valid.
type Loss struct {
	Model Model
	Pair  PairLoss
	// Clip is C > 0, the clipping norm of Jacobians. It is public.
	Clip float64
	// Seed is the seed of the random start. If Start is not nil, e.g. weights trained on public data, Start is
	// used instead. Both are public.
	Seed  uint64
	Start []float64
	// PairClip is the clipping norm of whole terms. If it is above 0, the whole term of every pair is clipped
	// to this norm, Jacobians are not clipped, and Clip is ignored. Then G = PairClip and Dg = 2 PairClip,
	// which is tighter but costs more time. For an MLP with scores as output, or with at most one hidden layer,
	// the time is n^2 times the widths of the layers. For other networks every pair needs a backward pass.
	PairClip float64
}

// Radius returns a bound of ||theta||. It is the smallest Problem.Radius for this loss.
func (l Loss) Radius() float64 { return domainOf(l).radius() }

// Score is the bipartite ranking loss phi((y - y')(f - f')) of a network with m = 1.
type Score struct{ Of engine.Scalar }

// Bilinear is phi(y y' f.f'). With Output.Unit, f.f' is the cosine.
type Bilinear struct{ Of engine.Scalar }

// Distance is phi(y y' (1 - ||f - f'||^2)).
type Distance struct{ Of engine.Scalar }

var _ engine.ConstrainedLoss = Loss{}

// Name joins the names of the pair loss and of the network.
func (l Loss) Name() string { return l.Pair.Name() + " of " + l.Model.Network.Name() }

// Definition returns the formula of the pair loss, the name of the network f and the clipping.
func (l Loss) Definition() string {
	clipped := fmt.Sprintf("Jacobians clipped to %g", l.Clip)
	if l.PairClip > 0 {
		clipped = fmt.Sprintf("gradients of pairs clipped to %g", l.PairClip)
	}
	return fmt.Sprintf("%s, f = %s, %s", l.Pair.Definition(), l.Model.Network.Name(), clipped)
}

// ParamDim returns the number of parameters of the network.
func (l Loss) ParamDim(int) int { return Parameters(l.Model.Network) }

// Domain returns the product of the balls of the layers.
func (l Loss) Domain(int, float64) engine.Domain { return domainOf(l) }

// Constants returns G = 2 A C, Dg = 4 A C and L = +Inf (docs/theory.md#networks). If PairBounds.Diameter gives
// a smaller Dg, it returns the smaller Dg. With PairClip c it returns G = c and Dg = 2c.
func (l Loss) Constants(b engine.Bounds, radius float64) (engine.Constants, error) {
	if err := l.validate(b, radius); err != nil {
		return engine.Constants{}, err
	}
	c := engine.Constants{Lipschitz: l.PairClip, PairDiameter: 2 * l.PairClip, Smoothness: math.Inf(1),
		Origin: engine.ClippedTerms}
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
		return fmt.Errorf("embedding: Loss.Clip is %v, but must be 2^-200 to 2^200", l.Clip)
	case l.PairClip == 0 && !(reach <= 0x1p200):
		return fmt.Errorf("embedding: outputs of network %s may have norm %v, but at most 2^200 is allowed; set "+
			"Output.Unit or Output.Within",
			l.Model.Network.Name(), reach)
	case radius < l.Radius():
		return fmt.Errorf("embedding: Problem.Radius is %v, the layers' balls need %v; use Loss.Radius", radius, l.Radius())
	case l.Start != nil && len(l.Start) != Parameters(l.Model.Network):
		return fmt.Errorf("embedding: Loss.Start has %d numbers, network %s has %d parameters", len(l.Start),
			l.Model.Network.Name(), Parameters(l.Model.Network))
	}
	return nil
}

// Value returns the loss of a pair at theta, or NaN if theta does not fit the network.
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

// AddGrad adds the term of a pair with clipped Jacobians. With PairClip it adds the gradient of the pair
// without clipping, because the backend clips this gradient.
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

// scale is min(1, Clip/norm), rounded so that scale times norm is at most Clip. The norm must be at least the
// norm of the Jacobian. scale is 0 for a record without a Jacobian, and 1 with PairClip.
func (l Loss) scale(norm float64) float64 {
	switch {
	case !(norm <= math.MaxFloat64):
		return 0
	case l.PairClip > 0:
		return 1
	}
	return min(1, l.Clip/norm*(1-0x1p-50))
}
