package command

import (
	"fmt"

	"dyad/algorithms/local/serve"
	"dyad/internal/files"
	"dyad/privacy"
)

type localPlanCmd struct {
	Users int    `name:"n" aliases:"users" positive:"" short:"n" required:"" help:"Number of users."`
	Out   string `writes:"protocol" short:"o" placeholder:"FILE" help:"Write the public protocol, as the server sends it, to a file."`
	Force bool
	taskFlags
}

// localPlan is the JSON output of local plan.
type localPlan struct {
	serve.Protocol
	Lipschitz    float64 `json:"lipschitz"`
	EstimateNorm float64 `json:"estimate_norm"`
	// The fields below are set for a network. They are the number of its parameters, and the numbers of users
	// below which a plan is refused or gets a warning.
	Parameters    int                `json:"parameters,omitempty"`
	SmallestUsers float64            `json:"smallest_users,omitempty"`
	EnoughUsers   float64            `json:"enough_users,omitempty"`
	Shuffled      *privacy.Guarantee `json:"shuffled,omitempty"`
	Out           string             `json:"out,omitempty"`
}

// Run prints the protocol.
func (c *localPlanCmd) Run(a *app) error {
	if err := checkOut(c.Out, c.Force, c.Schema); err != nil {
		return err
	}
	p, shuffled, err := c.plans(c.Users)
	if err != nil {
		return err
	}
	r := localPlan{Protocol: serve.PublicPlan(p.Plan), Lipschitz: p.Lipschitz, EstimateNorm: p.EstimateNorm,
		Shuffled: shuffled, Out: c.Out}
	if p.Network() != nil {
		r.Parameters, r.SmallestUsers, r.EnoughUsers = p.Parameters, p.SmallestUsers(), p.EnoughUsers()
	}
	text := localText(p, shuffled)
	if c.Out != "" {
		protocol, err := indented(r.Protocol) // the response of GET /v1/plan
		if err == nil {
			err = files.Replace(c.Out, protocol)
		}
		if err != nil {
			return err
		}
		text += fmt.Sprintf("%-11s written to %s\n", "protocol", c.Out)
	}
	return a.emit(r, text+"plan only   no data were read and no message was sent\n")
}
