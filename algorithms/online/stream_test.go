//go:build unix

package online_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/online"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// feed gives a stream its next records up to number last, and returns the numbers of the releases.
func feed(t *testing.T, s *online.Stream, last int) (released []int) {
	t.Helper()
	for s.Taken() < last {
		y := float64(2*(s.Taken()%2) - 1)
		r := must.Get(s.Take(t.Context(), []float64{0.5 * y, 0.1, 0}, y))(t)
		if r != nil {
			released = append(released, r.Number)
		}
	}
	return released
}

func mustPlan(t *testing.T) *algorithms.Plan {
	t.Helper()
	return must.Get(streamPlan())(t)
}

func opened(t *testing.T, o online.Options) *online.Stream {
	t.Helper()
	s := must.Get(online.Open(mustPlan(t), o))(t)
	t.Cleanup(s.Close)
	return s
}

// A failing publish keeps the run open: the ledger is told nothing, and the stream goes on.
func TestStopTellsTheLedgerLast(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.jsonl")
	book := func() (*ledger.Ledger, error) { return ledger.Open(path) }
	o := online.Options{State: filepath.Join(dir, "s"), DataID: dataID, Ledger: book}
	lines := func() int {
		l := must.Get(book())(t)
		entries := must.Get(l.Entries())(t)
		return len(entries)
	}
	s := opened(t, o)
	if s.Begun() || s.Last() != nil || s.Run() != "" {
		t.Error("a stream without a record has begun")
	}
	must.CheckDo(t, s.Stop(nil), "a stream without a record")
	must.Err(os.Stat(path))(t, "a ledger was made before the first record")
	if got := feed(t, s, records); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) || s.Guarantee().Kind != privacy.ApproxDP {
		t.Errorf("releases %v, %s", got, s.Guarantee())
	}
	before, failure := lines(), errors.New("no place for the model")
	if err := s.Stop(func() error { return failure }); !errors.Is(err, failure) || lines() != before {
		t.Errorf("%v, and the ledger has %d more lines", err, lines()-before)
	}
	last := s.Last()
	s.Close()
	o.Resume = true
	s = opened(t, o)
	if again := s.Last(); !slices.Equal(again.Weights, last.Weights) || again.Number != 9 || s.Taken() != records {
		t.Errorf("resumed: %+v, want %+v", again, last)
	}
	published := false
	if err := s.Stop(func() error { published = lines() > before; return nil }); err != nil || !published {
		t.Errorf("%v, resumed before the model: %v", err, published)
	}
	s.Close()
	must.Fail(online.Open(mustPlan(t), o))(t, ledger.ErrResume, "a finished stream is resumed")
}

// Public records need no ledger; a state of one kind is no state of the other.
func TestPublicStream(t *testing.T) {
	dir := t.TempDir()
	o := online.Options{State: filepath.Join(dir, "s"), Public: true}
	s := opened(t, o)
	feed(t, s, 45)
	var state *online.StateError
	if _, err := online.Open(mustPlan(t), o); !errors.As(err, &state) || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("the state of a living stream: %v", err)
	}
	must.Do(t, s.Stop(nil))
	s.Close()
	if _, err := online.Open(mustPlan(t), o); !errors.As(err, &state) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second start: %v", err)
	}
	o.Resume, o.Schema = true, "one" // the state has none, and takes it
	opened(t, o).Close()
	if s = opened(t, o); s.Taken() != 45 || s.Guarantee().Kind != privacy.Public || !slices.Equal(feed(t, s, 60), []int{4, 5}) {
		t.Errorf("resumed after %d records with %s", s.Taken(), s.Guarantee())
	}
	s.Close()
	for _, schema := range []string{"", "one"} { // a caller who gives none continues
		o.Schema = schema
		opened(t, o).Close()
	}
	o.Schema = "two"
	if _, err := online.Open(mustPlan(t), o); !errors.As(err, &state) || !strings.Contains(err.Error(), "another schema") {
		t.Errorf("records of another schema: %v", err)
	}
	o.Public = false
	must.Fail(online.Open(mustPlan(t), o))(t, "Options.Ledger", "private records without a ledger")
	o.Ledger = func() (*ledger.Ledger, error) { return ledger.Open(filepath.Join(dir, "ledger.jsonl")) }
	if _, err := online.Open(mustPlan(t), o); !errors.As(err, &state) || !strings.Contains(err.Error(), "public data") {
		t.Errorf("private records with the state of public ones: %v", err)
	}
}

// What is not durable does not leave, by no method of the stream, and neither does anything later.
func TestLostReleaseIsWithheld(t *testing.T) {
	dir := t.TempDir()
	for _, fault := range []string{"state", "closed"} {
		folder := filepath.Join(dir, fault)
		must.Do(t, os.Mkdir(folder, 0o700))
		s := opened(t, online.Options{State: filepath.Join(folder, "s"), DataID: dataID, Ledger: func() (*ledger.Ledger, error) { return ledger.Open(filepath.Join(dir, "ledger.jsonl")) }})
		feed(t, s, 29)
		want := online.ErrLost.Error()
		if fault == "state" {
			must.Do(t, os.RemoveAll(folder))
		} else {
			s.Close()
			want = "is closed"
		}
		for range 12 {
			if r, err := s.Take(t.Context(), []float64{0, 0, 0}, 1); r != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, %v, want %q", fault, r, err, want)
			}
		}
		if err := s.Stop(func() error { t.Error("a model is published"); return nil }); s.Last() != nil || err == nil {
			t.Errorf("%s: the last release is %+v; Stop: %v", fault, s.Last(), err)
		}
	}
}
