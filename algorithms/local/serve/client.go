package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/internal/input"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Limits bounds the protocols that a client accepts.
type Limits struct {
	// Epsilon is the limit for the sum of the privacy costs of all messages of this protocol and of the
	// other protocols in the memory. It is required.
	Epsilon float64
	// Epochs and Pairs limit the work for a protocol: its number of epochs, and its number of pairs of random
	// directions. The value 0 means DefaultEpochs or DefaultPairs.
	Epochs, Pairs int
	// PublicFeatures reports whether the features may be sent without noise. Method prestige-label requires this.
	PublicFeatures bool
}

// The limits of a zero Limits, and the beat of a zero Client.
const (
	DefaultEpochs = 1000
	DefaultPairs  = 64
	DefaultBeat   = 100 * time.Millisecond
)

// Client answers a server for one user and one record. Before a message is sent, it is stored on disk in
// Memory. No message is drawn twice. A Client must be used from one goroutine at a time.
type Client struct {
	Remote Remote
	User   string // the id of the user, 1 to 128 bytes
	Memory *Memory
	Limits Limits
	// Beat is a time interval. The client sends a new message when a whole number of Beats has passed since the
	// state arrived. If Beat is 0, DefaultBeat applies.
	Beat time.Duration
	// Trace, if not nil, is called with the name of each stage when the stage is done: "planned", "message
	// remembered", "message sent". Tests use it to stop a client at a stage.
	Trace func(stage string)

	// The plan is kept because planning takes time and Follow asks the server every poll.
	planned struct {
		key  string
		plan *local.Plan
	}
}

func (c *Client) at(stage string) {
	if c.Trace != nil {
		c.Trace(stage)
	}
}

// Outcome is the outcome of an Answer.
type Outcome string

// The outcomes of an Answer.
const (
	Accepted Outcome = "accepted"
	Before   Outcome = "answered before" // the server already had the message; nothing new was drawn
	Late     Outcome = "too late"        // the epoch ended before the message arrived; the message counts as spent
	Over     Outcome = "over"            // all epochs are over; there is no message
	Printed  Outcome = "printed"         // the message was drawn and not sent: see Draw
)

// Answer reports the actions of a client.
type Answer struct {
	Outcome   Outcome
	Epoch     int
	User      string            // the id of the user in the message of the epoch; an accepted message keeps an earlier id
	Epsilon   float64           // the epsilon of all remembered messages
	Guarantee privacy.Guarantee // the guarantee of the whole protocol
	Message   *Submission       // the message that Draw drew
}

// ErrInput is wrapped by every error about an unusable protocol, address, file or record. Trying again does not
// help. No message was drawn or sent.
var ErrInput = input.Err

func inputError(format string, args ...any) error {
	return input.Errorf("serve: "+format, args...)
}

// ErrAway is wrapped by errors after which a later attempt can succeed: the server cannot be reached or is
// busy, or another client uses the memory.
var ErrAway = errors.New("serve: not available")

// NewHTTPClient returns an HTTP client that does not follow redirects, because a token must not be sent to
// another address. roots are the authorities for the server's certificate. If roots is nil, the authorities of
// the system are used.
func NewHTTPClient(roots *x509.CertPool) *http.Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Timeout: 30 * time.Second, CheckRedirect: stay}
	if roots != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		client.Transport = transport
	}
	return client
}

// Follow answers in every epoch until all epochs are over. It asks the server for the state in intervals
// of the duration poll, also while the server cannot be reached.
func (c *Client) Follow(ctx context.Context, z engine.Record, poll time.Duration) (Answer, error) {
	for {
		a, err := c.Answer(ctx, z)
		if err == nil && a.Outcome == Over || err != nil && !errors.Is(err, ErrAway) {
			return a, err
		}
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// Answer sends the message of the current epoch, unless the memory records that it was accepted. It makes the
// message only if the memory has none. Its error wraps ErrInput, ErrAway or ledger.ErrBudget, or is a
// *RefusedError. ledger.ErrBudget means that the protocol costs more than Limits.Epsilon.
func (c *Client) Answer(ctx context.Context, z engine.Record) (Answer, error) {
	protocol, st, err := c.Remote.Published(ctx)
	if err != nil {
		return Answer{}, err
	}
	return c.answer(ctx, protocol, st, z, true)
}

// Draw draws the message of the first epoch of a protocol and remembers it without sending it.
func (c *Client) Draw(ctx context.Context, p Protocol, z engine.Record) (Answer, error) {
	if p.Dim < 1 || p.Dim > 1<<24 {
		return Answer{}, inputError("the protocol has %d features", p.Dim)
	}
	q, err := c.accept(p, z)
	if err != nil {
		return Answer{}, err
	}
	return c.answer(ctx, p, PublicState{Epoch: 1, Model: q.Start().W}, z, false)
}

// answer answers a state that has just arrived.
func (c *Client) answer(ctx context.Context, protocol Protocol, st PublicState, z engine.Record,
	send bool) (Answer, error) {
	arrived := time.Now()
	p, err := c.accept(protocol, z)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Guarantee: p.Guarantee, Epoch: st.Epoch, Epsilon: c.Memory.Spent()}
	if st.Done {
		a.Outcome, a.Epoch = Over, 0
		return a, nil
	}
	if st.Epoch < 1 || st.Epoch > p.Epochs || !Fits(p, st.Model) {
		return Answer{}, inputError("the server's state does not match its protocol; no message was drawn or sent")
	}
	epoch := st.Epoch
	if p.Method == local.PrestigeLabel {
		epoch = 1
	}
	key := protocol.key()
	sent := c.Memory.find(key, epoch)
	if sent == nil {
		m, err := c.message(p, st, z)
		if err != nil {
			return Answer{}, err
		}
		if sent, err = c.Memory.add(Remembered{Protocol: key, Epoch: epoch, Epsilon: p.Epsilon, Message: m}); err != nil {
			return Answer{}, fmt.Errorf("serve: the memory file cannot be written, so no message was sent: %w", err)
		}
		c.at("message remembered")
		if send {
			if err := c.wait(ctx, arrived); err != nil {
				return Answer{}, err
			}
		}
	} else if err := c.readdress(sent); err != nil {
		return Answer{}, err
	}
	a.Epsilon, a.User = c.Memory.Spent(), sent.Message.User
	switch {
	case !send:
		a.Outcome, a.Message = Printed, &sent.Message
		return a, nil
	case sent.Accepted:
		a.Outcome = Before
		return a, nil
	}
	_, err = c.Remote.Submit(ctx, sent.Message)
	c.at("message sent")
	var refused *RefusedError
	switch {
	case err == nil:
		a.Outcome = Accepted
	case errors.As(err, &refused) && refused.Code == CodeTwice: // the message arrived, but its receipt did not
		a.Outcome = Before
	case errors.As(err, &refused) && (refused.Code == CodeEpoch || refused.Code == CodeOver):
		a.Outcome = Late
		return a, nil
	default:
		return Answer{}, away(ctx, err)
	}
	sent.Accepted = true
	return a, c.Memory.write()
}

// readdress gives a remembered message that no server has accepted the id that the user has now. Without it, a mistyped
// id could be corrected only by a second message, at a further cost. The privatised part stays, so the cost stays.
func (c *Client) readdress(sent *Remembered) error {
	if sent.Accepted || sent.Message.User == c.User {
		return nil
	}
	if err := checkUser(c.User); err != nil {
		return input.As(err)
	}
	sent.Message.User = c.User
	return c.Memory.write()
}

// accept returns the plan of a protocol, or an error if this user may not answer the protocol.
func (c *Client) accept(protocol Protocol, z engine.Record) (*local.Plan, error) {
	epochs, pairs := cmp.Or(c.Limits.Epochs, DefaultEpochs), cmp.Or(c.Limits.Pairs, DefaultPairs)
	switch {
	case len(z.X) != protocol.Dim:
		return nil, inputError("the record has %d features but the protocol has %d; no message was sent",
			len(z.X), protocol.Dim)
	case protocol.Epochs > epochs:
		return nil, inputError("the protocol has %d epochs, which is more than Limits.Epochs = %d; no message was sent",
			protocol.Epochs, epochs)
	case protocol.Pairs > pairs:
		return nil, inputError("the protocol has %d direction pairs, which is more than Limits.Pairs = %d; no "+
			"message was sent", protocol.Pairs, pairs)
	}
	key := protocol.key()
	p := c.planned.plan
	if p == nil || c.planned.key != key {
		var err error
		if p, err = protocol.Plan(); err != nil {
			return nil, input.As(err)
		}
		c.planned.key, c.planned.plan = key, p
		c.at("planned")
	}
	switch {
	case p.FeatureNorm < engine.UnitBounds().FeatureNorm:
		return nil, inputError("the protocol allows feature norms up to %g, but here they reach 1; no message was "+
			"sent", p.FeatureNorm)
	case p.Guarantee.Kind == privacy.LabelLDP && !c.Limits.PublicFeatures:
		return nil, inputError("method %s sends the features without noise; if the features are public, set "+
			"Limits.PublicFeatures",
			p.Method)
	case p.Guarantee.Kind != privacy.LocalDP && p.Guarantee.Kind != privacy.LabelLDP:
		return nil, inputError("method %s gives no guarantee; no message was sent", p.Method)
	}
	if cost := c.Memory.spent(key, p.Guarantee.Epsilon); !(cost <= c.Limits.Epsilon) {
		return nil, fmt.Errorf("%w: this protocol and all others in the memory file cost epsilon %s, above "+
			"Limits.Epsilon = %g; no message was sent", ledger.ErrBudget,
			privacy.FormatUp(cost), c.Limits.Epsilon)
	}
	return p, nil
}

// message draws the message. It is the only place where the record meets randomness.
func (c *Client) message(p *local.Plan, st PublicState, z engine.Record) (Submission, error) {
	src, err := privacy.NewSource()
	if err != nil {
		return Submission{}, err
	}
	client := local.NewClient(p, src)
	if p.Method == local.PrestigeLabel {
		y, err := client.Label(z.Y)
		if err != nil {
			return Submission{}, err
		}
		s, err := NewLabelSubmission(c.User, z.X, y)
		return s, input.As(err)
	}
	m, err := client.Message(&local.State{Epoch: st.Epoch, W: st.Model}, z)
	if err != nil {
		return Submission{}, err
	}
	s, err := NewSubmission(c.User, st.Epoch, m)
	return s, input.As(err)
}

// wait waits for the next beat after the state arrived.
//
// In addition to the bytes of a message, a server can see its time of arrival. Between the arrival of the state
// and this call, only the arithmetic of local.Client depends on the record, and it does the same work for every
// record. Planning, drawing and writing to disk do not read the record, and the record was read before the
// server was asked. A fixed beat hides the remaining time differences, including scheduling and the disk,
// unless the work crosses a beat. A random delay would only add noise, which an average over epochs removes.
func (c *Client) wait(ctx context.Context, arrived time.Time) error {
	beat := cmp.Or(c.Beat, DefaultBeat)
	gone := time.Since(arrived)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(beat - gone%beat):
		return nil
	}
}

// Published fetches the protocol and the state. Its errors are like the errors of Client.Answer.
func (r Remote) Published(ctx context.Context) (p Protocol, st PublicState, err error) {
	if p, err = r.Plan(ctx); err == nil {
		st, err = r.State(ctx)
	}
	return p, st, away(ctx, err)
}

// Fits reports whether w can be a published model of a plan.
func Fits(p *local.Plan, w []float64) bool { return p.Fits(w, 1+1e-9) }

// away makes an error wrap ErrAway if a later attempt can succeed.
func away(ctx context.Context, err error) error {
	var refused *RefusedError
	var stranger *tls.CertificateVerificationError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &stranger):
		return inputError("the certificate of Remote.URL is not trusted, so no message was sent; give "+
			"NewHTTPClient the certificates that you trust: %w", err)
	case errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests:
		return err
	case errors.Is(err, errAddress):
		return input.As(err)
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}
