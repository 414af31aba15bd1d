package serve_test

import (
	"context"
	"errors"
	"testing"

	"dyad/algorithms/local/serve"
	"dyad/engine/dataset"
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
	if err := send(s, "Anna"); err != nil {
		t.Fatal(err)
	}
	refused := func(s *serve.Service) {
		t.Helper()
		for _, user := range []string{"anna", "\uff21nna", " Anna"} {
			if err := send(s, user); !errors.Is(err, serve.ErrMessage) {
				t.Errorf("%+q: %v", user, err)
			}
		}
	}
	refused(s)
	if err := send(s, "ben"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, p)
	refused(s)
	if err := send(s, "cora"); err != nil { // the epoch ends
		t.Fatal(err)
	}
	refused(s)
	if err := send(s, "Anna"); err != nil {
		t.Errorf("the second epoch: %v", err)
	}

	other, err := serve.OpenWith(t.TempDir(), planOf(t, p), dataset.AllowLookAlikes)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, user := range []string{"Anna", "anna"} {
		if err := send(other, user); err != nil {
			t.Errorf("%s, allowed: %v", user, err)
		}
	}
}
