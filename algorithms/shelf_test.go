package algorithms_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/durable"
	"dyad/privacy/ledger"
)

// testShelf notes what Execute does with it.
type testShelf struct {
	w       *world
	digest  string
	fail    error
	onKeep  func()
	kept    []float64
	charges int // and unfinished runs when Keep was called
	open    int
	dropped int
}

func (s *testShelf) Keep(o *algorithms.Result) (ledger.Kept, error) {
	s.kept = slices.Clone(o.Weights)
	s.charges, s.open, _ = s.w.state()
	if s.onKeep != nil {
		s.onKeep()
	}
	return ledger.Kept{Digest: s.digest, Place: "the shelf"}, s.fail
}

func (s *testShelf) Drop() { s.dropped++ }

// shelved is a run whose result s keeps.
func (w *world) shelved(ctx context.Context, s *testShelf, resume string) (*algorithms.Result, error) {
	s.w = w
	return algorithms.Run(ctx, w.data, promised{hookedAlgorithm{w: w}}, w.plan, algorithms.Options{Ledger: w.ledger, DataID: "x", Shelf: s, Resume: resume})
}

// finish is the line that ends the only run, nil without one.
func (w *world) finish() *ledger.Entry {
	w.t.Helper()
	entries := must.Get(w.ledger.Entries())(w.t)
	for i := range entries {
		if entries[i].Type == "finish" {
			return &entries[i]
		}
	}
	return nil
}

// A result is kept after the charge and before its release, whose line names it; the
// weights leave Run only then, and they are those that were kept.
func TestResultIsKeptBeforeItsRelease(t *testing.T) {
	w := newWorld(t)
	s := &testShelf{digest: "a hash"}
	r := must.Get(w.shelved(context.Background(), s, ""))(t)
	if s.charges != 1 || s.open != 1 || s.dropped != 0 || !slices.Equal(s.kept, r.Weights) || len(r.Weights) != 3 {
		t.Errorf("kept %v with %d charges and %d open runs, dropped %d times; released %v", s.kept, s.charges, s.open, s.dropped, r.Weights)
	}
	if e := w.finish(); e == nil || e.Kept != (ledger.Kept{Digest: "a hash", Place: "the shelf"}) {
		t.Errorf("the ledger has %+v", e)
	}
}

// What cannot be kept is not released: the run goes on at no cost.
func TestResultThatCannotBeKept(t *testing.T) {
	w := newWorld(t)
	full := errors.New("the disk is full")
	r, err := w.shelved(context.Background(), &testShelf{fail: full}, "")
	var charged *algorithms.ChargedError
	if r != nil || !errors.Is(err, full) || !errors.As(err, &charged) || !charged.Resumable || w.finish() != nil {
		t.Fatalf("%v, %v, %+v", r, err, w.finish())
	}
	must.Get(w.shelved(context.Background(), &testShelf{digest: "second"}, charged.Run))(t)
	if charges, open, _ := w.state(); charges != 1 || open != 0 || w.finish().Kept.Digest != "second" {
		t.Errorf("%d charges, %d open, %+v", charges, open, w.finish())
	}
}

// Of two attempts one is released; the other one's result is dropped, and so is that of an
// interrupt and of a ledger that is out of order.
func TestWhatIsNotReleasedIsDropped(t *testing.T) {
	for what, spoil := range map[string]func(w *world, cancel func()){
		"another attempt was first": func(w *world, _ func()) {
			_, _, run := w.state()
			must.Get(w.shelved(context.Background(), &testShelf{digest: "first"}, run))(w.t)
		},
		"interrupt": func(_ *world, cancel func()) { cancel() },
		"the ledger is damaged": func(w *world, _ func()) {
			must.Do(w.t, os.Remove(w.path+".head"))
		},
	} {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		s := &testShelf{digest: "second", onKeep: func() { spoil(w, cancel) }}
		r, err := w.shelved(ctx, s, "")
		var charged *algorithms.ChargedError
		if r != nil || !errors.As(err, &charged) || charged.Kept != (ledger.Kept{}) || s.dropped != 1 {
			t.Errorf("%s: %v, %v, dropped %d times", what, r, err, s.dropped)
		}
		cancel()
	}
}

// If the line of the release counts although its step failed, the result stays where it
// was kept: it is what was paid for, and no weights leave Run.
func TestResultStaysIfItsLineCounts(t *testing.T) {
	w := newWorld(t)
	lines := 0
	l := must.Get(ledger.OpenWith(w.path, ledger.Options{Trace: func(step string) {
		if step == "line durable" {
			if lines++; lines == 2 { // nothing to rename
				prepared, err := filepath.Glob(filepath.Join(filepath.Dir(w.path), ".dyad-tmp-*"))
				if err != nil || len(prepared) != 1 || os.Remove(prepared[0]) != nil {
					t.Fatal(prepared, err)
				}
			}
		}
	}}))(t)
	w.ledger = l
	s := &testShelf{digest: "paid"}
	r, err := w.shelved(context.Background(), s, "")
	var charged *algorithms.ChargedError
	if r != nil || !errors.Is(err, ledger.ErrUnacknowledged) || !errors.As(err, &charged) || charged.Resumable || charged.Kept.Digest != "paid" || s.dropped != 0 {
		t.Errorf("%v, %v, %+v, dropped %d times", r, err, charged, s.dropped)
	}
	must.Equal(t, must.Get(l.Released(charged.Run))(t).Kept.Digest, "paid", "Digest")
}

// Weights that are no numbers are a failure of the algorithm: the run is closed.
func TestWeightsThatAreNoNumbers(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		w := newWorld(t)
		w.onTrain = func(s privacy.Session, v []float64) error {
			v[1] = bad
			return s.Release(make([]float64, 3), w.plan.Certificate(), w.plan.Noise())
		}
		s := &testShelf{digest: "none"}
		if r, err := w.shelved(context.Background(), s, ""); r != nil || err == nil || s.kept != nil || w.finish() == nil || w.finish().Status == ledger.StatusReleased {
			t.Errorf("%v: %v, %v, kept %v, %+v", bad, r, err, s.kept, w.finish())
		}
	}
}

// Without a shelf the line of the release has the digest of the weights.
func TestReleaseWithoutAShelfHasADigest(t *testing.T) {
	w := newWorld(t)
	r := must.Get(algorithms.Run(context.Background(), w.data, promised{hookedAlgorithm{w: w}}, w.plan, algorithms.Options{Ledger: w.ledger, DataID: "x", Run: "chosen"}))(t)
	if e := w.finish(); r.Run != "chosen" || e == nil || e.Run != "chosen" || !strings.HasPrefix(e.Kept.Digest, "weights-sha256:") || e.Kept.Place != "" {
		t.Errorf("run %q, the ledger has %+v", r.Run, e)
	}
}

// A charge whose line counts although its step failed is told with the id of its run, which goes on at no cost.
func TestUnacknowledgedChargeNamesItsRun(t *testing.T) {
	w := newWorld(t)
	failed := false
	l := must.Get(ledger.OpenWith(w.path, ledger.Options{Trace: func(step string) {
		if step == "line durable" && !failed {
			failed = true
			heads, err := filepath.Glob(filepath.Join(filepath.Dir(w.path), durable.TempPrefix+"*")) // nothing to rename
			if err != nil || len(heads) == 0 {
				t.Fatalf("%d heads, %v", len(heads), err)
			}
			for _, head := range heads {
				must.Do(t, os.Remove(head))
			}
		}
	}}))(t)
	w.ledger = l
	_, err := w.shelved(context.Background(), &testShelf{digest: "none"}, "")
	var charged *algorithms.ChargedError
	if !errors.Is(err, ledger.ErrUnacknowledged) || !errors.As(err, &charged) || charged.Run == "" || !charged.Resumable {
		t.Fatalf("%v, %+v", err, charged)
	}
	must.Get(w.shelved(context.Background(), &testShelf{digest: "paid"}, charged.Run))(t)
	if charges, open, _ := w.state(); charges != 1 || open != 0 || w.finish().Kept.Digest != "paid" {
		t.Errorf("%d charges, %d open, %+v", charges, open, w.finish())
	}
}
