package local

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/engine/embedding"
)

// Network describes a model of a protocol that replaces the linear model w.x. The model
// is a network with one hidden layer of tanh units,
//
//	f(x) = w_out . tanh(W x + c),   p = Hidden (Dim + 2) parameters,
//
// [Han19] appendix F names networks as future work. Users send privatised gradients in all p parameters. Fields
// that are zero get public defaults, which are filled in for the network of a Plan.
type Network struct {
	// Hidden is the number of units, 1 to 2^16. If it is 0, 8 applies.
	Hidden int `json:"hidden"`
	// Clip is the clipping norm C of gradients. If it is 0, the default is the bound of the loss's slope times
	// sqrt(Hidden/8). The factor sqrt(Hidden/8) is about half of the norm of the Jacobian if units are neither
	// small nor saturated.
	Clip float64 `json:"clip"`
	// Gain is the standard deviation of the weights of the hidden layer at the start. If it is 0, 2 applies.
	Gain float64 `json:"gain"`
	// Seed is the public seed of the starting parameters.
	Seed uint64 `json:"seed"`
	// Rate is the factor a of step sizes. Update t has the step size a sqrt(Batch)/(B sqrt t), so its noise
	// has a norm of about a/sqrt t. If it is 0, 2 applies.
	Rate float64 `json:"rate"`
}

// maxParameters is the largest number of parameters of a network. It bounds the work of a user for a protocol
// that comes from a server, and the size of a published state.
const maxParameters = 1 << 20

var errPrintedNetwork = errors.New("prestige-printed has only linear models; for a network, choose another method")

// fillNetwork sets defaults and validates.
func (p *Protocol) fillNetwork() error {
	n := *p.Network
	n.Hidden, n.Gain, n.Rate = cmp.Or(n.Hidden, 8), cmp.Or(n.Gain, 2), cmp.Or(n.Rate, 2)
	switch {
	case p.Method == PrestigePrinted:
		return errPrintedNetwork
	case p.Radius != 0 || p.L2 != 0:
		return fmt.Errorf("a network takes no radius (%v) and no L2 weight (%v); leave both out",
			p.Radius, p.L2)
	case n.Hidden < 1 || n.Hidden > maxParameters || p.Dim < 1 || p.Dim > maxParameters ||
		n.Hidden*(p.Dim+2) > maxParameters:
		return fmt.Errorf("a network with %d hidden units and %d features is empty or too large; use at least 1 of "+
			"each, and at most %d parameters", n.Hidden, p.Dim, maxParameters)
	}
	p.Network = &n
	return inRanges([]ranged{
		{"the gain of a network", n.Gain, 0x1p-40, 0x1p40}, {"the rate of a network", n.Rate, 0x1p-40, 0x1p40},
		{"the clipping norm of a network", cmp.Or(n.Clip, 1), 0x1p-40, 0x1p40},
	})
}

// start returns the public start of a model, with hidden weights of standard deviation Gain.
func (n Network) start(m embedding.Model) []float64 {
	theta := m.StartWith(n.Gain, n.Seed)
	m.Project(theta)
	return theta
}

// planNetwork sets the fields of a plan that depend on its network: the function, its parameters, the bound C
// of gradients and the range of margins.
//
// The balls of the layers allow twice the norms of the start, like the balls of networks that are trained centrally
// (dyad.Network).
func (p *Plan) planNetwork() (margin float64, err error) {
	n := p.Network
	p.model.Network, err = embedding.NewMLPWith(p.Dim, []int{n.Hidden}, 1, embedding.Tanh.String(), n.Gain)
	if err != nil {
		return 0, err
	}
	p.layers = p.model.Network.Layers()
	p.Parameters = embedding.Parameters(p.model.Network)
	p.least = math.Inf(1)
	for _, l := range p.layers {
		p.least = min(p.least, l.Radius*leastShare)
	}
	return p.model.Reach(p.FeatureNorm)*(1+0x1p-40) + math.Abs(p.Bias), nil
}

// NetworkName returns the sizes and the activation of the network, or "" for a linear model.
func (p *Plan) NetworkName() string {
	if p.Network == nil {
		return ""
	}
	return p.model.Network.Name()
}

// Fits reports whether w can be a model of the plan. The norm of w must be at most slack times the radius. For
// a network, the norm of every layer must be at most slack times the radius of its ball. slack is at least 1.
func (p *Plan) Fits(w []float64, slack float64) bool {
	if len(w) != p.Parameters {
		return false
	}
	if p.Network == nil {
		return within(w, p.Radius*slack)
	}
	for _, l := range p.layers {
		if !within(w[:l.Len()], l.Radius*slack) {
			return false
		}
		w = w[l.Len():]
	}
	return true
}

// Project moves w, of length Parameters, into the ball of the radius. For a network it moves every layer into its ball.
func (p *Plan) Project(w []float64) {
	if p.Network != nil {
		p.model.Project(w)
	} else {
		engine.ProjectBall(w, p.Radius)
	}
}

func within(w []float64, radius float64) bool {
	square := 0.0
	for _, v := range w {
		square += v * v
	}
	return square <= radius*radius
}

// enoughShare is the recommended maximum of the noise of the mean of all messages, as a share of the largest
// possible gradient. A plan for fewer users has a warning.
const enoughShare = 0.1

// usersFor returns a number of users. With this number, the mean of all messages of all epochs, decoded at one
// model, has noise of norm at most share times the largest gradient. It returns 0 for linear models and for
// methods that send no private direction. Decoded messages have norm B and are independent. So the mean of M
// messages is off by at most B/sqrt M in root mean square. Gradients have norm at most C, so M = (B/(share
// C))^2 (docs/theory.md#local-networks).
func (p *Plan) usersFor(share float64) float64 {
	if p.Network == nil || p.channel == nil {
		return 0
	}
	ratio := p.EstimateNorm / (share * p.Lipschitz)
	return math.Ceil(ratio * ratio / float64(p.Epochs))
}

// SmallestUsers returns the smallest number of users for which a network can be planned. With fewer users,
// the noise of the mean of all messages exceeds the largest possible gradient. It returns 0 for linear
// models and for methods that send no private direction.
func (p *Plan) SmallestUsers() float64 { return p.usersFor(1) }

// EnoughUsers returns the smallest number of users for which the plan of a network has no warning
// (enoughShare). It returns 0 if there is no such rule.
func (p *Plan) EnoughUsers() float64 { return p.usersFor(enoughShare) }

// checkUsers returns an error for a network with too few users, whose messages would be mostly noise.
func (p *Plan) checkUsers() error {
	if least := p.SmallestUsers(); float64(p.Users) < least {
		return fmt.Errorf("%d users are too few for %d parameters at epsilon %g in %d epochs; use at least %.0f "+
			"users, fewer parameters or a larger epsilon; with %.0f users, the noise is below %g of the largest "+
			"gradient", p.Users,
			p.Parameters, p.Epsilon, p.Epochs, least, p.EnoughUsers(), enoughShare)
	}
	return nil
}

// pass computes the score of a record and the gradient of its loss. It is used from one goroutine at
// a time.
type pass struct {
	plan  *Plan
	x     []float64 // record
	slope []float64 // the gradient of the score in the parameters; x itself for a linear model
	norm  float64   // the norm of slope, for a network
}

// newPass returns a pass of a plan.
func (p *Plan) newPass() *pass {
	s := &pass{plan: p, x: make([]float64, p.Dim)}
	if s.slope = s.x; p.Network != nil {
		s.slope = make([]float64, p.Parameters)
	}
	return s
}

// at sets slope for the record s.x and the model w, and returns w.x + b or f(x) + b. Weights below 2^-80 of the
// radius count as 0. The same rule applies to features. So no subnormal number occurs, since a gradient has
// products of at most five such factors. A network is computed here by the same steps for every record. An
// embedding.Pass cannot be used, because the steps of its tanh depend on the record.
func (s *pass) at(w []float64) float64 {
	score, least := s.plan.Bias, math.Float64bits(s.plan.least)
	if s.plan.Network == nil {
		for i, v := range s.x {
			score += cut(w[i], least) * v
		}
		return score
	}
	d, hidden := s.plan.Dim, s.plan.Network.Hidden
	output, square := hidden*(d+1), 0.0
	for k := range hidden {
		row := w[k*(d+1):][:d+1]
		z, inputs := cut(row[d], least), 1.0
		for i, v := range s.x {
			z += cut(row[i], least) * v
			inputs += v * v
		}
		t, out := tanh(z), cut(w[output+k], least)
		score += out * t
		back, to := out*((1-t)*(1+t)), s.slope[k*(d+1):][:d+1]
		for i, v := range s.x {
			to[i] = back * v
		}
		to[d], s.slope[output+k] = back, t
		square += t*t + back*back*inputs
	}
	s.norm = math.Sqrt(square)
	return score
}

// tanh takes the same steps for every finite number. It has an absolute error of a few 2^-53. Beyond 20 it is 1.
func tanh(z float64) float64 {
	e := math.Exp(-2 * min(math.Abs(z), 20))
	return math.Copysign((1-e)/(1+e), z)
}

// gradient sets g to f times slope, the gradient of the loss part. For a network the gradient is clipped to norm C.
func (s *pass) gradient(g []float64, f float64) {
	if s.plan.Network != nil {
		f *= min(1, s.plan.Lipschitz/(math.Abs(f)*s.norm)) // if f = 0, this is 0 times 1
	}
	for i, v := range s.slope {
		g[i] = f * v
	}
}
