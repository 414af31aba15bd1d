package local

import (
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/local"
)

// Message is sent by a user on one visit.
type Message struct {
	// Takes reports whether the message carries a gradient: always for Prestige and DJW, the
	// randomised response for PrestigeParticipation.
	Takes bool
	// Direction is the private sample, if Takes.
	Direction local.DirectionMessage
	// Gradient is the exact gradient, for methods without privacy only.
	Gradient []float64
}

// Client is a user's side: it makes messages from a record. It is used from one
// goroutine at a time.
//
// It trusts the server with nothing but the number of visits: whatever state the server
// publishes, a message is Epsilon-locally private, and neither whether there is one nor
// the time that it takes depends on the record. A server can ask for more visits than
// Plan.Epochs, by a state of an earlier epoch or a message that it calls lost; whoever runs
// the client must count the visits of its user durably, and send a message again as it was.
//
// Time: steps, draws and places in memory are the same for every record, and no
// arithmetic meets a subnormal number. The one exception is the evaluation of the loss's
// slope at the margin, whose functions may take a few nanoseconds more at some numbers.
// For the tanh of a network see docs/theory.md#local-networks.
type Client struct {
	plan *Plan
	src  *privacy.Source
	pass *pass
	g    []float64
}

// NewClient returns the client of a plan that draws from src.
func NewClient(p *Plan, src *privacy.Source) *Client {
	return &Client{plan: p, src: src, pass: p.newPass(), g: make([]float64, p.Parameters)}
}

// Message is the message of one visit: the only place where a record meets
// randomness. st is the published state; Epoch and W are used; z has Dim
// features within the norm bound and label -1 or 1. A state that no server of the plan
// publishes is refused, for every record.
//
// A record with another label, or with a feature that is not a number or far beyond the
// norm bound, contributes nothing: its message is computed like one for a record out of
// the curriculum with gradient zero, by the same steps. To fail would tell of it.
func (c *Client) Message(st *State, z engine.Record) (Message, error) {
	p := c.plan
	if err := p.checkPublished(st); err != nil {
		return Message{}, err
	}
	if len(z.X) != p.Dim {
		return Message{}, errShape
	}
	switch p.Method {
	case PrestigeLabel:
		return Message{}, errLabelOnly
	case PrestigePrinted:
		return c.printed(st, z)
	}
	y, usable := c.read(z)
	f, margin := c.pass.loss(st.W, y)
	selected := usable
	if p.Method.gradual() {
		selected &= 1 - signBit(margin-p.ThresholdAt(st.Epoch))
	}
	if p.Method == PrestigeParticipation {
		answer, err := p.response.Answer(int(selected), c.src)
		if err != nil || answer == 0 { // what the server sees anyway
			return Message{}, err
		}
	}
	c.pass.gradient(c.g, f*float64(int64(selected)))
	if !p.Method.private() {
		if selected == 0 {
			return Message{}, nil
		}
		return Message{Takes: true, Gradient: append([]float64(nil), c.g...)}, nil
	}
	return c.send()
}

// read sets c.pass.x to the features and returns the label; of a record that cannot be used
// it sets 0 and returns 1, and usable is 0 instead of 1. Entries below 2^-80 of the norm
// bound count as 0.
func (c *Client) read(z engine.Record) (y float64, usable uint64) {
	one := math.Float64bits(1)
	usable = below(math.Float64bits(z.Y)&^signMask^one, 1) // |y| = 1
	most, least := math.Float64bits(c.plan.FeatureNorm*0x1p20), math.Float64bits(c.plan.FeatureNorm*leastShare)
	for _, v := range z.X {
		usable &= below(math.Float64bits(v)&^signMask, most)
	}
	for i, v := range z.X {
		c.pass.x[i] = math.Float64frombits(math.Float64bits(cut(v, least)) & -usable)
	}
	return math.Float64frombits(one | math.Float64bits(z.Y)&signMask&-usable), usable
}

const (
	signMask   = 1 << 63
	leastShare = 0x1p-80
)

func signBit(v float64) uint64 { return math.Float64bits(v) >> 63 }

// below is 1 if a < b, and 0 if not, without a branch.
func below(a, b uint64) uint64 {
	_, borrow := bits.Sub64(a, b, 0)
	return borrow
}

// cut is v, or 0 if |v| is below the number of bits least, without a branch.
func cut(v float64, least uint64) float64 {
	b := math.Float64bits(v)
	return math.Float64frombits(b & (below(b&^signMask, least) - 1))
}

// send sends the private sample of c.g.
func (c *Client) send() (Message, error) {
	d, err := c.plan.channel.Send(c.g, c.src)
	return Message{Takes: err == nil, Direction: d}, err
}

// printed is [Han19] Algorithm 1: a fresh noisy label decides whether anything is
// sent, and the sampled gradient has the regulariser in it.
func (c *Client) printed(st *State, z engine.Record) (Message, error) {
	y, _ := c.read(z)
	answer, err := c.plan.response.Answer(bit(y > 0), c.src)
	if err != nil {
		return Message{}, err
	}
	f, margin := c.pass.loss(st.W, float64(2*answer-1))
	if margin < c.plan.ThresholdAt(st.Epoch) {
		return Message{}, nil
	}
	c.pass.gradient(c.g, f)
	for i, w := range st.W {
		c.g[i] += c.plan.L2 * w
	}
	return c.send()
}

// Label is the one message of a user of PrestigeLabel: a randomised label, to be
// kept and used in every epoch. For a label that is neither -1 nor 1 the response is that
// to a tossed coin, whose law lies between those of the two labels.
func (c *Client) Label(y float64) (float64, error) {
	b := math.Float64bits(y)
	usable := below(b&^signMask^math.Float64bits(1), 1)
	coin := c.src.Uint64() >> 63
	truth := coin ^ (coin^(1-b>>63))&-usable
	answer, err := c.plan.response.Answer(int(truth), c.src)
	return float64(2*answer - 1), err
}

// checkPublished says whether st can have been published by a server of p. It looks at
// what a client uses, and at no record: with a model of huge numbers w.x overflows for
// some records and not for others.
func (p *Plan) checkPublished(st *State) error {
	if len(st.W) != p.Parameters {
		return errShape
	}
	fits := p.Fits(st.W, 2)
	if p.Method == PrestigePrinted || !p.Method.private() {
		fits = within(st.W, 1e100) // the printed model is not projected
	}
	if st.Epoch < 1 || st.Epoch > p.Epochs || !fits {
		return errState
	}
	return nil
}

// loss is the factor phi'(v) y of the score's gradient in that of the loss, and v = y (score + b). A
// slope below 2^-80 of the largest one counts as 0, and so does one that is not a number, as a server's
// formula may have at some margins: to fail there would tell the margin.
func (s *pass) loss(w []float64, y float64) (f, margin float64) {
	score := s.at(w)
	f = s.plan.Loss.DPhi(y*score) * y
	// |phi'| is at most this on the public range; rounding must not exceed it.
	most := s.plan.steepest
	f = max(-most, min(most, f))
	number := below(math.Float64bits(f)&^signMask, math.Float64bits(math.Inf(1)))
	f = math.Float64frombits(math.Float64bits(f) & -number)
	return cut(f, math.Float64bits(most*leastShare)), y * score
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
