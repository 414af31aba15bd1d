package local

import (
	"math"

	"dyad/engine"
	"dyad/privacy"
)

// Message is what a user sends on one visit.
type Message struct {
	// Takes says that the message carries a gradient: always for Prestige and DJW, the
	// randomised response for PrestigeParticipation.
	Takes bool
	// Direction is the private sample, if Takes.
	Direction privacy.DirectionMessage
	// Gradient is the exact gradient, for methods without privacy only.
	Gradient []float64
}

// Client is a user's side: it makes messages from a record. It is used from one
// goroutine at a time.
//
// It trusts the server with nothing but the number of visits: whatever state the server
// publishes, a message is Epsilon-locally private, and whether there is one does not
// depend on the record. A server can ask for more visits than Plan.Epochs, by a state
// of an earlier epoch or a message that it calls lost; who runs the client must count
// the visits of its user durably, and send a message again as it was.
type Client struct {
	plan *Plan
	src  *privacy.Source
	g    []float64
}

// NewClient returns the client of a plan that draws from src.
func NewClient(p *Plan, src *privacy.Source) *Client {
	return &Client{plan: p, src: src, g: make([]float64, p.Dim)}
}

// Message is the message of one visit: the only place where a record meets
// randomness. st is the published state, of which Epoch and W are used; z has Dim
// features within the norm bound and label -1 or 1. A state that no server of the plan
// publishes is refused, for every record.
func (c *Client) Message(st *State, z engine.Record) (Message, error) {
	p := c.plan
	if err := p.checkPublished(st); err != nil {
		return Message{}, err
	}
	y, err := label(z.Y)
	if err != nil {
		return Message{}, err
	}
	if len(z.X) != p.Dim {
		return Message{}, errShape
	}
	switch p.Method {
	case PrestigeLabel:
		return Message{}, errLabelOnly
	case PrestigePrinted:
		return c.printed(st, z.X, y)
	}
	margin := c.gradient(st.W, z.X, y)
	selected := !p.Method.gradual() || margin >= p.ThresholdAt(st.Epoch)
	if p.Method == PrestigeParticipation {
		answer, err := p.response.Answer(bit(selected), c.src)
		if err != nil || answer == 0 {
			return Message{}, err
		}
	} else if !p.Method.private() {
		if !selected {
			return Message{}, nil
		}
		return Message{Takes: true, Gradient: append([]float64(nil), c.g...)}, nil
	}
	if !selected {
		clear(c.g)
	}
	return c.send()
}

// send sends the private sample of c.g, or of zero if c.g is not finite, as for a record
// that is not: to send nothing would tell of it.
func (c *Client) send() (Message, error) {
	for _, v := range c.g {
		if !(math.Abs(v) <= math.MaxFloat64) {
			clear(c.g)
			break
		}
	}
	d, err := c.plan.channel.Send(c.g, c.src)
	return Message{Takes: err == nil, Direction: d}, err
}

// printed is [Han19] Algorithm 1: a fresh noisy label decides whether anything is
// sent, and the sampled gradient has the regulariser in it.
func (c *Client) printed(st *State, x []float64, y float64) (Message, error) {
	answer, err := c.plan.response.Answer(bit(y > 0), c.src)
	if err != nil {
		return Message{}, err
	}
	noisy := float64(2*answer - 1)
	if margin := c.gradient(st.W, x, noisy); margin < c.plan.ThresholdAt(st.Epoch) {
		return Message{}, nil
	}
	for i, w := range st.W {
		c.g[i] += c.plan.L2 * w
	}
	return c.send()
}

// Label is the one message of a user of PrestigeLabel: a randomised label, to be
// kept and used in every epoch.
func (c *Client) Label(y float64) (float64, error) {
	y, err := label(y)
	if err != nil {
		return 0, err
	}
	answer, err := c.plan.response.Answer(bit(y > 0), c.src)
	return float64(2*answer - 1), err
}

// checkPublished says whether st can have been published by a server of p. It looks at
// what a client uses, and at no record: with a model of huge numbers w.x overflows for
// some records and not for others.
func (p *Plan) checkPublished(st *State) error {
	if len(st.W) != p.Dim {
		return errShape
	}
	square, largest := 0.0, 2*p.Radius
	if p.Method == PrestigePrinted || !p.Method.private() {
		largest = 1e100 // the printed model is not projected
	}
	for _, w := range st.W {
		square += w * w
	}
	if st.Epoch < 1 || st.Epoch > p.Epochs || !(square <= largest*largest) {
		return errState
	}
	return nil
}

// gradient sets c.g to the gradient of the loss part and returns the margin.
func (c *Client) gradient(w, x []float64, y float64) (margin float64) {
	return lossGradient(c.g, c.plan, w, x, y)
}

// lossGradient sets g to phi'(v) y x, clipped to norm L, and returns v = y (w.x + b).
func lossGradient(g []float64, p *Plan, w, x []float64, y float64) float64 {
	s := p.Bias
	for i, v := range x {
		s += w[i] * v
	}
	f := p.Loss.Slope(y*s) * y
	// |phi'| is at most L/R_x on the public range; rounding must not exceed it.
	most := p.Lipschitz / p.FeatureNorm
	f = math.Max(-most, math.Min(most, f))
	for i, v := range x {
		g[i] = f * v
	}
	return y * s
}

func label(y float64) (float64, error) {
	if y != 1 && y != -1 {
		return 0, errLabel
	}
	return y, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
