package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/durable"
)

// fiveLines is a ledger with a header and four charges "a".."d".
func fiveLines(t *testing.T) (*Ledger, [][]byte) {
	t.Helper()
	l := newTestLedger(t)
	for _, run := range []string{"a", "b", "c", "d"} {
		mustBegin(t, l, testCharge(run))
	}
	raw := must.Get(os.ReadFile(l.path))(t)
	return l, bytes.SplitAfter(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
}

// wantDamaged writes the lines and wants every use of the ledger to fail.
func wantDamaged(t *testing.T, l *Ledger, text string, lines ...[]byte) {
	t.Helper()
	data := append(bytes.TrimSuffix(bytes.Join(lines, nil), []byte("\n")), '\n')
	must.Do(t, os.WriteFile(l.path, data, 0o600))
	_, errOpen := Open(l.path)
	_, errVerify := l.Verify()
	_, errSummary := l.Summary("clinic", 1e-5)
	s, errBegin := l.Begin(testCharge("new"), privacy.NewSeededSource(1))
	_, errResume := l.Resume("a", testCharge("a"), privacy.NewSeededSource(1))
	for _, err := range []error{errOpen, errVerify, errSummary, errBegin, errResume,
		l.SetCap("clinic", privacy.Budget{Epsilon: 9, Delta: 0.1}), l.Finish("a", "done")} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v; want ErrUnavailable with %q", err, text)
		}
	}
	if after, err := os.ReadFile(l.path); s != nil || err != nil || !bytes.Equal(after, data) {
		t.Error("a damaged ledger was charged or changed")
	}
}

func TestEditedLine(t *testing.T) {
	l, lines := fiveLines(t)
	edited := bytes.Replace(lines[2], []byte(`"count":2`), []byte(`"count":1`), 1)
	if bytes.Equal(edited, lines[2]) {
		t.Fatal("nothing was edited")
	}
	wantDamaged(t, l, "line 3 is not valid", lines[0], lines[1], edited, lines[3], lines[4])
}

func TestEditedLastLine(t *testing.T) {
	l, lines := fiveLines(t)
	edited := bytes.Replace(lines[4], []byte(`"count":2`), []byte(`"count":1`), 1)
	wantDamaged(t, l, "line 5 is not valid", lines[0], lines[1], lines[2], lines[3], edited)
}

// Somebody who recomputes the hash of an edited last line meets the head.
func TestForgedLastLine(t *testing.T) {
	l, lines := fiveLines(t)
	st := must.Get(parseLedger(bytes.Join(lines[:4], nil), &ledgerHead{Lines: 4, Hash: hashOf(t, lines[:4])}))(t)
	body := must.Get(encodeCharge(testCharge("forged")))(t)
	forged, _ := must.Get2(formatLine(st.last, 4, typeCharge, time.Now(), body))(t)
	wantDamaged(t, l, "does not match the head", lines[0], lines[1], lines[2], lines[3], forged)
}

func hashOf(t *testing.T, lines [][]byte) string {
	t.Helper()
	var j struct{ Hash string }
	must.Do(t, json.Unmarshal(lines[len(lines)-1], &j))
	return j.Hash
}

func TestReorderedLines(t *testing.T) {
	l, lines := fiveLines(t)
	wantDamaged(t, l, "line 3 is not valid", lines[0], lines[1], lines[3], lines[2], lines[4])
}

func TestTruncatedLines(t *testing.T) {
	l, lines := fiveLines(t)
	wantDamaged(t, l, "the ledger lost lines: it has 4, but its head file records 5;", lines[:4]...)
}

func TestTruncatedWithinALine(t *testing.T) {
	l, lines := fiveLines(t)
	wantDamaged(t, l, "line 3 is not valid", lines[0], lines[1], lines[2][:40], []byte("\n"), lines[3], lines[4])
}

func TestHandDeletedLine(t *testing.T) {
	l, lines := fiveLines(t)
	wantDamaged(t, l, "line 3 is not valid", lines[0], lines[1], lines[3], lines[4])
}

func TestDuplicatedLine(t *testing.T) {
	l, lines := fiveLines(t)
	wantDamaged(t, l, "line 3 is not valid", lines[0], lines[1], lines[1], lines[2], lines[3], lines[4])
}

func TestOtherHeader(t *testing.T) {
	l, lines := fiveLines(t)
	_, others := fiveLines(t)
	wantDamaged(t, l, "line 5 does not match the head", others[0], others[1], others[2], others[3], others[4])
	wantDamaged(t, l, "line 2 is not valid", others[0], lines[1], lines[2], lines[3], lines[4])
}

func TestLinesBeyondTheHead(t *testing.T) {
	l, lines := fiveLines(t)
	head := ledgerHead{Lines: 3, Hash: hashOf(t, lines[:3])}
	raw := must.Get(json.Marshal(head))(t)
	must.Do(t, os.WriteFile(l.path+headSuffix, append(raw, '\n'), 0o600))
	wantDamaged(t, l, "more lines than its head file counts", lines...)
}

func TestLostFiles(t *testing.T) {
	t.Run("head", func(t *testing.T) {
		l, lines := fiveLines(t)
		must.Do(t, os.Remove(l.path+headSuffix))
		wantDamaged(t, l, "head file of the ledger (.head) is missing", lines...)
		wantDamaged(t, l, "head file of the ledger (.head) is missing", lines[:2]...)
	})
	t.Run("head malformed", func(t *testing.T) {
		l, lines := fiveLines(t)
		for _, bad := range []string{"", "x", `{"lines":5}`, `{"lines":0,"hash":""}` + "\n"} {
			must.Do(t, os.WriteFile(l.path+headSuffix, []byte(bad), 0o600))
			wantDamaged(t, l, ".head is malformed", lines...)
		}
	})
	t.Run("ledger", func(t *testing.T) {
		l, _ := fiveLines(t)
		must.Do(t, os.Remove(l.path))
		must.Fail(Open(l.path))(t, must.All{ErrUnavailable, "lost lines"})
		must.Fail(l.Begin(testCharge("new"), privacy.NewSeededSource(1)))(t, ErrUnavailable)
	})
	t.Run("both replaced", func(t *testing.T) {
		l, _ := fiveLines(t)
		other := newTestLedger(t)
		for _, suffix := range []string{"", headSuffix} {
			must.Do(t, os.Rename(other.path+suffix, l.path+suffix))
		}
		must.Fail(l.Begin(testCharge("new"), privacy.NewSeededSource(1)))(t, must.All{ErrUnavailable, "replaced"})
	})
}

// Every single changed, removed or doubled byte of an acknowledged ledger is found.
func TestEveryByteCounts(t *testing.T) {
	_, lines := fiveLines(t)
	valid := append(bytes.Join(lines, nil), '\n')
	head := &ledgerHead{Lines: 5, Hash: hashOf(t, lines)}
	must.Get(parseLedger(valid, head))(t)
	for i := range valid {
		for name, damaged := range map[string][]byte{
			"changed": slices.Concat(valid[:i], []byte{valid[i] ^ 1}, valid[i+1:]),
			"removed": slices.Concat(valid[:i], valid[i+1:]),
			"doubled": slices.Concat(valid[:i], valid[i:i+1], valid[i:]),
		} {
			st, err := parseLedger(damaged, head)
			// Only bytes after the last newline may be taken for a torn line.
			if err == nil && !(bytes.HasPrefix(damaged, valid) && st.lines == 5 && len(st.torn) > 0) {
				t.Fatalf("byte %d %s: accepted", i, name)
			}
		}
	}
}

// A write that stopped at any byte is set aside by the next charge, and only then.
func TestTornLine(t *testing.T) {
	l, lines := fiveLines(t)
	whole := bytes.Join(lines, nil)
	head := must.Get(os.ReadFile(l.path + headSuffix))(t)
	next := slices.Concat(bytes.Replace(lines[4], []byte(`"seq":4`), []byte(`"seq":5`), 1))
	zeros := append(make([]byte, 100), '\n') // a page that never reached the disk
	for _, torn := range [][]byte{next[:1], next[:60], next, slices.Concat(next, []byte{'\n'}), zeros} {
		before := slices.Concat(whole, []byte{'\n'}, torn)
		must.Do(t, os.WriteFile(l.path, before, 0o600))
		must.Do(t, os.WriteFile(l.path+headSuffix, head, 0o600))
		if v, err := l.Verify(); err != nil || v.TornBytes != len(torn) || v.Lines != 5 {
			t.Fatalf("Verify = %+v, %v; want %d torn bytes", v, err, len(torn))
		}
		if raw, err := os.ReadFile(l.path); err != nil || !bytes.Equal(raw, before) {
			t.Fatal("reading changed the file")
		}
		s := mustBegin(t, l, testCharge("after"))
		wantWarning(t, s, "unfinished line", true)
		aside, err := filepath.Glob(l.path + tornSuffix + "*")
		if err != nil || len(aside) != 1 {
			t.Fatalf("side files %v, %v; want one", aside, err)
		}
		must.Same(t, must.Get(os.ReadFile(aside[0]))(t), torn, "side file")
		must.Do(t, os.Remove(aside[0]))
		wantWarning(t, mustBegin(t, l, testCharge("later")), "unfinished line", false)
		must.Equal(t, must.Get(l.Verify())(t), Verification{Lines: 7}, "Verify after repair")
	}
	// Two broken lines after the head are no interrupted write.
	must.Do(t, os.WriteFile(l.path+headSuffix, head, 0o600))
	wantDamaged(t, l, "line 6 is not valid", whole, []byte("\n"), zeros, zeros)
}

// fakeLine appends a valid line of any type to a ledger, as a later version would.
func fakeLine(t *testing.T, l *Ledger, kind, body string) {
	t.Helper()
	st := must.Get(l.load())(t)
	must.Do(t, l.append(st, kind, time.Now(), []byte(body)))
}

func TestUnknownIsNeverIgnored(t *testing.T) {
	const event = `{"kind":"gaussian","sensitivity":1,"sigma":1000,"count":1}`
	charge := func(event string) string {
		return `{"data_id":"clinic","run":"x","algorithm":"","events":[` + event + `]}`
	}
	for name, line := range map[string][2]string{
		"event kind":        {"charge", charge(`{"kind":"laplace","scale":1}`)},
		"event field":       {"charge", charge(`{"kind":"gaussian","sensitivity":1,"sigma":1000,"count":1,"rows":2}`)},
		"nested event":      {"charge", charge(`{"kind":"composed","events":[{"kind":"laplace"}]}`)},
		"event spelling":    {"charge", charge(`{"kind":"gaussian","Sensitivity":1,"sigma":1000,"count":1}`)},
		"number spelling":   {"charge", charge(`{"kind":"gaussian","sensitivity":1.0,"sigma":1000,"count":1}`)},
		"event range":       {"charge", charge(`{"kind":"gaussian","sensitivity":1,"sigma":-1,"count":1}`)},
		"event is null":     {"charge", charge(`null`)},
		"charge field":      {"charge", `{"data_id":"clinic","run":"x","algorithm":"","events":[` + event + `],"group":3}`},
		"line type":         {"refund", `{"data_id":"clinic"}`},
		"line of other ids": {"merge", `{"into":"clinic","from":"elsewhere"}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := newTestLedger(t)
			fakeLine(t, l, line[0], line[1])
			must.Equal(t, must.Get(l.Verify())(t).Lines, 2, "Verify: a line of a later version is no damage")
			must.Fail(l.Summary("clinic", 1e-5))(t, account.ErrUnsupported, "Summary")
			wantWarning(t, mustBegin(t, l, testCharge("a")), "cannot be computed", true)
			must.Do(t, l.SetCap("clinic", privacy.Budget{Epsilon: 100, Delta: 0.1}))
			must.Fail(l.Begin(testCharge("b"), privacy.NewSeededSource(1)))(t, account.ErrUnsupported, "Begin under a cap")
		})
	}
	l := newTestLedger(t) // control: the known spelling composes
	fakeLine(t, l, "charge", charge(event))
	if s, err := l.Summary("clinic", 1e-5); err != nil || s.Runs != 1 || !(s.Mu > 0) {
		t.Errorf("control: %+v, %v", s, err)
	}
}

func TestLaterFormatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	line, hash := must.Get2(formatLine(lineHash{}, 0, typeHeader, time.Now(), []byte(`{"format":2,"extra":true}`)))(t)
	must.Do(t, os.WriteFile(path, line, 0o600))
	must.Do(t, (&Ledger{path: path}).writeHead(ledgerHead{Lines: 1, Hash: hash.String()}))
	must.Fail(Open(path))(t, must.All{ErrUnavailable, "version of the ledger is 2"})
}

// Lines with a true hash that no version 1 program writes.
func TestForeignLines(t *testing.T) {
	sealed := func(content string) []byte {
		hash := hashContent(lineHash{}, []byte(content))
		return []byte(content[:len(content)-1] + hashSuffix(hash))
	}
	const good = `{"seq":3,"type":"note","time":"","body":{}}`
	must.Get2(parseLine(lineHash{}, 3, sealed(good)))(t, "control:")
	for name, content := range map[string]string{
		"sequence number": `{"seq":2,"type":"note","time":"","body":{}}`,
		"extra field":     `{"seq":3,"type":"note","time":"","body":{},"undo":1}`,
		"order":           `{"type":"note","seq":3,"time":"","body":{}}`,
		"space":           `{"seq":3, "type":"note","time":"","body":{}}`,
		"no JSON":         `{"seq":3}}`,
	} {
		if _, _, err := parseLine(lineHash{}, 3, sealed(content)); err == nil {
			t.Errorf("%s: %s was accepted", name, content)
		}
	}
}

// Somebody writes to the file without asking for the lock.
func TestFileChangesUnderTheLock(t *testing.T) {
	l := newTestLedger(t)
	mustBegin(t, l, testCharge("a"))
	l.stage = func(stage string) {
		if stage == "head prepared" {
			raw, err := os.ReadFile(l.path)
			if err == nil {
				err = os.WriteFile(l.path, append(raw, 'x'), 0o600)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	if s, err := l.Begin(testCharge("b"), privacy.NewSeededSource(1)); s != nil || !errors.Is(err, ErrUnavailable) ||
		!strings.Contains(err.Error(), "although it is locked") {
		t.Errorf("%v, %v; want ErrUnavailable", s, err)
	}
	l.stage = nil
	must.Equal(t, countRun(t, l, "b"), 0, "the refused run is charged ... times")
	mustBegin(t, l, testCharge("b"))
}

// removePrepared removes what a ledger is about to rename.
func removePrepared(t *testing.T, path string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), durable.TempPrefix+"*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	must.Do(t, os.Remove(files[0]))
}

// If the head cannot be written after the line, there is no session, and the
// charge counts.
func TestHeadFailsAfterTheLine(t *testing.T) {
	l := newTestLedger(t)
	l.stage = func(stage string) {
		if stage == "line durable" {
			removePrepared(t, l.path)
		}
	}
	if s, err := l.Begin(testCharge("a"), privacy.NewSeededSource(1)); s != nil || !errors.Is(err, ErrUnavailable) ||
		!strings.Contains(err.Error(), "counts") {
		t.Errorf("%v, %v; want ErrUnavailable that says that the line counts", s, err)
	}
	l.stage = nil
	must.Equal(t, countRun(t, l, "a"), 1, "the run is charged ... times")
	mustBegin(t, l, testCharge("b"))
	must.Equal(t, must.Get(l.Verify())(t), Verification{Lines: 3}, "Verify")
}
