package command

import (
	"fmt"

	"dyad/algorithms/local/serve"
	"dyad/privacy"
)

type localPlanCmd struct {
	Users int    `name:"n" aliases:"users" positive:"" short:"n" required:"" help:"Number of users."`
	Out   string `writes:"protocol" short:"o" placeholder:"FILE" help:"Write the public protocol, as the server sends it, to a file."`
	Force bool
	taskFlags
}

// Help returns a text with examples.
func (localPlanCmd) Help() string {
	return `Examples:
  dyad local plan -n 10000 -d 20 --epsilon 1
  dyad local plan -n 10000 -d 20 --method djw --epsilon 4 --set direction-pairs=16 --set epochs=3
  dyad local plan -n 100000 -d 20 --epsilon 0.5 --set shuffle-delta=1e-6
  dyad local plan -n 10000 -d 20 --method prestige-label --loss gompertz --set loss-param=c=2
  dyad local plan -n 100000 -d 4 --model mlp --method djw --epsilon 2 --set epochs=1 --set batch=500
  dyad local plan -n 300 --schema patients.yaml --set epochs=2 --out protocol.json`
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
		if err := writeProtocol(c.Out, r.Protocol); err != nil {
			return err
		}
		text += fmt.Sprintf("%-11s written to %s\n", "protocol", c.Out)
	}
	return a.emit(r, text+"plan only   no data were read and no message was sent\n")
}
