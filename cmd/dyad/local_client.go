package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"

	"dyad/algorithms/local"
	"dyad/cmd/dyad/localserve"
	"dyad/engine"
	"dyad/privacy"
)

type localClientCmd struct {
	Server   string        `placeholder:"URL" help:"Address of the server, http:// or https://."`
	Protocol string        `placeholder:"FILE" help:"Protocol file of \"dyad local plan --out\", in place of a server: the message of the first epoch is printed, not sent."`
	Data     string        `required:"" placeholder:"FILE" help:"Data file with the record; - is standard input."`
	Schema   string        `required:"" placeholder:"FILE" help:"Schema of the record (YAML)."`
	Row      int           `positive:"" default:"1" help:"Row of the record among those of the file."`
	User     string        `required:"" placeholder:"ID" help:"Name of the user for the server, 1 to 128 bytes."`
	Memory   string        `required:"" placeholder:"FILE" help:"File that remembers what was answered; keep it: without it a user could answer twice. One for each record."`
	Most     float64       `positive:"" name:"max-epsilon" required:"" placeholder:"EPSILON" help:"Refuse protocols whose messages, with those remembered, cost more in all."`
	Public   bool          `name:"public-features" help:"The features may be sent in clear, for method prestige-label."`
	Follow   bool          `help:"Answer in every epoch until all are over; wait while the server is away."`
	Poll     time.Duration `default:"1s" positive:"" placeholder:"DURATION" help:"With --follow: time between two looks at the server."`
	Token    string        `placeholder:"FILE" help:"File with the user's token, for a server that asks for one."`
	Epochs   int           `positive:"" name:"max-epochs" default:"1000" placeholder:"N" help:"Refuse protocols of more epochs."`
	Pairs    int           `positive:"" name:"max-direction-pairs" default:"64" placeholder:"N" help:"Refuse protocols of more random directions, which are work for every message."`
	Beat     time.Duration `name:"beat" default:"100ms" positive:"" placeholder:"DURATION" help:"A new message is sent at a multiple of this time after the model arrived, so that its time does not tell how long it took to make."`
	caFlag
	labelsFlag
}

// caFlag is the flag of commands that ask a server.
type caFlag struct {
	CA string `placeholder:"FILE" help:"Certificates (PEM) that the server's must come from. Default: those of the system."`
}

// Help shows examples.
func (localClientCmd) Help() string {
	return `Fetches protocol and model, computes constants and guarantee itself, draws the message here and sends it. A
message is written to the memory file before it is sent, so that it can be sent again, but no second one is made.
A record with a missing value, an unknown category or another label is answered for, too, by a message that
contributes nothing and looks like any other; a note on standard error tells you, and the exit code does not.

Exit codes: 0 the message of this epoch is with the server, or all epochs are over; 1 the server refused it; 2 bad
input or protocol; 3 the server is away, or the protocol costs too much.

Examples:
  dyad local plan -n 300 --schema patients.yaml --epochs 2 --out learn.json
  dyad local client --protocol learn.json --data patients.csv --schema patients.yaml --row 7 --user p7 --memory p7.json --max-epsilon 2
With a server:
  $ dyad local client --server https://study.example.org --data me.csv --schema patients.yaml --user me --memory me.json --max-epsilon 2 --follow`
}

// localAnswer is the JSON output of local client.
type localAnswer struct {
	Outcome   string                 `json:"outcome"`
	Unusable  string                 `json:"record_unusable,omitempty"` // why the record contributes nothing, for the user's eyes
	Epoch     int                    `json:"epoch,omitempty"`
	Epsilon   float64                `json:"epsilon_spent"` // of all remembered messages
	Guarantee privacy.Guarantee      `json:"guarantee"`
	Message   *localserve.Submission `json:"message,omitempty"` // with --protocol
	Limits    localLimits            `json:"limits"`
}

// localLimits are what the client accepts of a protocol.
type localLimits struct {
	Epochs int `json:"epochs"`
	Pairs  int `json:"direction_pairs"`
	Loss   int `json:"loss_operations"`
}

// Run answers.
func (c *localClientCmd) Run(a *app) error {
	if (c.Server == "") == (c.Protocol == "") {
		return badInput("give --server, or --protocol to print a message without one")
	}
	if c.Follow && c.Server == "" {
		return badInput("--follow needs --server")
	}
	encoder, err := schemaEncoder(c.Schema)
	if err != nil {
		return err
	}
	record, unusable, err := c.record(a, encoder)
	if err != nil {
		return err
	}
	if unusable != "" {
		a.note("dyad: the record cannot be used: %s\nThe server does not learn this: it gets a message all the same, of a record that contributes nothing, at the usual cost.", unusable)
	}
	memory, err := openClientMemory(c.Memory)
	if err != nil {
		return err
	}
	defer memory.close()
	client, err := c.http()
	if err != nil {
		return err
	}
	remote := localserve.Remote{URL: c.Server, Client: client}
	if c.Token != "" {
		if remote.Token, err = localserve.ReadToken(c.Token); err != nil {
			return asInput(err)
		}
	}
	planned := planCache{}
	for {
		answer, err := c.answer(a, remote, memory, record, &planned)
		again := err == nil && answer.Outcome != outcomeOver && answer.Outcome != outcomePrinted || errors.Is(err, errUnavailable)
		if !c.Follow || !again {
			if err != nil {
				return err
			}
			answer.Unusable = unusable
			addSchema(&answer.Guarantee, encoder.Schema())
			return a.emit(answer, answer.text())
		}
		select {
		case <-a.ctx.Done():
			return a.ctx.Err()
		case <-time.After(c.Poll):
		}
	}
}

// The outcomes of an answer.
const (
	outcomeAccepted = "accepted"
	outcomeBefore   = "answered before"
	outcomeLate     = "too late"
	outcomeOver     = "over"
	outcomePrinted  = "printed"
)

func (c caFlag) http() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, asInput(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, badInput("%s has no certificate", c.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	// The server sends nobody elsewhere; a token must not follow who does.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, Timeout: 30 * time.Second, CheckRedirect: stay}, nil
}

// answer makes and sends the message of the present epoch, unless there is one.
func (c *localClientCmd) answer(a *app, remote localserve.Remote, memory *clientMemory, z engine.Record, planned *planCache) (localAnswer, error) {
	protocol, st, err := c.fetch(a.ctx, remote)
	if err != nil {
		return localAnswer{}, err
	}
	arrived := time.Now()
	p, err := c.accept(a, protocol, memory, z, planned)
	if err != nil {
		return localAnswer{}, err
	}
	r := localAnswer{Limits: localLimits{c.Epochs, c.Pairs, localserve.MaxOperations}, Guarantee: p.Guarantee, Epoch: st.Epoch, Epsilon: memory.spent("")}
	if st.Done {
		r.Outcome, r.Epoch = outcomeOver, 0
		return r, nil
	}
	if st.Epoch < 1 || st.Epoch > p.Epochs || len(st.Model) != p.Dim || !(norm(st.Model) <= p.Radius*(1+1e-9)) {
		return localAnswer{}, badInput("the server's state does not match its protocol; nothing was drawn or sent")
	}
	epoch := st.Epoch
	if p.Method == local.PrestigeLabel {
		epoch = 1
	}
	key := protocolKey(protocol)
	sent := memory.find(key, epoch)
	if sent == nil {
		m, err := c.message(p, st, z)
		if err != nil {
			return localAnswer{}, err
		}
		if sent, err = memory.add(clientAnswer{Protocol: key, Epoch: epoch, Epsilon: p.Epsilon, Message: m}); err != nil {
			return localAnswer{}, fmt.Errorf("the memory file cannot be written, so nothing was sent: %w", err)
		}
		a.at("message remembered")
		if c.Protocol == "" {
			if err := c.wait(a.ctx, arrived); err != nil {
				return localAnswer{}, err
			}
		}
	}
	r.Epsilon = memory.spent("")
	switch {
	case c.Protocol != "":
		r.Outcome, r.Message = outcomePrinted, &sent.Message
		return r, nil
	case sent.Accepted:
		r.Outcome = outcomeBefore
		return r, nil
	}
	_, err = remote.Submit(a.ctx, sent.Message)
	a.at("message sent")
	var refused *localserve.RefusedError
	switch {
	case err == nil:
		r.Outcome = outcomeAccepted
	case errors.As(err, &refused) && refused.Code == localserve.CodeTwice: // it arrived, its receipt did not
		r.Outcome = outcomeBefore
	case errors.As(err, &refused) && (refused.Code == localserve.CodeEpoch || refused.Code == localserve.CodeOver):
		r.Outcome = outcomeLate
		return r, nil
	default:
		return localAnswer{}, away(a.ctx, err)
	}
	sent.Accepted = true
	return r, memory.write()
}

// fetch gets protocol and state, or makes the first state for a protocol file.
func (c *localClientCmd) fetch(ctx context.Context, remote localserve.Remote) (protocol localserve.Protocol, st localserve.PublicState, err error) {
	if c.Protocol != "" {
		protocol, err = readProtocol(c.Protocol)
		if err == nil && (protocol.Dim < 1 || protocol.Dim > 1<<24) {
			err = badInput("%s has %d features", c.Protocol, protocol.Dim)
		}
		if err != nil {
			return protocol, st, err
		}
		return protocol, localserve.PublicState{Epoch: 1, Model: make([]float64, protocol.Dim)}, nil
	}
	if protocol, err = remote.Plan(ctx); err == nil {
		st, err = remote.State(ctx)
	}
	return protocol, st, away(ctx, err)
}

// message draws the message: the only place of the program where a client's record
// meets randomness.
func (c *localClientCmd) message(p *local.Plan, st localserve.PublicState, z engine.Record) (localserve.Submission, error) {
	src, err := privacy.NewSource()
	if err != nil {
		return localserve.Submission{}, err
	}
	client := local.NewClient(p, src)
	if p.Method == local.PrestigeLabel {
		y, err := client.Label(z.Y)
		if err != nil {
			return localserve.Submission{}, err
		}
		s, err := localserve.NewLabelSubmission(c.User, z.X, y)
		return s, asInput(err)
	}
	m, err := client.Message(&local.State{Epoch: st.Epoch, W: st.Model}, z)
	if err != nil {
		return localserve.Submission{}, err
	}
	s, err := localserve.NewSubmission(c.User, st.Epoch, m)
	return s, asInput(err)
}

// away marks errors after which a later attempt can succeed.
func away(ctx context.Context, err error) error {
	var refused *localserve.RefusedError
	var stranger *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &stranger):
		return badInput("the server cannot be trusted to be the one of --server, nothing was sent; if it should be, give its certificates with --ca: %v", err)
	case errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests:
		return err
	case errors.Is(err, localserve.ErrAddress):
		return asInput(err)
	}
	return fmt.Errorf("%w: %w", errUnavailable, err)
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func (r localAnswer) text() string {
	epoch := map[string]string{
		outcomeAccepted: "the message of epoch %d is with the server",
		outcomeBefore:   "the message of epoch %d was with the server before; nothing new was drawn",
		outcomeLate:     "epoch %d ended before the message arrived; it counts as spent and is not used",
		outcomePrinted:  "message of epoch %d, not sent:",
	}[r.Outcome]
	text := "all epochs are over; nothing was sent\n"
	if epoch != "" {
		text = fmt.Sprintf(epoch+"\n", r.Epoch)
	}
	if r.Message != nil {
		message, err := json.Marshal(r.Message)
		if err != nil {
			return err.Error()
		}
		text += string(message) + "\n"
	}
	return text + fmt.Sprintf("epsilon %s spent by all remembered messages\nguarantee of the whole protocol: %saccepted are protocols of at most %d epochs, %d direction pairs and a loss of %d operations\n",
		privacy.FormatUp(r.Epsilon), r.Guarantee.Report(), r.Limits.Epochs, r.Limits.Pairs, r.Limits.Loss)
}
