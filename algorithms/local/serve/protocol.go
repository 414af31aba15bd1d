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
	Version int    `json:"version"` // protocolVersion, or networkVersion
	Method  string `json:"method"`
	Loss    Loss   `json:"loss"`
	local.Protocol

	Guarantee privacy.Guarantee `json:"guarantee"`
}

// PublicPlan returns the protocol of a plan.
func PublicPlan(p *local.Plan) Protocol {
	l := Loss{Name: p.Loss.Name()}
	if e, ok := p.Loss.(*engine.Expression); ok {
		l.Formula, l.Params, l.Clip = e.Formula(), e.Params(), e.Clip()
	}
	q := Protocol{
		Version: protocolVersion, Method: p.Method.String(), Loss: l, Protocol: p.Protocol, Guarantee: p.Guarantee,
	}
	q.Protocol.Method, q.Protocol.Loss = 0, nil
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
		return nil, fmt.Errorf("serve: the server's protocol has version %d, but this client reads %d, or %d for a "+
			"network", p.Version,
			protocolVersion, networkVersion)
	}
	q := p.Protocol
	var err error
	if q.Method, err = local.ParseMethod(p.Method); err != nil {
		return nil, err
	}
	if q.Loss, err = p.Loss.loss(); err != nil {
		return nil, err
	}
	return q.Plan()
}
