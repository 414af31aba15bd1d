package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Remote is the client's side of a connection to a server.
type Remote struct {
	URL    string       // e.g. https://learn.example.org
	Client *http.Client // nil means NewHTTPClient(nil)
	// Token is the token of the user, or "" for a server that requires no tokens. It is sent over https. Over
	// http it is sent only to this machine.
	Token string
}

// errAddress is wrapped by errors about a Remote whose URL is not an address, or to which a token would be sent
// in clear.
var errAddress = errors.New("serve: no server address")

// readable reports whether others on the network path can read requests to an address.
func readable(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme != "https" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// RefusedError is the server's response to a request that it did not accept.
type RefusedError struct {
	Status  int
	Code    string // one of the codes above, or "" if this server did not write the response
	Message string // as received: print it with Printable
}

// Error returns the server's message in quotes, with the status.
func (e *RefusedError) Error() string {
	return fmt.Sprintf(`serve: the server answered %d: "%s"`, e.Status, Printable(e.Message))
}

// Plan fetches the protocol.
func (r Remote) Plan(ctx context.Context) (p Protocol, err error) {
	err = r.do(ctx, http.MethodGet, "/v1/plan", nil, &p)
	return p, err
}

// State fetches the published state.
func (r Remote) State(ctx context.Context) (s PublicState, err error) {
	err = r.do(ctx, http.MethodGet, "/v1/state", nil, &s)
	return s, err
}

// Submit sends a message.
func (r Remote) Submit(ctx context.Context, m Submission) (receipt Receipt, err error) {
	err = r.do(ctx, http.MethodPost, "/v1/messages", m, &receipt, m.User)
	return receipt, err
}

// maxAnswer is the largest number of bytes that is read of a response: a model of 2^20 features in decimal.
const maxAnswer = 64 << 20

func (r Remote) do(ctx context.Context, method, path string, body, into any, user ...string) error {
	base, err := url.Parse(r.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return fmt.Errorf("%w: %q, want http://host:port or https://host", errAddress, r.URL)
	}
	if r.Token != "" && readable(base) {
		return fmt.Errorf("%w: the token would go to %s unencrypted; use https", errAddress, base.Host)
	}
	var content io.Reader // nil for GET
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.URL, "/")+path, content)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		// Sending a message twice is safe, so the empty header value allows net/http to send it again if the
		// server closed the connection meanwhile. The header is not sent.
		request.Header["Idempotency-Key"] = []string{}
	}
	for _, u := range user {
		request.Header.Set(userHeader, url.PathEscape(u))
	}
	if r.Token != "" {
		request.Header.Set("Authorization", "Bearer "+r.Token)
	}
	response, err := cmp.Or(r.Client, NewHTTPClient(nil)).Do(request)
	if err != nil {
		return fmt.Errorf("serve: %w", asForeign(err))
	}
	defer response.Body.Close()
	limited := io.LimitReader(response.Body, maxAnswer)
	if response.StatusCode != http.StatusOK {
		var problem struct{ Error, Code string }
		_ = json.NewDecoder(limited).Decode(&problem)
		return &RefusedError{Status: response.StatusCode, Code: problem.Code, Message: problem.Error}
	}
	if err := json.NewDecoder(limited).Decode(into); err != nil {
		return fmt.Errorf("serve: cannot decode the server's answer to %s: %w", path, asForeign(err))
	}
	return nil
}
