package serve

import (
	"bytes"
	"context"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/tasks"
)

// A panic of the goroutine that applies messages is one of Run; one of a request is answered. Neither tells a value.
func TestPanicsOfTheServer(t *testing.T) {
	s := &Service{queue: make(chan *pending), stopped: make(chan struct{}), done: make(chan struct{})}
	s.working.Go(s.commit)
	go func() { s.queue <- nil }()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var text bytes.Buffer
	o := HandlerOptions{ErrorLog: log.New(&text, "", 0)}
	func() {
		defer func() {
			if p, ok := recover().(*tasks.Panic); !ok || !strings.Contains(p.String(), "service.go:") {
				t.Errorf("Run panicked with %v", p)
			}
		}()
		t.Errorf("Run returned %v", serve(context.Background(), s, l, &http.Server{}, o))
	}()
	answer := httptest.NewRecorder()
	o.guarded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("user 48213") })).ServeHTTP(answer, httptest.NewRequest("GET", "/v1/plan", nil))
	if answer.Code != http.StatusInternalServerError || strings.Contains(answer.Body.String()+text.String(), "48213") || !strings.Contains(text.String(), "panic_test.go:") {
		t.Errorf("%d %s\n%s", answer.Code, answer.Body, text.String())
	}
}
