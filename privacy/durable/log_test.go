package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dyad/internal/create"
	"dyad/internal/must"
)

// What was not acknowledged is not in a log afterwards, and a file that others changed is refused.
func TestLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f := must.Get(create.Kept(name, create.Private))(t)
	l := NewLog(f, 0)
	want := func(text string) {
		t.Helper()
		must.Equal(t, string(must.Get(os.ReadFile(name))(t)), text, "the log")
	}
	written := false
	if err := errors.Join(l.Append([]byte("one\n"), func() { written = true }), l.Append([]byte("two\n"), nil)); err != nil || !written {
		t.Error(err, written)
	}
	must.Do(t, os.Truncate(name, 4))
	if err := l.Append([]byte("three\n"), nil); err == nil || errors.Is(err, ErrUncertain) {
		t.Errorf("a file that others cut: %v", err)
	}
	want("one\n")
	must.Do(t, os.WriteFile(name, []byte("one\ntorn and more"), 0o600))
	l = NewLog(f, 4)
	must.Equal(t, must.Get(l.Cut())(t), 13, "bytes were cut")
	want("one\n")
	// The sync and then the removal fail. What is there is unknown, so nothing more is taken.
	err := l.Append([]byte("two\n"), func() { _ = f.Close() })
	if again := l.Append([]byte("two\n"), nil); !errors.Is(err, ErrUncertain) || !errors.Is(again, ErrUncertain) {
		t.Errorf("a log that fails: %v, then %v", err, again)
	}
	want("one\ntwo\n")
}

// A lock that is taken keeps others out as long as they wait, and no longer.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	held := must.Get(Lock(name, 0))(t)
	for _, wait := range []time.Duration{0, time.Millisecond} {
		must.Fail(Lock(name, wait))(t, ErrBusy, "the lock is taken twice")
	}
	go func() { _ = held.Unlock() }()
	if again, err := Lock(name, time.Minute); err != nil {
		t.Error(err)
	} else if err := again.Unlock(); err != nil {
		t.Error(err)
	}
}
