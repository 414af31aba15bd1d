package serve_test

import (
	"context"
	"testing"

	"dyad/algorithms/local/serve"
	"dyad/engine/dataset"
	"dyad/internal/must"
)

// One person under two ids that look alike is one user: before and after a restart, in one
// group of messages and in later epochs. Allowed, they are two.
func TestLookAlikeUsers(t *testing.T) {
	dir := t.TempDir()
	p := protocol(3)
	s := open(t, dir, p)
	send := func(s *serve.Service, user string) error {
		_, err := s.Submit(context.Background(), submission(t, planOf(t, p), s.State(), user, 1))
		return err
	}
	must.Do(t, send(s, "Anna"))
	refused := func(s *serve.Service) {
		t.Helper()
		for _, user := range []string{"anna", "\uff21nna", " Anna"} {
			must.FailDo(t, send(s, user), serve.ErrMessage, user)
		}
	}
	refused(s)
	must.Do(t, send(s, "ben"))
	must.Do(t, s.Close())
	s = open(t, dir, p)
	refused(s)
	must.Do(t, send(s, "cora")) // the epoch ends
	refused(s)
	must.CheckDo(t, send(s, "Anna"), "the second epoch")

	other := must.Get(serve.Open(t.TempDir(), planOf(t, p), dataset.AllowLookAlikes))(t)
	defer other.Close()
	for _, user := range []string{"Anna", "anna"} {
		must.CheckDo(t, send(other, user), user, ", allowed")
	}
}
