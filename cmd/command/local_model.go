package command

import (
	"fmt"
	"math"

	lib "dyad"
	"dyad/algorithms/local/serve"
	"dyad/engine/dataset"
	"dyad/privacy"
)

type localModelCmd struct {
	Server string `required:"" placeholder:"URL" help:"Address of the server, http:// or https://."`
	Schema string `required:"" placeholder:"FILE" help:"As in train, with the schema of the users."`
	Out    string `writes:"model" short:"o" default:"local.json" placeholder:"FILE" help:"Model file."`
	Force  bool
	iterateFlag
	caFlag
}

// iterateFlag is the flag of commands that save one of the two models of a protocol.
type iterateFlag struct {
	Iterate string `enum:"average,last" default:"average" placeholder:"WHICH" help:"average: mean of the iterates. last: the last iterate, with far more noise if messages are private. Default: average."`
}

// of returns the last iterate or the average, as the flag requests.
func (f iterateFlag) of(last, average []float64) []float64 {
	if f.Iterate == "last" {
		return last
	}
	return average
}

// localModelResult is the JSON output of local model.
type localModelResult struct {
	Model     string            `json:"model"`
	Iterate   string            `json:"iterate"`
	Epoch     int               `json:"epoch"`
	Epochs    int               `json:"epochs"`
	Done      bool              `json:"done"`
	Visits    int64             `json:"visits"`
	Guarantee privacy.Guarantee `json:"guarantee"`
}

// Run saves the model.
func (c *localModelCmd) Run(a *app) error {
	if err := checkOut(c.Out, c.Force, c.Schema); err != nil {
		return err
	}
	schema, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return asInput(err)
	}
	encoder, err := dataset.NewEncoder(schema)
	if err != nil {
		return asInput(err)
	}
	remote, err := c.remote(c.Server)
	if err != nil {
		return err
	}
	protocol, st, err := remote.Published(a.ctx)
	if err != nil {
		return flagError{err}
	}
	p, err := protocol.Plan()
	if err != nil {
		return asInput(err)
	}
	w := c.of(st.Model, st.Average)
	switch {
	case encoder.Dim() != p.Dim:
		return badInput("the schema gives %d features, but the protocol has %d; use the schema of the users",
			encoder.Dim(), p.Dim)
	case !serve.Fits(p, w) || st.Epoch < 1 || st.Visits < 0 || st.Visits > math.MaxInt32*int64(p.Epochs):
		return badInput("the server's state does not match its protocol")
	case st.Visits == 0:
		return badInput("no user has answered yet, so there is no model")
	}
	g := lib.ShapeOf(encoder, p.Users).OfUsers(p.Guarantee)
	r := localModelResult{Iterate: c.Iterate, Epoch: min(st.Epoch, p.Epochs), Epochs: p.Epochs, Done: st.Done,
		Visits: st.Visits, Guarantee: g}
	m := (&lib.Study{Plan: p, Loss: lib.Loss(protocol.Loss)}).Model(encoder, w, st.Visits, g)
	m.Created = a.began
	if r.Model, err = a.saveModel(m, c.Out, c.Force); err != nil {
		return err
	}
	state := fmt.Sprintf("epoch %d of %d", r.Epoch, r.Epochs)
	if r.Done {
		state = "all epochs are over"
	}
	return a.emit(r, fmt.Sprintf("model       %s: %s iterate after %d messages, %s (score new records: dyad "+
		"predict %s --data FILE)\nguarantee   %s\n", r.Model, r.Iterate, r.Visits, state, r.Model, hanging(g.Report())))
}
