package account_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/privacy/account"
)

var update = flag.Bool("update", false, "write the answers anew")

// goldenEvents are the lines of testdata/events.jsonl, which ledgers hold. Old lines are
// never changed or removed: somebody's ledger has them.
func goldenEvents(t *testing.T) [][]byte {
	t.Helper()
	raw := must.Get(os.ReadFile("testdata/events.jsonl"))(t)
	return bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
}

// Every recorded event is read, and written byte for byte as it was.
func TestRecordsOfEvents(t *testing.T) {
	for _, line := range goldenEvents(t) {
		e := account.Decode(line)
		if again, err := account.Encode(e); err != nil || !bytes.Equal(again, line) {
			t.Errorf("%s\nis read as %v and written as\n%s (%v)", line, e, again, err)
		}
	}
}

// Every accountant answers as it always did about what ledgers hold, to the last bit where
// floating point is the same.
func TestAnswersOfAccountants(t *testing.T) {
	// What no ledger records is accounted for, too.
	events := []account.Event{
		account.Repeat(account.RandomizedResponseEvent{Buckets: 10, Uniform: 0.3}, 5),
		account.RandomizedResponseEvent{Buckets: 2, Uniform: 1},
		account.Repeat(account.PoissonEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: 3}, Rate: 0.02, Relation: account.AddRemove}, 60),
		account.Repeat(account.PoissonEvent{Event: account.LaplaceEvent{Sensitivity: 1, Scale: 3}, Rate: 0.02, Relation: account.AddRemove}, 4),
	}
	for _, line := range goldenEvents(t) {
		events = append(events, account.Decode(line))
	}
	var out strings.Builder
	for i, e := range events {
		fmt.Fprintf(&out, "event %d %v\n", i+1, e)
		for _, a := range []account.Accountant{new(account.GDP), new(account.PLD), new(account.RDP), new(account.ZCDP), new(account.Total)} {
			fmt.Fprintf(&out, "%T", a)
			for range 2 { // the event twice
				if err := a.Compose(e); err != nil {
					if !errors.Is(err, account.ErrUnsupported) {
						t.Errorf("%v: %v", e, err)
					}
					fmt.Fprint(&out, " unsupported")
					break
				}
				fmt.Fprintf(&out, " %v %v %v", a.Epsilon(1e-6), a.Epsilon(0), a.Delta(0.7))
			}
			fmt.Fprintln(&out)
		}
	}
	const name = "testdata/answers.txt"
	if *update {
		must.Do(t, os.WriteFile(name, []byte(out.String()), 0o644))
	}
	want := must.Get(os.ReadFile(name))(t)
	gotLines, wantLines := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%d lines, want %d", len(gotLines), len(wantLines))
	}
	for i := range gotLines {
		if gotLines[i] != wantLines[i] && (runtime.GOARCH == "amd64" || !sameWords(gotLines[i], wantLines[i])) {
			t.Errorf("line %d of the answers is\n%s, want\n%s", i+1, gotLines[i], wantLines[i])
		}
	}
}

// sameWords reports whether two lines differ by rounding only.
func sameWords(got, want string) bool {
	g, w := strings.Fields(got), strings.Fields(want)
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		var x, y float64
		_, errX := fmt.Sscan(g[i], &x)
		_, errY := fmt.Sscan(w[i], &y)
		if g[i] != w[i] && (errX != nil || errY != nil || !(math.Abs(x-y) <= 1e-9*math.Abs(y))) {
			return false
		}
	}
	return true
}
