//go:build unix

package ledger

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// busyLedger has finished runs of two data ids and units, caps, a stream, an unfinished run and one whose model is kept.
func busyLedger(t *testing.T) *Ledger {
	t.Helper()
	l := newTestLedger(t)
	kept := filepath.Join(filepath.Dir(l.path), "kept")
	must.Do(t, os.WriteFile(kept, nil, 0o600))
	for i := range 12 {
		c := testCharge("run" + strconv.Itoa(i))
		c.Resumable, c.Fingerprint, c.Unit = true, "0f"+strconv.Itoa(i%2), "one record"
		switch {
		case i%3 == 1:
			c.DataID = "ward"
			c.Events = []account.Event{account.LaplaceEvent{Sensitivity: 1, Scale: 20}}
		case i == 6:
			c.Run = "open"
		case i == 8:
			c.Run = "kept"
		}
		mustBegin(t, l, c)
		switch c.Run {
		case "open":
			continue
		case "kept":
			must.Do(t, l.Release(c.Run, Kept{Digest: "0f", Place: kept}))
			continue
		}
		must.Do(t, l.Release(c.Run, Kept{Digest: "0f"}))
	}
	for _, eps := range []float64{90, 80} {
		must.Do(t, l.SetCap("clinic", privacy.Budget{Epsilon: eps, Delta: 1e-5}))
	}
	return l
}

func totals(t *testing.T, l *Ledger) map[string]Summary {
	t.Helper()
	all := map[string]Summary{}
	for _, id := range []string{"clinic", "ward"} {
		s := must.Get(l.Summary(id, 1e-5))(t)
		all[id] = s
	}
	return all
}

// A compacted ledger has the totals, caps and open runs of before, to the last bit, and goes on.
func TestCompact(t *testing.T) {
	l := busyLedger(t)
	before := totals(t, l)
	info := must.Get(os.Stat(l.path))(t)
	done, err := l.Compact()
	if err != nil || done.Runs != 10 || done.After != 6 { // header, archive, two lines of "kept", one of "open", cap
		t.Fatalf("%+v, %v", done, err)
	}
	after, err := os.Stat(l.path)
	if err != nil || after.Size() >= info.Size()/2 || after.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes became %d, mode %v, %v", info.Size(), after.Size(), after.Mode(), err)
	}
	if got := totals(t, l); !reflect.DeepEqual(got, before) {
		t.Errorf("totals were\n%+v and are\n%+v", before, got)
	}
	must.Equal(t, must.Get(l.Verify())(t), Verification{Lines: done.After}, "Verify")
	charges := map[string]int{}
	history, away, err := l.History()
	for _, e := range history {
		if e.Charge != nil {
			charges[e.Run]++
		}
	}
	if err != nil || away != "" || len(charges) != 12 || charges["open"] != 1 || charges["kept"] != 1 ||
		charges["run0"] != 1 {
		t.Errorf("the history has the charges %v, away %q, %v", charges, away, err)
	}
	if open, err := l.Unfinished(""); err != nil || len(open) != 1 || open[0].Run != "open" {
		t.Errorf("unfinished: %+v, %v", open, err)
	}
	must.Equal(t, must.Get(l.Released("kept"))(t).Kept.Digest, "0f", "Digest")
	must.FailDo(t, l.Release("run0", Kept{Digest: "0f"}), ErrResume, "a run that is archived is finished again")
	must.CheckDo(t, l.Release("open", Kept{Digest: "0f"}))
	c := testCharge("other data")
	c.Fingerprint = "0faa"
	wantNote(t, mustBegin(t, l, c), "differ from the data of run", true)
	big := testCharge("over")
	big.Events = []account.Event{account.GaussianEvent{Sensitivity: 1, Sigma: 0.05}}
	must.Fail(l.Begin(big, privacy.NewSeededSource(1)))(t, ErrBudget, "the cap is gone")
	before = totals(t, l)
	again, err := l.Compact()
	if err != nil || again.Runs != 1 || !reflect.DeepEqual(totals(t, l), before) {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	if idle, err := l.Compact(); err != nil || idle.Runs != 0 || idle.File != "" {
		t.Errorf("nothing to archive: %+v, %v", idle, err)
	}
	// The chain goes on through both archives: no byte of either can change.
	for _, file := range []string{done.File, again.File} {
		name := filepath.Join(filepath.Dir(l.path), file)
		text := must.Get(os.ReadFile(name))(t)
		other := []byte(strings.Replace(string(text), `"count":2`, `"count":1`, 1))
		for _, damaged := range [][]byte{other, text[:len(text)-1], append(text[:len(text):len(text)], "x\n"...), {}} {
			must.Do(t, os.WriteFile(name, damaged, 0o600))
			must.Fail(l.Verify())(t, ErrUnavailable, file, " of ", len(damaged), " bytes was accepted")
		}
		must.Do(t, os.Remove(name))
		must.Equal(t, must.Get(l.Verify())(t).Away, file, "Away")
		must.Do(t, os.WriteFile(name, text, 0o600))
	}
	must.Equal(t, must.Get(l.Verify())(t).Away, "", "Away")
}

// The check of a compaction notices a total that is not the same, and no line takes back what was spent.
func TestCompactNoticesLostCosts(t *testing.T) {
	l := busyLedger(t)
	before := must.Get(l.load())(t)
	must.Get(l.Compact())(t)
	after := must.Get(l.load())(t)
	must.Do(t, before.sameTotals(after))
	archive := *after.entries[0].Archive
	for what, change := range map[string]func(a *Archive){
		"one time less":   func(a *Archive) { a.Totals[0].Events[0].Times-- },
		"one run less":    func(a *Archive) { a.Totals[0].Runs-- },
		"another data id": func(a *Archive) { a.Totals[0].DataID = "x" },
		"another unit":    func(a *Archive) { a.Totals[0].Unit = "one pair" },
		"no event":        func(a *Archive) { a.Totals[1].Events = nil },
	} {
		raw := must.Get(json.Marshal(archive))(t)
		var changed Archive
		must.Do(t, json.Unmarshal(raw, &changed))
		change(&changed)
		after.entries[0].Archive = &changed
		must.ErrDo(t, before.sameTotals(after), "%s is not noticed", what)
	}
	for what, text := range map[string]string{
		"negative":      `{"lines":9,"hash":"H","file":"f","totals":[{"data_id":"a","runs":1,"last_run":"r","events":[{"times":-1,"event":{"kind":"gaussian","sensitivity":1,"sigma":2,"count":1}}]}]}`,
		"later event":   `{"lines":9,"hash":"H","file":"f","totals":[{"data_id":"a","runs":1,"last_run":"r","events":[{"times":1,"event":{"kind":"new"}}]}]}`,
		"another field": `{"lines":9,"hash":"H","file":"f","more":1,"totals":null}`,
		"a path":        `{"lines":9,"hash":"H","file":"../f","totals":null}`,
		"no end":        `{"lines":9,"hash":"H","file":"f","totals":[{"data_id":"a","runs":1,"last_run":"r","events":[{"times":9223372036854775807,"event":{"kind":"gaussian","sensitivity":1,"sigma":2,"count":1}}]}]}`,
		"many events":   `{"lines":9,"hash":"H","file":"f","totals":[{"data_id":"a","runs":1,"last_run":"r","events":[{"times":1,"event":{"kind":"gaussian","sensitivity":1,"sigma":2,"count":1}},{"times":4194304,"event":{"kind":"gaussian","sensitivity":1,"sigma":3,"count":1}}]}]}`,
	} {
		body := strings.Replace(text, `"H"`, `"`+strings.Repeat("0f", 32)+`"`, 1)
		if e := parseEntry(lineContent{Type: typeArchive, Body: []byte(body)}); e.Known {
			t.Errorf("%s: the archive is known", what)
		}
	}
	if e := parseEntry(lineContent{Type: typeArchive,
		Body: []byte(`{"lines":9,"hash":"` + strings.Repeat("0f", 32) + `","file":"f","totals":null}`)}); !e.Known {
		t.Error("an archive is not known")
	}
}

// Killed at each stage of a compaction, the ledger is the old one or the new one, whole, with the same totals, and goes on.
func TestCompactionIsWholeOrAbsent(t *testing.T) {
	for _, stage := range []struct {
		name string
		new  bool
	}{{"locked", false}, {"archive saved", false}, {"compact written", false}, {"both admitted", false}, {"compacted", true}, {"acknowledged", true}} {
		for _, then := range []string{"charge", "compact"} {
			t.Run(stage.name+", then "+then, func(t *testing.T) {
				l := busyLedger(t)
				before := totals(t, l)
				was := must.Get(l.load())(t)
				c := startChild(t, l.path, "compact", stage.name)
				if line := c.line(); line != "paused" {
					t.Fatalf("child: %q", line)
				}
				c.kill()
				v, err := l.Verify()
				if err != nil || (v.Lines != was.lines) != stage.new {
					t.Fatalf("Verify = %+v, %v; it had %d lines", v, err, was.lines)
				}
				must.Same(t, totals(t, l), before, "totals were")
				if then == "compact" {
					must.Check(l.Compact())(t)
				}
				mustBegin(t, l, testCharge("next"))
				if v, err := l.Verify(); err != nil || v.HeadBehind || v.TornBytes > 0 {
					t.Errorf("Verify = %+v, %v", v, err)
				}
				if s, err := l.Summary("clinic", 1e-5); err != nil || s.Runs != before["clinic"].Runs+1 ||
					!(s.Epsilon > before["clinic"].Epsilon) {
					t.Errorf("%+v, %v", s, err)
				}
			})
		}
	}
}

// A line that no program writes is not known, though its chain is true, so that there is no total. A charge without a data id made
// Compact report an error of the program.
func TestImpossibleLinesAreUnknown(t *testing.T) {
	for kind, bodies := range map[string][]string{
		typeCharge: {`{"data_id":"","run":"a","algorithm":"","events":[]}`,
			`{"data_id":"clinic","run":"","algorithm":"","events":[]}`},
		typeCap: {`{"data_id":"","epsilon":1,"delta":0.1}`, `{"data_id":"clinic","epsilon":-1,"delta":0.1}`,
			`{"data_id":"clinic","epsilon":1,"delta":0}`, `{"data_id":"clinic","epsilon":1,"delta":1}`},
		typeFinish: {`{"run":"","status":"released"}`},
		typeResume: {`{"run":""}`, `{"run":"a","released":-1}`},
	} {
		for _, body := range bodies {
			if e := parseEntry(lineContent{Type: kind, Body: []byte(body)}); e.Known {
				t.Errorf("%s %s is known", kind, body)
			}
		}
	}
}
