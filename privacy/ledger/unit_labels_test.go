package ledger

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/privacy"
	"dyad/privacy/account"
)

// A run about labels whose features are public adds up with none about whole records, though both name one pair, in archives, too.
// The ledger once printed epsilon 2 for one pair.
func TestLabelsAddUpWithNoRecords(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	charge := func(relation string) {
		t.Helper()
		c := Charge{DataID: "pairs", Algorithm: "a", Events: []account.Event{account.PureEvent{Epsilon: 1}}, Unit: "one pair", Relation: relation}
		if _, err := l.Begin(c, privacy.NewSeededSource(1)); err != nil {
			t.Fatal(err)
		}
	}
	summary := func() Summary {
		t.Helper()
		s, err := l.Summary("pairs", 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const labels = "same features, ids and pairs, one pair's label replaced"
	charge(labels)
	charge(labels)
	if s := summary(); s.Mixed || s.Unit != "the label of one pair" || s.Runs != 2 {
		t.Errorf("labels alone: %+v", s)
	}
	charge("same ids and pairs, one pair's record replaced")
	if s := summary(); !s.Mixed || !strings.Contains(s.String(), "do not add up") {
		t.Errorf("labels and records: %v", s)
	}
	if _, err := l.Compact(); err != nil {
		t.Fatal(err)
	}
	if s := summary(); !s.Mixed {
		t.Errorf("from the archive: %v", s)
	}
}

// A key that others can read is refused: one that was planted would sign in the owner's name.
func TestKeysOfOthersAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	file := []byte("{\"run\": \"a\"}\n")
	l, _, _ := signedLedger(t, file)
	if err := os.Chmod(l.Path()+keySuffix, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Sign(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("signed: %v", err)
	}
	if _, err := l.CreateKey(); err == nil {
		t.Error("the public key is given away")
	}
}
