package local

import (
	"math"
	"math/bits"

	"dyad/engine"
	"dyad/privacy"
	"dyad/privacy/local"
)

// Message is the message that a user sends on one visit.
type Message struct {
	// Takes reports whether the message carries a gradient. It is always true for Prestige and DJW. For
	// PrestigeParticipation it is the randomised response.
	Takes bool
	// Direction is the private sample, if Takes is true.
	Direction local.DirectionMessage
	// Gradient is the exact gradient. It is set only for methods without privacy.
	Gradient []float64
}

// Client is the user's side of a protocol: it makes messages from a record. It is used from one goroutine at a time.
//
// The client trusts the server only with the number of visits. A message is Epsilon-locally private whatever
// state the server publishes. Neither the existence of a message nor its computing time depends on the record.
// A server can ask for more visits than Plan.Epochs, by a state of an earlier epoch or by claiming that a
// message was lost. The program that runs the client must count the visits of its user durably, and must send a
// message again unchanged.
//
// Time: the steps, draws and memory accesses are the same for every record, and no arithmetic uses a subnormal
// number. The only exception is the evaluation of the loss's slope at the margin, which may take a few
// nanoseconds longer at some numbers. For the tanh of a network see docs/theory.md#local-networks.
type Client struct {
	plan *Plan
	src  *privacy.Source
	pass *pass
	g    []float64
}

// NewClient returns a client of a plan. The client draws its randomness from src.
func NewClient(p *Plan, src *privacy.Source) *Client {
	return &Client{plan: p, src: src, pass: p.newPass(), g: make([]float64, p.Parameters)}
}

// Message returns the message of one visit. It is the only place where a record meets randomness. Message
// uses Epoch and W of the published state st. z has Dim features within the norm bound and label -1 or 1. If
// no server of the plan publishes st, every record gives an error.
//
// A record with another label, or with a feature that is not a number or far beyond the norm bound, contributes
// nothing. Its message is computed by the same steps as for a record that is outside of the curriculum and has
// gradient zero, because an error would reveal a property of the record.
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
		if err != nil || answer == 0 { // the server sees this anyway
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

// read sets c.pass.x to the features and returns the label. For a record that cannot be used it sets 0, returns
// the label 1, and usable is 0 instead of 1. Entries below 2^-80 of the norm bound count as 0.
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

// below returns 1 if a < b and 0 otherwise, without a branch.
func below(a, b uint64) uint64 {
	_, borrow := bits.Sub64(a, b, 0)
	return borrow
}

// cut returns v, or 0 if the bits of |v| are below least, without a branch.
func cut(v float64, least uint64) float64 {
	b := math.Float64bits(v)
	return math.Float64frombits(b & (below(b&^signMask, least) - 1))
}

// send returns a message with the private sample of c.g.
func (c *Client) send() (Message, error) {
	d, err := c.plan.channel.Send(c.g, c.src)
	return Message{Takes: err == nil, Direction: d}, err
}

// printed computes the message of [Han19] Algorithm 1. A fresh noisy label decides whether a gradient is sent,
// and the sampled gradient contains the regulariser.
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

// Label returns the message that a user sends by method PrestigeLabel. A user sends only one message: a randomised
// label, which is kept and used in every epoch. If the label is neither -1 nor 1, Label randomises the result of a fair
// coin instead. The distribution of this message lies between the distributions for the two labels.
func (c *Client) Label(y float64) (float64, error) {
	b := math.Float64bits(y)
	usable := below(b&^signMask^math.Float64bits(1), 1)
	coin := c.src.Uint64() >> 63
	truth := coin ^ (coin^(1-b>>63))&-usable
	answer, err := c.plan.response.Answer(int(truth), c.src)
	return float64(2*answer - 1), err
}

// checkPublished returns an error unless a server of p can have published st. It checks only the fields that a
// client uses and reads no record. This check is needed because with huge weights w.x would overflow for some
// records and not for others.
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

// loss returns phi'(v) y, the factor between the gradient of the score and the gradient of the loss, and v = y
// (score + b). A slope below 2^-80 of the largest slope counts as 0. A slope that is not a number, which a
// server's formula may have at some margins, also counts as 0: an error would reveal the margin.
func (s *pass) loss(w []float64, y float64) (f, margin float64) {
	score := s.at(w)
	f = s.plan.Loss.DPhi(y*score) * y
	// |phi'| is at most this number on the public range; rounding must not exceed it.
	most := s.plan.steepest
	f = max(-most, min(most, f))
	number := below(math.Float64bits(f)&^signMask, math.Float64bits(math.Inf(1)))
	f = math.Float64frombits(math.Float64bits(f) & -number)
	return cut(f, math.Float64bits(most*leastShare)), y * score
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
