package command

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	lib "dyad"
	"dyad/algorithms/local/serve"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/privacy"
)

type localClientCmd struct {
	Server   string        `xor:"server" required:"" placeholder:"URL" help:"Address of the server, http:// or https://."`
	Protocol string        `xor:"server" required:"" placeholder:"FILE" help:"Protocol file of \"dyad local plan --out\", in place of a server: the message of the first epoch is printed, not sent."`
	Data     string        `required:"" placeholder:"FILE" help:"Data file with the user's record; - is standard input."`
	Schema   string        `required:"" placeholder:"FILE"`
	Row      int           `positive:"" default:"1" help:"Row of the record in the file."`
	User     string        `required:"" placeholder:"ID" help:"Name of the user for the server, 1 to 128 bytes."`
	Memory   string        `private:"memory" required:"" placeholder:"FILE" help:"File that remembers the answers of one record. Keep this file: without it a user could answer twice."`
	Most     float64       `positive:"" name:"max-epsilon" required:"" placeholder:"EPSILON" help:"Refuse a protocol if its messages and earlier ones together cost more than EPSILON."`
	Public   bool          `name:"public-features" help:"Let method prestige-label send the features without noise."`
	Follow   bool          `needs:"server" help:"Answer in every remaining epoch. If the server does not answer, wait."`
	Poll     time.Duration `default:"1s" positive:"" placeholder:"DURATION" help:"With --follow: time between two requests to the server."`
	Token    string        `private:"token" placeholder:"FILE" help:"File with the user's token, for a server that asks for one."`
	Epochs   int           `positive:"" name:"max-epochs" default:"1000" placeholder:"N" help:"Refuse protocols of more than N epochs."`
	Pairs    int           `positive:"" name:"max-direction-pairs" default:"64" placeholder:"N" help:"Refuse protocols with more than N random directions. Each adds work to every message."`
	Beat     time.Duration `name:"beat" default:"100ms" positive:"" placeholder:"DURATION" help:"Send new messages only at multiples of this time after the model arrives. This hides the computing time."`
	caFlag
	labelsFlag
}

// caFlag is the flag of commands that send requests to a server.
type caFlag struct {
	CA string `placeholder:"FILE" help:"Root certificates (PEM) for checking the server's certificate. Default: the system's root certificates."`
}

// localAnswer is the JSON output of local client.
type localAnswer struct {
	Outcome   serve.Outcome     `json:"outcome"`
	Unusable  string            `json:"record_unusable,omitempty"` // reason why the record contributes nothing, shown to the user only
	Epoch     int               `json:"epoch,omitempty"`
	User      string            `json:"user,omitempty"`
	Epsilon   float64           `json:"epsilon_spent"` // total epsilon of all stored messages
	Guarantee privacy.Guarantee `json:"guarantee"`
	Message   *serve.Submission `json:"message,omitempty"` // with --protocol
	Limits    localLimits       `json:"limits"`
}

// localLimits are the limits within which the client accepts a protocol.
type localLimits struct {
	Epochs int `json:"epochs"`
	Pairs  int `json:"direction_pairs"`
	Loss   int `json:"loss_operations"`
}

// Run answers the server.
func (c *localClientCmd) Run(a *app) error {
	encoder, err := schemaEncoder(c.Schema)
	if err != nil {
		return err
	}
	file := serve.RecordFile{Path: c.Data, Row: c.Row, Encoder: encoder, Options: c.options(dataset.Options{})}
	if c.Data == "-" {
		file.Reader = a.stdin
	}
	record, unusable, err := file.Read(a.ctx)
	if err != nil {
		return flagError{err}
	}
	if unusable != "" {
		a.note("dyad: the record cannot be used: %s\nThe server does not learn this: it gets a message that "+
			"contributes nothing and has the usual cost.", unusable)
	}
	client := serve.Client{
		User: c.User, Beat: c.Beat, Trace: a.at,
		Limits: serve.Limits{Epsilon: c.Most, Epochs: c.Epochs, Pairs: c.Pairs, PublicFeatures: c.Public},
	}
	if client.Memory, err = serve.OpenMemory(c.Memory); err != nil {
		return flagError{err}
	}
	defer client.Memory.Close()
	if client.Remote, err = c.remote(c.Server); err != nil {
		return err
	}
	if c.Token != "" {
		if client.Remote.Token, err = serve.ReadToken(c.Token); err != nil {
			return asInput(err)
		}
	}
	answer, err := c.answer(a.ctx, &client, record)
	if err != nil {
		return flagError{err}
	}
	r := localAnswer{
		Outcome: answer.Outcome, Unusable: unusable, Epoch: answer.Epoch, User: answer.User, Epsilon: answer.Epsilon,
		Guarantee: answer.Guarantee, Message: answer.Message,
		Limits: localLimits{c.Epochs, c.Pairs, serve.MaxOperations},
	}
	r.Guarantee = lib.ShapeOf(encoder, 1).OfUsers(r.Guarantee)
	return a.emit(r, r.text())
}

// answer answers the server, or the protocol of a file.
func (c *localClientCmd) answer(ctx context.Context, client *serve.Client, z engine.Record) (serve.Answer, error) {
	switch {
	case c.Protocol != "":
		protocol, err := readProtocol(c.Protocol)
		if err != nil {
			return serve.Answer{}, err
		}
		return client.Draw(ctx, protocol, z)
	case c.Follow:
		return client.Follow(ctx, z, c.Poll)
	}
	return client.Answer(ctx, z)
}

// remote returns the server at an address.
func (c caFlag) remote(address string) (serve.Remote, error) {
	var roots *x509.CertPool
	if c.CA != "" {
		text, err := files.ReadSmall(c.CA, files.MaxSmallBytes)
		if err != nil {
			return serve.Remote{}, asInput(err)
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return serve.Remote{}, badInput("%s has no certificate", c.CA)
		}
	}
	return serve.Remote{URL: address, Client: serve.NewHTTPClient(roots)}, nil
}

// flagError is an error of package serve, worded with the names of the command-line flags.
type flagError struct{ error }

var optionFlags = strings.NewReplacer("Limits.Epochs", "--max-epochs", "Limits.Pairs", "--max-direction-pairs",
	"Limits.Epsilon", "--max-epsilon",
	"Limits.PublicFeatures", "--public-features", "Remote.URL", "--server",
	"give NewHTTPClient the certificates that you trust",
	"give the certificates that you trust with --ca")

// Error implements error.
func (e flagError) Error() string { return optionFlags.Replace(e.error.Error()) }

// Unwrap returns the original error of the library.
func (e flagError) Unwrap() error { return e.error }

func (r localAnswer) text() string {
	epoch := map[serve.Outcome]string{
		serve.Accepted: "the server accepted the message of epoch %d",
		serve.Before:   "the server already had the message of epoch %d, so no new message was drawn",
		serve.Late:     "epoch %d ended before the message arrived; the message is not used, but its epsilon is spent",
		serve.Printed:  "message of epoch %d, not sent:",
	}[r.Outcome]
	text := "all epochs are over; no message was sent\n"
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
	if r.User != "" {
		text += "the message names the user " + r.User + "\n"
	}
	return text + fmt.Sprintf("all messages in the memory file cost epsilon %s\nguarantee of the whole protocol: "+
		"%sthis client refuses more than %d epochs, %d direction pairs or %d operations in the loss\n",
		privacy.FormatUp(r.Epsilon), r.Guarantee.Report(), r.Limits.Epochs, r.Limits.Pairs, r.Limits.Loss)
}
