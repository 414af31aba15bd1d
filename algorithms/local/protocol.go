package local

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/privacy"
	"dyad/privacy/local"
)

// ErrProtocol is wrapped by the errors of Protocol.Plan if a protocol cannot be carried out.
var ErrProtocol = errors.New("local: protocol not possible")

// Method selects a learner.
type Method int

// The methods.
const (
	// Prestige is the default method. It is [Han19] Algorithm 1 in the form "send always". Every visited user
	// sends the private sample of the gradient, or of zero if the record is not in the curriculum
	// (docs/theory.md#local-protocols, R1).
	Prestige Method = iota
	// PrestigeParticipation sends a randomised response about whether the record is in the curriculum, and a
	// private sample if the response is yes (R2).
	PrestigeParticipation
	// PrestigeLabel protects only the label, so x must be public. Each user sends one randomised label. The
	// server trains on these labels and decides which records are in the curriculum (R3).
	PrestigeLabel
	// DJW uses private sampling of every gradient, without a curriculum.
	DJW
	// PrestigePrinted is Algorithm 1 exactly as printed. Whether a user sends a message depends on x. It gives
	// no guarantee for a private x (docs/theory.md#local-participation).
	PrestigePrinted
	// Curriculum is Prestige without privacy.
	Curriculum
	// SGD is DJW without privacy.
	SGD
)

var methodNames = []string{"prestige", "prestige-participation", "prestige-label", "djw", "prestige-printed",
	"curriculum", "sgd"}

// Methods returns all methods, with the private methods first.
func Methods() []Method {
	return []Method{Prestige, PrestigeParticipation, PrestigeLabel, DJW, PrestigePrinted, Curriculum, SGD}
}

// String returns the name on the command line.
func (m Method) String() string {
	if m < 0 || int(m) >= len(methodNames) {
		return "unknown"
	}
	return methodNames[m]
}

// ParseMethod parses a name that String returns.
func ParseMethod(s string) (Method, error) {
	if m := Method(slices.Index(methodNames, s)); m >= 0 {
		return m, nil
	}
	return 0, fmt.Errorf("local: method %q is unknown, want one of %v", s, methodNames)
}

// private reports whether messages are privatised.
func (m Method) private() bool { return m != Curriculum && m != SGD }

// protects reports whether a guarantee covers the messages.
func (m Method) protects() bool { return m.private() && m != PrestigePrinted }

// gradual reports whether the threshold selects records.
func (m Method) gradual() bool { return m != DJW && m != SGD }

// Protocol holds everything public about a learning task.
type Protocol struct {
	Method Method            `json:"-"` // package serve has the JSON of this and of the loss
	Loss   engine.MarginLoss `json:"-"` // the loss, a function of v = y (w.x + b)

	Dim         int     `json:"features"`     // d, the number of features of a record
	FeatureNorm float64 `json:"feature_norm"` // R_x, a bound ||x||_2 <= R_x that the user's client enforces; positive
	Radius      float64 `json:"radius"`       // R: the model is projected to ||w||_2 <= R; positive, or 0 for a network
	Bias        float64 `json:"bias"`         // b, a fixed and public number
	// lambda of the term lambda/2 ||w||^2 of the objective; positive, or 0 for a network
	L2     float64 `json:"l2"`
	Users  int     `json:"users"`  // n, the number of users, each visited once in every epoch; at most 2^40
	Epochs int     `json:"epochs"` // T_max, the number of epochs, at most MaxEpochs; 0 means 10
	Batch  int     `json:"batch"`  // the number of messages averaged in one update; 0 means 1

	// Epsilon is the local epsilon of one visit. For PrestigeLabel it is the epsilon of the one answer of a
	// user. It is at least 1e-300 and read as a decimal (privacy.DecimalSum). Methods without privacy ignore
	// it.
	Epsilon float64 `json:"epsilon_per_visit"`
	// ResponseShare is the share of Epsilon for a randomised response, in (0, 1). It applies to
	// PrestigeParticipation and PrestigePrinted. If it is 0, PrestigePrinted uses 1/5, the paper's ratio 1:4.
	// For PrestigeParticipation 0 means that the sample gets Epsilon and the response gets the remaining budget
	// (local.Direction.Participation).
	ResponseShare float64 `json:"response_share"`
	// Pairs is the number of pairs of opposite directions from which private sampling chooses
	// (local.Direction). If it is 0, 1 applies.
	Pairs int `json:"direction_pairs"`

	// Threshold and ThresholdStep define the curriculum. A record is in the curriculum of epoch T if y (w.x +
	// b) is at least D_T, where D_1 = Threshold and D_(T+1) = D_T - ThresholdStep sqrt T. If Threshold is 0,
	// 1.5 applies. If ThresholdStep is 0, 1 applies.
	Threshold     float64 `json:"threshold"`
	ThresholdStep float64 `json:"threshold_step"`

	// Network makes the model a small network. Its score f(x) replaces w.x in the model and in the curriculum.
	// If it is nil, the model is linear.
	Network *Network `json:"network,omitempty"`
}

// MaxEpochs is the largest number of epochs of a protocol. It bounds the time in which a user plans a protocol
// from a server.
const MaxEpochs = 1_000_000

const maxUsers = 1 << 40

// Plan is a validated protocol with its constants. It is immutable and public. Its guarantee is for one user
// and all epochs together. The events for the ledger are in the plan that Job makes, because users and not a
// session draw the noise of messages.
type Plan struct {
	algorithms.Plan
	Protocol
	// Parameters is the number of parameters of a model. It is Dim for a linear model and
	// Hidden (Dim + 2) for a network.
	Parameters int
	// Lipschitz is L. The gradient of the loss part has norm at most L = R_x sup |phi'| and is clipped to L.
	// For a network L is the clipping norm C.
	Lipschitz float64
	// EstimateNorm is B, the norm of a decoded message. Without privacy it is a bound of the gradient. The
	// step sizes are eta_t = R/(lambda B sqrt t).
	EstimateNorm float64

	channel  *local.DirectionChannel // nil without private sampling
	response local.RandomizedResponse
	steepest float64 // sup |phi'| on the public range of margins
	least    float64 // parameters of smaller size count as 0

	model  embedding.Model // the function of a network
	layers []embedding.Layer
}

// Plan validates p and computes its constants and guarantee. Its errors wrap ErrProtocol.
func (p Protocol) Plan() (*Plan, error) {
	if err := p.fill(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrProtocol, p.Method, err)
	}
	q := &Plan{Protocol: p, Plan: algorithms.Plan{Algorithm: "local-" + p.Method.String()}}
	// From here on p.Epsilon is the epsilon of the randomisers, chosen so that visits of q.Epsilon add up as
	// decimals do (privacy.DecimalSum).
	p.Epsilon = privacy.BelowDecimal(p.Epsilon)
	margin := p.Radius*p.FeatureNorm*(1+0x1p-40) + math.Abs(p.Bias)
	q.Parameters, q.least = p.Dim, p.Radius*leastShare
	if p.Network != nil {
		var err error
		if margin, err = q.planNetwork(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrProtocol, p.Method, err)
		}
	}
	bounds, err := engine.BoundsOn(p.Loss, -margin, margin)
	if q.Lipschitz = p.FeatureNorm * bounds.Slope(); err != nil || !(q.Lipschitz > 0 && q.Lipschitz < 1e150) {
		return nil, fmt.Errorf("%w: %s: the slope of loss %s is not bounded for margins up to %g; choose a smaller radius "+
			"or another loss", ErrProtocol, p.Method, p.Loss.Name(), margin)
	}
	q.steepest = q.Lipschitz / p.FeatureNorm
	if p.Network != nil {
		q.Network.Clip = cmp.Or(p.Network.Clip, q.steepest*math.Sqrt(float64(p.Network.Hidden)/8))
		q.Lipschitz = q.Network.Clip
	}
	q.EstimateNorm = q.Lipschitz
	m := local.Direction{Dim: q.Parameters, Bound: q.Lipschitz, Epsilon: p.Epsilon, Pairs: p.Pairs}
	switch p.Method {
	case PrestigeParticipation:
		q.response, q.channel, err = m.Participation(p.Epsilon, p.ResponseShare)
	case PrestigePrinted:
		q.response.Epsilon = p.Epsilon * p.ResponseShare
		m.Epsilon -= q.response.Epsilon
		if err = q.response.Validate(); err == nil {
			q.channel, err = m.Channel()
		}
	case PrestigeLabel:
		q.response.Epsilon = p.Epsilon
		err = q.response.Validate()
	case Prestige, DJW:
		q.channel, err = m.Channel()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if q.channel != nil {
		q.EstimateNorm = q.channel.Scale()
	}
	if p.Method == PrestigePrinted {
		q.EstimateNorm *= 2 // [Han19] Lemma 2 loses a factor (docs/theory.md#local-direction)
	}
	if err := q.checkUsers(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrProtocol, p.Method, err)
	}
	q.Restate(q.guarantee(), 0, 0)
	return q, nil
}

// fill sets defaults and validates.
func (p *Protocol) fill() error {
	p.Threshold, p.ThresholdStep = cmp.Or(p.Threshold, 1.5), cmp.Or(p.ThresholdStep, 1)
	p.Epochs, p.Batch = cmp.Or(p.Epochs, 10), cmp.Or(p.Batch, 1)
	share := cmp.Or(p.ResponseShare, 0.2) // the share of the paper
	if p.Method != PrestigeParticipation {
		p.ResponseShare = share
	}
	if p.Method < 0 || int(p.Method) >= len(methodNames) {
		return errors.New("the method is unknown")
	}
	if p.Loss == nil {
		return errors.New("no loss is given")
	}
	radius, l2 := p.Radius, p.L2
	if p.Network != nil {
		if err := p.fillNetwork(); err != nil {
			return err
		}
		radius, l2 = 1, 1
	}
	if err := inRanges([]ranged{
		{"the feature norm", p.FeatureNorm, 1e-100, 1e100}, {"the radius", radius, 1e-100, 1e100},
		{"the L2 weight", l2, 1e-100, 1e100},
		{"the bias", p.Bias, -1e100, 1e100}, {"the threshold", p.Threshold, -1e100, 1e100},
		{"the threshold's step", p.ThresholdStep, 0, 1e100},
		{"the share of the response", share, 0x1p-20, 1 - 0x1p-20},
	}); err != nil {
		return err
	}
	switch {
	case p.Dim < 1:
		return fmt.Errorf("the number of features is %d, but must be at least 1", p.Dim)
	case p.Users < 1 || p.Epochs < 1 || p.Batch < 1:
		return fmt.Errorf("%d users, %d epochs and batches of %d were given; all three numbers must be at least 1", p.Users,
			p.Epochs, p.Batch)
	case p.Users > maxUsers || p.Epochs > MaxEpochs:
		return fmt.Errorf("%d users and %d epochs were given, but at most %d users and %d epochs are allowed", p.Users,
			p.Epochs, maxUsers, MaxEpochs)
	case p.Method.private() && !(p.Epsilon >= local.MinEpsilon && p.Epsilon <= local.MaxEpsilon):
		return fmt.Errorf("epsilon is %v, but must be between %.3g and %d", p.Epsilon, local.MinEpsilon, local.MaxEpsilon)
	}
	return nil
}

// ranged is a number with its range.
type ranged struct {
	name             string
	value, low, high float64
}

func inRanges(all []ranged) error {
	for _, c := range all {
		if !(c.value >= c.low && c.value <= c.high) {
			return fmt.Errorf("%s is %v, but must be between %g and %g", c.name, c.value, c.low, c.high)
		}
	}
	return nil
}

// Gradual reports whether a threshold selects records.
func (p *Plan) Gradual() bool { return p.Method.gradual() }

// ThresholdAt returns the threshold D_T of the curriculum in epoch T, counted from 1.
func (p *Plan) ThresholdAt(epoch int) float64 {
	d := p.Threshold
	for t := 1; t < epoch; t++ {
		d -= p.ThresholdStep * math.Sqrt(float64(t))
	}
	return d
}

// StepSize returns eta_t. It is R/(lambda B sqrt t), the rule of the paper, for a linear model. For a network
// it follows Network.Rate.
func (p *Plan) StepSize(t int64) float64 {
	if p.Network != nil {
		return p.Network.Rate * math.Sqrt(float64(p.Batch)) / (p.EstimateNorm * math.Sqrt(float64(t)))
	}
	return p.Radius / (p.L2 * p.EstimateNorm * math.Sqrt(float64(t)))
}

// KWIKEpochs returns (ratio/radius) ln(1/delta), rounded up, as a number of epochs. This is the KWIK bound
// O((r/R) ln(1/delta)) of [Han19] Theorem 2 and Remark 6 with the constant 1. The argument ratio is r, the
// ratio between maximum and virtual complexity. The argument radius is R, and delta is the failure
// probability. The result is a public rule for stopping, not a guarantee.
func KWIKEpochs(ratio, radius, delta float64) (int, error) {
	epochs := math.Ceil(ratio / radius * math.Log(1/delta))
	if !(ratio > 0 && radius > 0 && delta > 0 && delta < 1 && epochs <= MaxEpochs) {
		return 0, fmt.Errorf("%w: ratio %v, radius %v and delta %v give no KWIK bound of at most %d epochs; want "+
			"positive values, and delta below 1", ErrProtocol, ratio, radius, delta, MaxEpochs)
	}
	return max(1, int(epochs)), nil
}
