package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// onlineOutput are the lines of a run.
type onlineOutput struct {
	start    onlineStart
	releases []onlineRelease
}

func parseOnline(t *testing.T, out string) (o onlineOutput) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var v any = &o.start
		if i > 0 {
			o.releases = append(o.releases, onlineRelease{})
			v = &o.releases[i-1]
		}
		must.Do(t, json.Unmarshal([]byte(line), v), "line", i+1, out)
	}
	return o
}

var onlineFlags = []string{"online", "--schema", "patients.yaml", "--records", "100", "--every", "10", "--buffer", "20", "--state", "s"}

// A private stream is charged once, however often it is stopped and resumed, and
// makes every release once.
func TestOnlineResumesWithoutSpendingTwice(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 120)
	all := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(all), "\n")
	write(t, dir, "patients.csv", strings.Join(lines[:1+37], ""))
	flags := append(slices.Clone(onlineFlags), "--data", "patients.csv")
	out := mustRun(t, dir, flags...)
	first := parseOnline(t, out)
	if g := first.start.Guarantee; len(first.releases) != 2 || first.start.Run == "" || g.Epsilon > 1 || g.Epsilon < 0.99 || first.releases[1].Records != 30 || first.releases[0].AUC != nil {
		t.Errorf("37 records: %+v", first)
	}
	if info, err := os.Stat("s"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state: %v, %v", info, err)
	}
	spent := func() string {
		return mustRun(t, dir, "ledger", "show", "--json")
	}
	before := spent()
	old := must.Get(os.ReadFile("s"))(t)
	ends(t, dir, exitInput, "--resume", flags...)
	write(t, dir, "patients.csv", string(all))
	// The program is killed when the state of release 5 is on disk and the
	// release is not written.
	resume := append(slices.Clone(flags), "--resume")
	saved := 0
	out = killedOnline(t, resume, func(stage string) {
		if stage == "state saved" {
			if saved++; saved == 3 {
				panic(stopped{77})
			}
		}
	})
	second := parseOnline(t, out)
	if second.start.Run != first.start.Run || second.start.Records != 37 || len(second.releases) != 3 || second.releases[0].Release != 2 || second.releases[1].Release != 3 || !slices.Equal(second.releases[0].Weights, first.releases[1].Weights) {
		t.Errorf("resumed: %+v", second)
	}
	out = mustRun(t, dir, resume...)
	third := parseOnline(t, out)
	if len(third.releases) != 5 || third.releases[0].Release != 5 || third.releases[4].Release != 9 {
		t.Errorf("release 5 was counted, so it is repeated and 6 to 9 are left: %+v", third.releases)
	}
	if after := spent(); !strings.Contains(before, `"mu"`) || moneyOf(t, before) != moneyOf(t, after) {
		t.Errorf("resuming changed what is spent from %s to %s", before, after)
	}
	// The horizon is reached, and an old copy of the state is worth nothing.
	ran(t, dir, resume...).exits(exitInput).printsOnly("")
	write(t, dir, "s", string(old))
	ran(t, dir, resume...).exits(exitInput).printsOnly("")
}

// killedOnline runs in the folder of the last dyad call.
func killedOnline(t *testing.T, args []string, stage func(string)) string {
	t.Helper()
	code, out, errs := hooked(context.Background(), hooks{stage: stage}, args...)
	if code != 77 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	return out
}

// moneyOf is the mu of all data ids in the JSON of ledger show.
func moneyOf(t *testing.T, text string) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"mu"`) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	if len(found) == 0 {
		t.Fatalf("no mu in %s", text)
	}
	return strings.Join(found, " ")
}

// An old copy of the state from before a resume is refused while the run goes on.
func TestOnlineRefusesAnOldState(t *testing.T) {
	dir := clinic(t, 60)
	all := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(all), "\n")
	feed := func(from, to int, args ...string) int {
		var out, errs bytes.Buffer
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		t.Chdir(dir)
		in := lines[0] + strings.Join(lines[1+from:1+to], "")
		code := run(context.Background(), append(slices.Clone(onlineFlags), args...), strings.NewReader(in), &out, &errs)
		t.Log(errs.String())
		return code
	}
	if feed(0, 25) != exitOK { // standard input
		t.Fatal("the start failed")
	}
	old := must.Get(os.ReadFile("s"))(t)
	if feed(25, 45, "--resume") != exitOK {
		t.Fatal("resuming failed")
	}
	write(t, dir, "s", string(old))
	must.Equal(t, feed(25, 60, "--resume"), exitInput, "an old copy: exit")
	for _, bad := range [][]string{{"--follow"}, {"--state", "t", "--records", "1"}, {"--state", "t", "--algorithm", "onpairstrc"}, {"--state", "t", "--secret-state"}, {"--state", "t", "--delta", "0"}, {"--state", "missing", "--resume"}} {
		must.Equal(t, feed(0, 20, bad...), exitInput, "%v: exit", bad)
	}
}

// On public data nothing is charged and the AUC is measured.
func TestOnlineResumeComparesTheFormula(t *testing.T) {
	dir := clinic(t, 60)
	flags := append(slices.Clone(onlineFlags), "--data", "patients.csv", "--loss")
	mustRun(t, dir, append(flags, "(u-1)^2")...)
	ran(t, dir, append(flags, "(u+1)^2", "--resume")...).exits(exitInput).warns("another loss").printsOnly("")
	schema := string(must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t))
	write(t, dir, "patients.yaml", strings.Replace(schema, `positive: "1", negative: "0"`, `positive: "0", negative: "1"`, 1))
	ran(t, dir, append(flags, "(u-1)^2", "--resume")...).exits(exitInput).warns("another schema").printsOnly("")
	write(t, dir, "patients.yaml", schema)
	mustRun(t, dir, append(flags, "(u-1)^2", "--resume")...)
}

func TestOnlinePublic(t *testing.T) {
	dir := clinic(t, 300)
	out := mustRun(t, dir, "online", "--data", "patients.csv", "--schema", "patients.yaml", "--records", "300", "--every", "50", "--state", "s", "--public-data", "--epsilon", "100")
	o := parseOnline(t, out)
	last := o.releases[len(o.releases)-1]
	if len(o.releases) != 5 || last.AUC == nil || *last.AUC < 0.6 || o.releases[0].AUC != nil || o.start.Guarantee.Kind != "public data" {
		t.Errorf("%s", out)
	}
	if exists(filepath.Join(dir, "state", "dyad", "ledger.jsonl")) {
		t.Error("a ledger was made for public data")
	}
}

// A bad row stops a stream that is charged: the error names the row and how to go on, and
// the corrected file goes on at no further cost. What is wrong before the first record is
// charged to nobody.
func TestOnlineStopsAtABadRow(t *testing.T) {
	dir := clinic(t, 100)
	all := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(all), "\n")
	flags := append(slices.Clone(onlineFlags), "--data", "patients.csv")
	bad := func(row int) (int, string, string) {
		broken := slices.Clone(lines)
		broken[row-1] = "x" + broken[row-1]
		write(t, dir, "patients.csv", strings.Join(broken, ""))
		return dyad(t, dir, flags...)
	}
	code, _, errs := bad(2)
	if code != exitInput || !strings.Contains(errs, "patients.csv: row 2") || strings.Contains(errs, "charged") || exists(filepath.Join(dir, "s")) {
		t.Errorf("a bad first record: exit %d: %s", code, errs)
	}
	code, out, errs := bad(36)
	run := parseOnline(t, out).start.Run
	if code != exitInput || !strings.Contains(errs, "patients.csv: row 36") || !strings.Contains(errs, "run "+run+" is charged; the same command with --resume") {
		t.Errorf("a bad record in the stream: exit %d: %s", code, errs)
	}
	write(t, dir, "patients.csv", string(all))
	code, out, errs = dyad(t, dir, append(flags, "--resume")...)
	if o := parseOnline(t, out); code != exitOK || o.start.Run != run || o.releases[len(o.releases)-1].Records != 100 {
		t.Errorf("resumed: exit %d: %s%s", code, errs, out)
	}
	ran(t, dir, "ledger", "show").prints("1 run,")
	ends(t, dir, exitInput, "is a directory", append(flags[:len(flags)-1:len(flags)-1], ".", "--state", "other")...)
}

// With --follow the records that are appended later are used, until an interrupt,
// after which the unfinished batch is in the state.
func TestOnlineFollows(t *testing.T) {
	dir := clinic(t, 250)
	all := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.SplitAfter(string(all), "\n")
	write(t, dir, "grow.csv", strings.Join(lines[:1+190], ""))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	saved := 0
	stage := func(s string) {
		if s != "state saved" {
			return
		}
		switch saved++; saved {
		case 3:
			f, err := os.OpenFile("grow.csv", os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(strings.Join(lines[191:211], ""))
			}
			if err != nil || f.Close() != nil {
				t.Error(err)
			}
		case 9:
			cancel()
		}
	}
	code, out, errs := hooked(ctx, hooks{stage: stage}, append(slices.Clone(onlineFlags), "--data", "grow.csv", "--follow", "--records", "300", "--every", "20")...)
	if code != exitCancelled || ctx.Err() != context.Canceled {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if o := parseOnline(t, out); len(o.releases) != 9 || o.releases[8].Records != 200 {
		t.Errorf("%d releases before the interrupt", len(o.releases))
	}
}

// Two processes never make the same releases of one run, whose noise would be paid for
// once: a copy of the state is refused while the first process lives, and after it has
// stopped in order.
func TestOnlineRefusesACopyOfTheState(t *testing.T) {
	dir := clinic(t, 90)
	copied := append(slices.Clone(onlineFlags[:len(onlineFlags)-1]), "copy", "--data", "patients.csv", "--resume")
	tries := 0
	stage := func(at string) {
		state, err := os.ReadFile("s")
		if at != "released" || err != nil || tries > 0 {
			return
		}
		tries++
		write(t, dir, "copy", string(state))
		if code, out, errs := hooked(context.Background(), hooks{}, copied...); code != exitInput || out != "" || !strings.Contains(errs, "another process") {
			t.Errorf("the copy beside a living process: exit %d, %s%s", code, out, errs)
		}
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Chdir(dir)
	code, out, errs := hooked(context.Background(), hooks{stage: stage}, append(slices.Clone(onlineFlags), "--data", "patients.csv")...)
	if o := parseOnline(t, out); code != exitOK || tries != 1 || len(o.releases) != 8 {
		t.Fatalf("exit %d, %d tries, %s", code, tries, errs)
	}
	ran(t, dir, copied...).exits(exitInput).printsOnly("")
	// Copies are not refused for being copies: the state itself goes on under another name.
	state := must.Get(os.ReadFile("s"))(t)
	write(t, dir, "copy", string(state))
	ends(t, dir, exitOK, `"release":8`, copied...)
}

// A public stream that is resumed replaces its own model file and nobody else's.
func TestResumedPublicStreamReplacesItsOwnModelOnly(t *testing.T) {
	dir := clinic(t, 200)
	read := func(name string) string {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		return string(text)
	}
	stream := func(more ...string) (int, string, string) {
		return dyad(t, dir, append([]string{"online", "--schema", "patients.yaml", "--records", "200", "--every", "20", "--state", "s", "--public-data"}, more...)...)
	}
	write(t, dir, "first.csv", strings.Join(strings.SplitAfter(read("patients.csv"), "\n")[:101], ""))
	if code, _, errs := stream("--data", "first.csv", "--out", "own.json"); code != exitOK {
		t.Fatal(errs)
	}
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--public-data", "--out", "other.json")
	before, own, state := read("other.json"), read("own.json"), read("s")
	if code, _, errs := stream("--data", "patients.csv", "--resume", "--out", "other.json"); code != exitElsewhere || read("other.json") != before {
		t.Errorf("exit code %d, another model is replaced: %v\n%s", code, read("other.json") != before, errs)
	}
	write(t, dir, "s", state)
	if code, _, errs := stream("--data", "patients.csv", "--resume", "--out", "own.json"); code != exitOK || read("own.json") == own {
		t.Errorf("exit code %d, its own model is replaced: %v\n%s", code, read("own.json") != own, errs)
	}
}
