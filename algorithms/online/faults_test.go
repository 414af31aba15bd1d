//go:build unix

package online_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/crash"
	"dyad/internal/must"
	"dyad/privacy/ledger"
)

// lockHeld reports whether the stream holds the ledger's lock at a stage.
func lockHeld(stage string) bool {
	name, _, _ := strings.Cut(stage, "#")
	return slices.Contains([]string{"locked", "admitted", "head prepared", "line written", "line durable", "head renamed", "acknowledged"}, name)
}

// otherRun is a run of another process on the same ledger.
func (f *fixture) otherRun(t *testing.T, stage string) {
	t.Helper()
	if !lockHeld(stage) {
		f.charge(t, time.Now(), "other")
		return
	}
	l, err := ledger.OpenWith(f.in("ledger/ledger.jsonl"), ledger.Options{LockWait: 100 * time.Millisecond})
	if err == nil {
		err = l.Finish("earlier", ledger.StatusReleased)
	}
	if !errors.Is(err, ledger.ErrUnavailable) || !strings.Contains(err.Error(), "has held the lock") {
		t.Errorf("another run while the ledger is locked: %v", err)
	}
}

// inYear is a time in the year that a text ends with.
func inYear(text string) time.Time {
	var year int
	_, _ = fmt.Sscan(text[len(text)-4:], &year)
	return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
}

// damaged breaks the ledger at a stage, checks that it is noticed and not written to, and
// restores it from a backup afterwards, as the message asks.
func (f *fixture) damaged(t *testing.T, fault, says string, spec crash.Spec) crash.Ended {
	t.Helper()
	spec.Fault = "pause"
	child := f.start(t, spec)
	child.Paused(t)
	const book, head = "ledger/ledger.jsonl", "ledger/ledger.jsonl.head"
	backup := map[string]string{book: f.get(t, book), head: f.get(t, head)}
	lines := strings.SplitAfter(backup[book], "\n")
	switch fault {
	case "line lost":
		lines = lines[:len(lines)-2]
	case "line edited":
		lines[1] = strings.Replace(lines[1], `"sigma":`, `"sigma":9`, 1)
	case "head deleted":
		must.Do(t, os.Remove(f.in(head)))
	}
	broken := strings.Join(lines, "")
	if broken == backup[book] && fault != "head deleted" {
		t.Fatal("nothing was damaged")
	}
	f.put(t, map[string]string{book: broken})
	e := child.End()
	must.Equal(t, f.get(t, book), broken, "a damaged ledger was changed")
	must.Fail(ledger.Open(f.in(book)))(t, says, "the damaged ledger")
	f.put(t, backup)
	return e
}
