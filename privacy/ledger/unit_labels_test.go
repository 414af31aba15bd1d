package ledger

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// A run about labels whose features are public adds up with none about whole records, though both name one pair, in archives, too.
// The ledger once printed epsilon 2 for one pair.
func TestLabelsAddUpWithNoRecords(t *testing.T) {
	l := must.Get(Open(filepath.Join(t.TempDir(), "ledger.jsonl")))(t)
	charge := func(relation string) {
		t.Helper()
		c := Charge{DataID: "pairs", Algorithm: "a", Events: []account.Event{account.PureEvent{Epsilon: 1}}, Unit: "one pair",
			Relation: relation}
		must.Get(l.Begin(c, privacy.NewSeededSource(1)))(t)
	}
	summary := func() Summary {
		t.Helper()
		return must.Get(l.Summary("pairs", 1e-5))(t)
	}
	const labels = "same features, ids and pairs, one pair's label replaced"
	charge(labels)
	charge(labels)
	if s := summary(); s.Mixed || s.Unit != "the label of one pair" || s.Runs != 2 {
		t.Errorf("labels alone: %+v", s)
	}
	charge("same ids and pairs, one pair's record replaced")
	if s := summary(); !s.Mixed || !strings.Contains(s.String(), "there is no total") {
		t.Errorf("labels and records: %v", s)
	}
	must.Get(l.Compact())(t)
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
	must.Do(t, os.Chmod(l.Path()+keySuffix, 0o644))
	must.Fail(l.Sign(file))(t, "chmod 600", "signed")
	must.Err(l.CreateKey())(t, "the public key is given away")
}
