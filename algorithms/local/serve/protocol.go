package serve

import (
	"fmt"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/privacy"
)

// Loss is a margin loss in the JSON of a protocol.
type Loss struct {
	Name    string             `json:"name"`
	Formula string             `json:"formula"` // the formula of phi(u), see engine.NewExpression
	Params  map[string]float64 `json:"params,omitempty"`
	Clip    float64            `json:"clip,omitempty"`
}

// protocolVersion changes with everything that client and server must agree on. This includes the directions of
// a seed (DirectionMessage of package privacy/local), which a server decodes from its log.
const protocolVersion = 3

// networkVersion is the version of protocols for networks. Programs of version 3 would read such protocols as
// linear. Messages are the same.
const networkVersion = 4

// Protocol is the body of GET /v1/plan. It holds everything public about a learning task.
type Protocol struct {
	Version       int     `json:"version"` // protocolVersion, or networkVersion
	Method        string  `json:"method"`
	Loss          Loss    `json:"loss"`
	Dim           int     `json:"features"`
	FeatureNorm   float64 `json:"feature_norm"`
	Radius        float64 `json:"radius"`
	Bias          float64 `json:"bias"`
	L2            float64 `json:"l2"`
	Users         int     `json:"users"`
	Epochs        int     `json:"epochs"`
	Batch         int     `json:"batch"`
	Epsilon       float64 `json:"epsilon_per_visit"`
	ResponseShare float64 `json:"response_share"`
	Pairs         int     `json:"direction_pairs"`
	Threshold     float64 `json:"threshold"`
	ThresholdStep float64 `json:"threshold_step"`
	// Network makes the model a network. It is nil for a linear model.
	Network *local.Network `json:"network,omitempty"`

	Guarantee privacy.Guarantee `json:"guarantee"`
}

// PublicPlan returns the protocol of a plan.
func PublicPlan(p *local.Plan) Protocol {
	l := Loss{Name: p.Loss.Name()}
	if e, ok := p.Loss.(*engine.Expression); ok {
		l.Formula, l.Params, l.Clip = e.Formula(), e.Params(), e.Clip()
	}
	q := Protocol{
		Version: protocolVersion, Method: p.Method.String(), Loss: l, Dim: p.Dim, FeatureNorm: p.FeatureNorm,
		Radius: p.Radius, Bias: p.Bias, L2: p.L2, Users: p.Users, Epochs: p.Epochs, Batch: p.Batch, Epsilon: p.Epsilon,
		ResponseShare: p.ResponseShare, Pairs: p.Pairs, Threshold: p.Threshold, ThresholdStep: p.ThresholdStep,
		Guarantee: p.Guarantee,
	}
	if p.Network != nil {
		n := *p.Network
		q.Version, q.Network = networkVersion, &n
	}
	return q
}

// Plan recomputes the plan at the user's side. Constants and guarantee come from this program, not from the
// server. Its errors are Printable.
func (p Protocol) Plan() (*local.Plan, error) {
	q, err := p.plan()
	return q, asForeign(err)
}

func (p Protocol) plan() (*local.Plan, error) {
	version := protocolVersion
	if p.Network != nil {
		version = networkVersion
	}
	if p.Version != version {
		return nil, fmt.Errorf("serve: the server uses version %d of the protocol, but this program uses version %d, "+
			"and version %d for networks", p.Version, protocolVersion, networkVersion)
	}
	method, err := local.ParseMethod(p.Method)
	if err != nil {
		return nil, err
	}
	l, err := p.Loss.loss()
	if err != nil {
		return nil, err
	}
	return local.Protocol{
		Method: method, Loss: l, Dim: p.Dim, FeatureNorm: p.FeatureNorm, Radius: p.Radius, Bias: p.Bias, L2: p.L2,
		Users: p.Users, Epochs: p.Epochs, Batch: p.Batch, Epsilon: p.Epsilon, ResponseShare: p.ResponseShare, Pairs: p.Pairs,
		Threshold: p.Threshold, ThresholdStep: p.ThresholdStep, Network: p.Network,
	}.Plan()
}
