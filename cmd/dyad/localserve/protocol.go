package localserve

import (
	"fmt"

	"dyad/algorithms/local"
	"dyad/privacy"
)

// Protocol is the body of GET /v1/plan: everything public about a learning task.
type Protocol struct {
	Version       int     `json:"version"` // 1
	Method        string  `json:"method"`
	Loss          string  `json:"loss"`
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

	Guarantee privacy.Guarantee `json:"guarantee"`
}

// PublicPlan is the protocol of a plan.
func PublicPlan(p *local.Plan) Protocol {
	return Protocol{
		Version: 1, Method: p.Method.String(), Loss: p.Loss.Name(), Dim: p.Dim, FeatureNorm: p.FeatureNorm, Radius: p.Radius, Bias: p.Bias,
		L2: p.L2, Users: p.Users, Epochs: p.Epochs, Batch: p.Batch, Epsilon: p.Epsilon, ResponseShare: p.ResponseShare, Pairs: p.Pairs,
		Threshold: p.Threshold, ThresholdStep: p.ThresholdStep, Guarantee: p.Guarantee,
	}
}

// Plan recomputes the plan at the user's side: constants and guarantee come from this
// program, not from the server. loss finds a loss by name.
func (p Protocol) Plan(loss func(name string) (local.Loss, error)) (*local.Plan, error) {
	if p.Version != 1 {
		return nil, fmt.Errorf("localserve: the server speaks version %d of the protocol, this program 1", p.Version)
	}
	method, err := local.ParseMethod(p.Method)
	if err != nil {
		return nil, err
	}
	l, err := loss(p.Loss)
	if err != nil {
		return nil, err
	}
	return local.Protocol{
		Method: method, Loss: l, Dim: p.Dim, FeatureNorm: p.FeatureNorm, Radius: p.Radius, Bias: p.Bias, L2: p.L2,
		Users: p.Users, Epochs: p.Epochs, Batch: p.Batch, Epsilon: p.Epsilon, ResponseShare: p.ResponseShare, Pairs: p.Pairs,
		Threshold: p.Threshold, ThresholdStep: p.ThresholdStep,
	}.Plan()
}
