package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"dyad/algorithms/local"
	"dyad/internal/tasks"
)

// maxBody is the largest size of the body of a message in bytes, with 32 bytes for a number.
func maxBody(p *local.Plan) int64 {
	if p.Method == local.PrestigeLabel {
		return 4096 + 32*int64(p.Dim)
	}
	return 4096
}

// HandlerOptions bounds the work and memory that a server spends on its clients.
type HandlerOptions struct {
	// MessagesPerSecond limits the accepted messages of all users together. If it is 0, there is no limit.
	// Messages that are refused for another reason do not count.
	MessagesPerSecond float64
	// Tokens, if not nil, makes tokens mandatory. A message and a query for a user's visits then need the token of
	// the user's id in this study (TokenKey.Study). Every user may then make userRate requests a second.
	Tokens *TokenKey
	// Connections is the largest number of connections that NewServer keeps open at a time. If it is 0,
	// DefaultConnections applies.
	Connections int
	// BodyWait is the longest time for the body of a request to arrive. If it is 0, DefaultBodyWait applies.
	BodyWait time.Duration
	// Hosts are the names under which clients reach the server, as in the header Host, without a port. The star in
	// *.example.org matches one label of a domain name. IP addresses and localhost are always accepted. Requests for
	// other hosts are refused. Otherwise a web page could point its own domain name to the address of the server
	// (DNS rebinding) and read everything that a browser on this network may read.
	Hosts []string
	// ErrorLog gets NewServer's reports of broken connections, and Run's report that it stops. If it is nil,
	// standard error is used.
	ErrorLog *log.Logger
}

// DefaultConnections is below the usual limit of 1024 open files.
const DefaultConnections = 512

// DefaultBodyWait is long enough for a message of some kilobytes.
const DefaultBodyWait = 2 * time.Second

// The rate limit for the requests of one user with a token. An honest user makes two requests an epoch.
const (
	userRate  rate.Limit = 1 // requests a second
	userBurst int        = 20
)

// userLimits has a rate limiter for every user that showed a token.
type userLimits struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

func (u *userLimits) allow(user string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.of[user]
	if l == nil {
		l = rate.NewLimiter(userRate, userBurst)
		u.of[user] = l
	}
	return l.Allow()
}

// Handler returns an HTTP handler for s. Every response is JSON.
func Handler(s *Service, o HandlerOptions) http.Handler {
	limit := rate.NewLimiter(rate.Inf, 0)
	if o.MessagesPerSecond > 0 {
		limit = rate.NewLimiter(rate.Limit(o.MessagesPerSecond), max(1, int(o.MessagesPerSecond)))
	}
	largest := maxBody(s.Plan())
	users := &userLimits{of: map[string]*rate.Limiter{}}
	published := &states{service: s}
	shows := func(*http.Request, string) error { return nil }
	if o.Tokens != nil {
		shows = o.Tokens.Study(PublicPlan(s.Plan())).shown
	}
	// allowed reports whether a request may act for a user now. If not, it writes the response.
	allowed := func(w http.ResponseWriter, r *http.Request, user string) bool {
		err := shows(r, user)
		switch {
		case err != nil:
			refuse(w, http.StatusForbidden, CodeToken, err)
		case o.Tokens != nil && !users.allow(user):
			refuseForNow(w, http.StatusTooManyRequests, errors.New("too many requests of this user; try again later"))
		default:
			return true
		}
		return false
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/plan", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, PublicPlan(s.Plan()))
	})
	mux.HandleFunc("GET /v1/state", func(w http.ResponseWriter, _ *http.Request) {
		st, err := published.read()
		if st == nil {
			refuseForNow(w, http.StatusServiceUnavailable,
				errors.Join(err, errors.New("too many requests for the state; try again in a second")))
			return
		}
		defer st.release()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(st.body)))
		_, _ = w.Write(st.body) // an error means that the client's connection is broken
	})
	mux.HandleFunc("GET /v1/users/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !allowed(w, r, r.PathValue("id")) {
			return
		}
		visits, epsilon := s.User(r.PathValue("id"))
		answer(w, http.StatusOK, map[string]any{"user_visits": visits, "user_epsilon": epsilon})
	})
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		var m Submission
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, CodeMessage, errors.New("a message must be application/json"))
			return
		}
		if r.ContentLength > largest {
			refuse(w, http.StatusRequestEntityTooLarge, CodeMessage, fmt.Errorf("a message has at most %d bytes", largest))
			return
		}
		user, err := url.PathUnescape(r.Header.Get(userHeader))
		if err == nil && (user != "" || o.Tokens != nil) {
			err = checkUser(user)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, CodeMessage, fmt.Errorf("the header %s does not name a user: %w",
				userHeader, err))
			return
		}
		if o.Tokens != nil && !allowed(w, r, user) {
			return
		}
		err = decodeOne(http.MaxBytesReader(w, r.Body, largest), &m)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			bodyArrived(w, r)
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				refuse(w, http.StatusRequestTimeout, CodeBusy, fmt.Errorf("the body of the message did not arrive "+
					"within %v", o.bodyWait()))
				return
			}
			if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
				refuse(w, http.StatusRequestEntityTooLarge, CodeMessage, fmt.Errorf("a message has at most %d bytes", largest))
				return
			}
			refuse(w, http.StatusBadRequest, CodeMessage,
				errors.New("the body must be one JSON object with user, epoch, takes, seed and choice"))
			return
		}
		if user != "" && user != m.User {
			refuse(w, http.StatusBadRequest, CodeMessage,
				fmt.Errorf("the user in the message is not the user in the header %s", userHeader))
			return
		}
		receipt, err := s.submit(r.Context(), m, limit.Allow)
		if errors.Is(err, errRate) {
			refuseForNow(w, http.StatusTooManyRequests, err)
			return
		}
		if err != nil {
			status, code := statusOf(err)
			refuse(w, status, code, err)
			return
		}
		answer(w, http.StatusOK, receipt)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, CodeMessage,
			errors.New("unknown request; requests are GET /v1/plan, /v1/state and /v1/users/ID, and POST /v1/messages"))
	})
	return o.guarded(o.bounded(mux))
}

// userHeader is the name of the header that names the user of a message, escaped as a part of a path. With it a message
// can be refused before its body is read.
const userHeader = "Dyad-User"

// bounded refuses requests that no client of this package sends, before any body is read. It refuses requests of web
// pages, which a browser makes in the name of its user to any address that a page names. It refuses bodies of unknown
// length, because an old proxy and this server could see different requests in the same bytes. An awaited body has a
// separate deadline.
func (o HandlerOptions) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !o.serves(r.Host):
			refuse(w, http.StatusMisdirectedRequest, CodeMessage,
				errors.New("the header Host does not name this server; the owner of the server can add the name "+
					"(dyad local server --host NAME)"))
			return
		case r.Header["Origin"] != nil:
			refuse(w, http.StatusForbidden, CodeMessage, errors.New("web pages may not send requests to this server"))
			return
		case len(r.TransferEncoding) > 0:
			_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // no more is read of it
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusLengthRequired, CodeMessage,
				errors.New("send the message with Content-Length, not chunked"))
			return
		}
		if r.ContentLength == 0 {
			h.ServeHTTP(w, r)
			return
		}
		awaits(r.Context(), true)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.bodyWait())) // also for refused requests
		// otherwise the server would read the body of a refused request until bodyArrived
		w.Header().Set("Connection", "close")
		h.ServeHTTP(w, r)
		if w.Header().Get("Connection") != "" {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now())
		}
	})
}

// serves reports whether a header Host names the server. HTTP/1.0 allows requests without Host; no browser sends them.
func (o HandlerOptions) serves(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), ".")
	if _, err := netip.ParseAddr(name); err == nil || name == "" || strings.EqualFold(name, "localhost") {
		return true
	}
	_, parent, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(o.Hosts, func(h string) bool {
		of, wild := strings.CutPrefix(h, "*.")
		return wild && parent != "" && strings.EqualFold(of, parent) || strings.EqualFold(h, name)
	})
}

// bodyArrived ends the deadline of a body. From then on the request counts as a request in work.
func bodyArrived(w http.ResponseWriter, r *http.Request) {
	awaits(r.Context(), false)
	w.Header().Del("Connection")
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the server sets the deadline of the next request
}

func (o HandlerOptions) bodyWait() time.Duration { return cmp.Or(o.BodyWait, DefaultBodyWait) }

// guarded responds to a request that panics, and logs the place of the panic without any value of the request.
func (o HandlerOptions) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := tasks.Caught(recover()); p != nil {
				o.logger().Printf("internal error, please report it: %v", p)
				refuse(w, http.StatusInternalServerError, CodeBusy, errors.New("the server failed at this request"))
			}
		}()
		h.ServeHTTP(w, r)
	})
}

func (o HandlerOptions) logger() *log.Logger { return cmp.Or(o.ErrorLog, log.Default()) }

var (
	errToken = errors.New("this server needs the user's token for this study; ask whoever runs the server for the " +
		"token")
	errOldToken = errors.New(`this token belongs to no study; ask whoever runs the server for a new token ("dyad ` +
		`local token --protocol")`)
)

// shown returns nil if a request shows the token of a user.
func (s Study) shown(r *http.Request, user string) error {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case ok && s.Valid(user, token):
		return nil
	case ok && s.old(user, token):
		return errOldToken
	}
	return errToken
}

// The codes of refusals.
const (
	CodeMessage = "message" // malformed, or a message that no user can have sent
	CodeEpoch   = "epoch"   // made for another epoch
	CodeTwice   = "twice"   // the user's message of this epoch was already accepted
	CodeOver    = "over"    // no more messages are accepted
	CodeToken   = "token"   // the token is not the token of the user
	CodeBusy    = "busy"    // try again later
)

func statusOf(err error) (status int, code string) {
	switch {
	case errors.Is(err, ErrMessage):
		return http.StatusBadRequest, CodeMessage
	case errors.Is(err, ErrEpoch):
		return http.StatusConflict, CodeEpoch
	case errors.Is(err, ErrTwice):
		return http.StatusConflict, CodeTwice
	case errors.Is(err, ErrFull):
		return http.StatusGone, CodeOver
	}
	return http.StatusServiceUnavailable, CodeBusy
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client's connection is broken
}

func refuse(w http.ResponseWriter, status int, code string, err error) {
	answer(w, status, map[string]string{"error": err.Error(), "code": code})
}

// refuseForNow refuses a request that may be accepted later.
func refuseForNow(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Retry-After", "1")
	refuse(w, status, CodeBusy, err)
}

// NewServer returns an HTTP server for s with a bounded number of connections. A slow or hostile client cannot
// extend its timeouts.
func NewServer(s *Service, o HandlerOptions) *http.Server {
	table := newConnections(cmp.Or(o.Connections, DefaultConnections))
	return &http.Server{
		ConnState:         table.watch,
		ConnContext:       table.context,
		ErrorLog:          o.ErrorLog,
		Handler:           Handler(s, o),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       15 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
}

// shutdownWait is the longest time for requests in work after an interrupt.
const shutdownWait = 10 * time.Second

// Run serves s on l until ctx ends. Run then finishes the requests in progress and accepts no further
// requests. The caller closes s. A panic of s becomes a panic of Run. If the handling of a request panics, the
// response to this request has status 500.
func Run(ctx context.Context, s *Service, l net.Listener, o HandlerOptions) error {
	return serve(ctx, s, l, NewServer(s, o), o)
}

func serve(ctx context.Context, s *Service, l net.Listener, server *http.Server, o HandlerOptions) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }() // Serve recovers the panics of requests
	select {
	case err := <-failed:
		return err
	case <-s.done:
		_ = server.Close()
		s.working.Wait()
		return ErrUnavailable // the server was closed
	case <-ctx.Done():
	}
	o.logger().Print("stopping")
	wait, cancel := context.WithTimeout(context.Background(), shutdownWait)
	defer cancel()
	if err := server.Shutdown(wait); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, server.Close())
	}
	return nil
}
