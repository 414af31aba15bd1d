package command

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"slices"
	"strings"

	"dyad/algorithms/local/serve"
	"dyad/engine/dataset"
	"dyad/internal/files"
)

type localServerCmd struct {
	Dir          string   `required:"" placeholder:"DIR" help:"Directory of the message log. It is made if missing. A restart continues from the log."`
	Users        int      `name:"n" aliases:"users" positive:"" short:"n" required:"" help:"Number of users."`
	LookAlikeIDs string   `name:"look-alike-ids" default:"refuse" enum:"refuse,allow"`
	Listen       string   `default:"127.0.0.1:8377" placeholder:"ADDRESS" help:"Address to listen on; port 0 chooses one."`
	Cert         string   `needs:"key" placeholder:"FILE" help:"TLS certificate chain (PEM). Default: plain HTTP, for use behind a proxy or on one machine."`
	Key          string   `needs:"cert" private:"TLS key" placeholder:"FILE" help:"TLS private key (PEM)."`
	Rate         float64  `positive:"" name:"messages-per-second" placeholder:"N" help:"Refuse more messages than N per second with status 429. Default: no limit."`
	Tokens       string   `private:"key of tokens" placeholder:"FILE" help:"Key file of \"dyad local token\": take messages only with the token of their user. Default: an id is enough."`
	Hosts        []string `name:"host" placeholder:"NAME" help:"More names of this server, such as the name of a proxy. Always served: IP addresses, localhost, this machine's name, the names of --listen and --cert. Other names get status 421."`
	Check        bool     `help:"Open the directory, print protocol and state, and stop."`
	taskFlags
	MaxConnections int `positive:"" name:"max-connections" default:"512" placeholder:"N" help:"Maximum number of open connections. Above it, the server closes one without a full request, else one of the busiest client."`
}

// localServerState is the JSON output of local server --check.
type localServerState struct {
	Protocol serve.Protocol    `json:"protocol"`
	State    serve.PublicState `json:"state"`
}

// Run serves until it is interrupted.
func (c *localServerCmd) Run(a *app) (err error) {
	var pair tls.Certificate
	if c.Cert != "" {
		chain, errChain := files.ReadSmall(c.Cert, files.MaxSmallBytes)
		key, errKey := files.ReadSmall(c.Key, files.MaxSmallBytes)
		if err = errors.Join(errChain, errKey); err == nil {
			pair, err = tls.X509KeyPair(chain, key)
		}
		if err != nil {
			return badInput("the certificate of --cert and --key cannot be used: %v", err)
		}
	}
	var notes door // a connection can outlive the command
	defer notes.close()
	options := serve.HandlerOptions{Hosts: c.hosts(pair.Leaf), MessagesPerSecond: c.Rate, Connections: c.MaxConnections,
		ErrorLog: log.New(notes.writer(remarks{a}), "", 0)}
	if c.Tokens != "" {
		if options.Tokens, err = serve.ReadTokenKey(c.Tokens); err != nil {
			return asInput(err)
		}
	}
	p, shuffled, err := c.plans(c.Users)
	if err != nil {
		return err
	}
	s, err := serve.Open(c.Dir, p.Plan, dataset.LookAlikes(c.LookAlikeIDs))
	if errors.Is(err, serve.ErrBusy) {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	if err != nil {
		return asInput(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if n := s.Repaired(); n > 0 {
		a.note("dyad: removed %d bytes of an interrupted write from the log; clients send the lost messages again", n)
	}
	st := s.State()
	progress := fmt.Sprintf("%-11s epoch %d of %d, %d messages\n", "state", min(st.Epoch, st.Epochs), st.Epochs, st.Visits)
	if c.Check {
		return a.emit(localServerState{serve.PublicPlan(p.Plan), st}, localText(p, shuffled)+progress)
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	address := "http://" + listener.Addr().String()
	if c.Cert != "" {
		address = "https://" + listener.Addr().String()
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	if err := a.emit(map[string]any{"address": address, "protocol": serve.PublicPlan(p.Plan)},
		localText(p, shuffled)+progress+fmt.Sprintf("%-11s %s\n", "listening", address)); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.hold()
	return serve.Run(a.ctx, s, listener, options)
}

// hosts returns the host names of the server. certificate is nil without TLS.
func (c *localServerCmd) hosts(certificate *x509.Certificate) []string {
	hosts := slices.Clone(c.Hosts)
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	if name, _, err := net.SplitHostPort(c.Listen); err == nil && name != "" {
		hosts = append(hosts, name)
	}
	if certificate != nil {
		hosts = append(hosts, certificate.DNSNames...)
	}
	return hosts
}

// remarks writes the lines of a log, which clients can influence, as notes.
type remarks struct{ *app }

// Write implements io.Writer.
func (r remarks) Write(line []byte) (int, error) {
	r.note("dyad: %s", serve.Printable(strings.TrimSpace(string(line))))
	return len(line), nil
}

// readProtocol reads a file written by dyad local plan.
func readProtocol(path string) (p serve.Protocol, err error) {
	var missing *fs.PathError
	if err := files.ReadJSON(path, files.MaxSmallBytes, &p); errors.As(err, &missing) {
		return p, asInput(fmt.Errorf("cannot read the protocol: %w", err))
	} else if err != nil {
		return p, badInput("%s is not a protocol written by \"dyad local plan --out\": %s", path,
			serve.Printable(err.Error()))
	}
	return p, nil
}
