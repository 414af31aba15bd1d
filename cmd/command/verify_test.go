package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/docs/checker"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// verified are trainings by the algorithms, losses, budgets and units that the checker covers, and
// uncovered those that it must not accept.
var verified = map[string]string{
	"descent":          "--algorithm dpgdsc",
	"descent-square":   "--algorithm dpgdsc --loss square",
	"descent-pure":     "--algorithm dpgdsc --delta 0",
	"descent-laplace":  "--algorithm dpgdsc --delta 0 --mode paper",
	"descent-paper":    "--algorithm dpgdsc --mode paper",
	"average":          "--algorithm dpgdc",
	"average-square":   "--algorithm dpgdc --loss square",
	"average-laplace":  "--algorithm dpgdc --delta 0 --mode paper",
	"gradient":         "--algorithm gradient-perturbation",
	"gradient-square":  "--algorithm gradient-perturbation --loss square",
	"gradient-hinge":   "--algorithm gradient-perturbation --loss hinge --radius 2",
	"noisy-average":    "--algorithm dpgdc2",
	"moments":          "--algorithm moments",
	"moments-pure":     "--algorithm moments --delta 0",
	"moments-steps":    "--algorithm moments --steps 3",
	"moments-descent":  "--algorithm moments-descent",
	"moments-hinge":    "--algorithm moments-descent --loss hinge",
	"moments-square":   "--algorithm moments-descent --loss square",
	"moment-metric":    "--task metric --algorithm moment-metric",
	"metric":           "--task metric --algorithm dpgdsc",
	"metric-wide":      "--task metric --algorithm dpgdsc --radius 5",
	"metric-narrow":    "--task metric --algorithm dpgdc --radius 0.05",
	"metric-square":    "--task metric --algorithm dpgdsc --loss square",
	"metric-square-in": "--task metric --algorithm dpgdc --loss square --radius 0.05",
	"metric-hinge":     "--task metric --algorithm gradient-perturbation --loss hinge",
	"hidden":           "--algorithm convergent-descent",
	"network":          "--model mlp --hidden 2,2 --steps 3",
	"network-linear":   "--model mlp --hidden 0 --loss square --loss-param m=1",
	"network-average":  "--model mlp --hidden 2 --activation softplus --algorithm dpgdc2 --loss hinge",
	"network-cosine":   "--model mlp --hidden 2 --task metric --dim 2 --steps 3",
	"network-distance": "--model mlp --hidden 2 --task metric --dim 2 --steps 3 --similarity distance --loss square",
	"network-margin":   "--model mlp --hidden 2 --task metric --dim 2 --steps 3 --similarity contrastive",
	"stream":           "online --records 200 --every 20 --state stream.state --buffer 30",
	"stream-classes": "online --records 200 --every 30 --state classes.state --algorithm onpairstrc --l2 0.01 --buffer " +
		"20 --per-class --average",
	"stream-reservoir": "online --task metric --records 200 --every 30 --state reservoir.state --buffer 20 --reservoir",
	"clusters":         "cluster -k 2",
	"pairs":            drawnPairs,
	"pairs-pure":       drawnPairs + " --delta 0",
	"pairs-laplace":    drawnPairs + " --delta 0 --noise laplace --unit group --kappa 4",
	"pairs-moments":    drawnPairs + " --method moments",
	"tuples":           "pairs train --tuple 4 --loss triplet",
	"tuples-network":   "pairs train --tuple 4 --loss npair --model mlp --hidden 2 --rows 2 --epochs 3",
}

const drawnPairs = "pairs train --density 2 --degree-cap 6"

var uncovered = map[string]string{
	"onepass":       "--algorithm offpairstrc",
	"epochs":        "--algorithm dpegd",
	"poisson":       drawnPairs + " --sampling poisson --batch 60",
	"pairs-paper":   drawnPairs + " --mode paper --delta 0",
	"pairs-labels":  drawnPairs + " --method labels",
	"batches":       "--algorithm subsampled-descent",
	"squared-hinge": "--algorithm dpgdsc --loss squared-hinge",
	"formula":       "--algorithm dpgdsc --loss exp(-u)",
	"clipped":       "--algorithm gradient-perturbation --loss square --loss-clip 1",
	"networks":      "--model mlp --hidden 2 --algorithm subsampled-descent",
	"net-formula":   "--model mlp --hidden 2 --loss exp(-u)",
	"seeded":        "--algorithm dpgdsc --seed 1",
	"correlated":    "online --records 200 --every 7 --state correlated.state --algorithm dpftrl",
	"secret-state":  "online --records 200 --every 1 --state secret.state --secret-state",
	"public":        "--public-data",
	"baseline":      "--public-data --mode nonprivate",
}

// verifiable makes a file of 200 private records by dyad train, or by the command that flags begin with, and returns its text.
func verifiable(t *testing.T, dir, name, flags string) []byte {
	t.Helper()
	if strings.HasPrefix(flags, "-") {
		flags = "train " + flags
	}
	if !strings.HasPrefix(flags, "evaluate") {
		flags += " --schema patients.yaml"
	}
	args := append(strings.Fields(flags), []string{"-q", "--data", "patients.csv", "--out", name + ".json",
		"--ledger", "l.jsonl"}...)
	if !strings.Contains(flags, "nonprivate") {
		args = append(args, "--epsilon", "1")
	}
	mustRun(t, dir, args...)
	return must.Get(os.ReadFile(filepath.Join(dir, name+".json")))(t)
}

// judged is the exit code of dyad verify, which must be that of the checker's verdict on the file alone.
func judged(t *testing.T, dir, name string, more ...string) result {
	t.Helper()
	v := ran(t, dir, append([]string{"verify", name, "--json"}, more...)...)
	var r judgement
	if err := json.Unmarshal([]byte(v.out), &r); err != nil && v.code != exitInput && v.code != exitResource {
		t.Fatalf("%s: exit %d: %v: %s%s", name, v.code, err, v.out, v.errs)
	}
	v.out = r.Why
	return v
}

// Every model of the table is verified or not covered, with its ledger and without.
func TestVerify(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 200)
	for want, table := range []map[string]string{verified, uncovered} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			text := verifiable(t, dir, name, table[name])
			v := checker.Check(text)
			must.Equal(t, v.Code(), want, "%s: the checker says %q, %s", name, v.Verdict, v.Why)
			var stated float64 // rounded up
			if _, rest, _ := strings.Cut(v.Statement, " proves ("); want == 0 {
				if _, err := fmt.Sscanf(rest, "%g,", &stated); err != nil || stated < v.Epsilon {
					t.Errorf("%s: %v is stated as %v, %v", name, v.Epsilon, stated, err)
				}
			}
			for _, more := range [][]string{nil, {"--ledger", "l.jsonl"}} {
				judged(t, dir, name+".json", more...).exits(want)
			}
		}
	}
	for name, want := range map[string]string{"model-1.json": checker.NotCovered, "model-1-plan.json": checker.Verified,
		"model-1-plan-2.json": checker.Verified} {
		text := must.Get(os.ReadFile(filepath.Join(source(t), "testdata", "formats", name)))(t)
		if v := checker.Check(text); v.Verdict != want {
			t.Errorf("%s of an earlier version: %+v", name, v)
		}
	}
}

// source is the folder of this file: the tests change theirs.
var source = func() func(*testing.T) string {
	dir, err := os.Getwd()
	return func(t *testing.T) string {
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
}()

// Persons and query groups are units of their own.
func TestVerifyPersons(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, dir, "data", "synth", "patients.csv", "--visits", "--persons", "60", "--schema", "patients.yaml")
	for _, algorithm := range []string{"dpgdsc", "gradient-perturbation", "convergent-descent", "moments",
		"moments-descent"} {
		v := checker.Check(verifiable(t, dir, algorithm, "--algorithm "+algorithm))
		if v.Verdict != checker.Verified || v.Unit != "one person" || !strings.Contains(v.Statement, "3.10") {
			t.Errorf("%s: %+v", algorithm, v)
		}
	}
}

// Models of pairs within query groups are verified: a record moves the sums of its own group alone, and their rounding errors.
func TestVerifyQueryGroups(t *testing.T) {
	dir := clinic(t, 200)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.csv")))(t)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range lines {
		lines[i] += fmt.Sprintf(",%d", i/9)
	}
	lines[0] = strings.TrimSuffix(lines[0], "0") + "query"
	schema := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "patients.csv", strings.Join(lines, "\n"))
	write(t, dir, "patients.yaml", string(schema)+"  - {name: query, role: group}\n")
	for _, unit := range []string{"one record", "one person"} {
		for _, algorithm := range []string{"dpgdsc", "dpgdc", "gradient-perturbation", "dpgdc2",
			"convergent-descent", "moments"} {
			if v := checker.Check(verifiable(t, dir, unit+algorithm, "--algorithm "+algorithm)); v.Verdict != checker.Verified ||
				v.Unit != unit {
				t.Errorf("%s for %s: %+v", algorithm, unit, v)
			}
		}
		for i := range lines[1:] { // three rows each, in one group
			lines[1+i] += fmt.Sprintf(",p%d", (1+i)/3)
		}
		lines[0] += ",who"
		write(t, dir, "patients.csv", strings.Join(lines, "\n"))
		write(t, dir, "patients.yaml", "ids: public\nmax_rows_per_person: 40\n"+string(schema)+
			"  - {name: query, role: group}\n  - {name: who, role: person}\n")
	}
}

// sealed is the text of a model with a new checksum.
func sealed(t *testing.T, m any) []byte {
	t.Helper()
	object := maps.Clone(m.(map[string]any))
	delete(object, "checksum")
	text := must.Get(json.MarshalIndent(object, "", "  "))(t)
	sum := sha256.Sum256(append(text, '\n'))
	return fmt.Appendf(text[:len(text)-2], ",\n  \"checksum\": \"sha256:%s\"\n}\n", hex.EncodeToString(sum[:]))
}

// leaves calls each for every value of a document that is no list and no object, with what sets it.
func leaves(value any, path string, set func(any), each func(path string, value any, set func(any))) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			leaves(inner, path+"."+key, func(x any) { v[key] = x }, each)
		}
	case []any:
		for i, inner := range v {
			leaves(inner, fmt.Sprintf("%s.%d", path, i), func(x any) { v[i] = x }, each)
		}
	default:
		each(path, value, set)
	}
}

// A file that was changed as a whole is another true statement, and the ledger knows that it was not released.
func TestVerifyOtherStatement(t *testing.T) {
	dir := clinic(t, 200)
	text := string(verifiable(t, dir, "m", "--algorithm dpgdsc"))
	half := regexp.MustCompile(`"(sigma|scale)": ([0-9.e-]+)`).ReplaceAllStringFunc(text, func(s string) string {
		var v float64
		key, number, _ := strings.Cut(s, ": ")
		must.Get(fmt.Sscan(number, &v))(t)
		return fmt.Sprintf("%s: %v", key, 2*v)
	})
	var m any
	must.Do(t, json.Unmarshal([]byte(half), &m))
	if v := checker.Check(sealed(t, m)); v.Verdict != checker.Refused {
		t.Errorf("twice the noise for the same epsilon: %+v", v)
	}
	// The noise of epsilon 1 with the budget of the guarantee that twice the noise gives.
	mustRun(t, dir, "train", "-q", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "other.json",
		"--ledger", "other.jsonl", "--epsilon", "0.5", "--algorithm", "dpgdsc")
	other := must.Get(os.ReadFile(filepath.Join(dir, "other.json")))(t)
	var mine, its map[string]any
	if json.Unmarshal([]byte(text), &mine) != nil || json.Unmarshal(other, &its) != nil {
		t.Fatal("the models cannot be read")
	}
	its["run"], its["weights"] = mine["run"], mine["weights"]
	write(t, dir, "forged.json", string(sealed(t, its)))
	judged(t, dir, "forged.json").exits(exitOK)
	judged(t, dir, "forged.json", "--ledger", "l.jsonl").exits(exitInput).says("hash")
	delete(its, "run")
	write(t, dir, "nameless.json", string(sealed(t, its)))
	judged(t, dir, "nameless.json", "--ledger", "l.jsonl").exits(exitInput).says("0 charges")
}

// Numbers that no run has, an average of other steps than the theorem's, and texts that two readers read in two ways.
func TestVerifyRefusesContradictions(t *testing.T) {
	dir := clinic(t, 200)
	average, gradient := verifiable(t, dir, "average", verified["average"]),
		verifiable(t, dir, "gradient", verified["gradient"])
	accepted := func(text []byte) bool {
		end := bytes.LastIndex(text, []byte(",\n  \"checksum\""))
		sum := sha256.Sum256(append(bytes.Clone(text[:end]), "\n}\n"...))
		signed := fmt.Appendf(text[:end:end], ",\n  \"checksum\": \"sha256:%x\"\n}\n", sum)
		return checker.Check(signed).Verdict == checker.Verified
	}
	if !accepted(average) || !accepted(gradient) {
		t.Fatal("the models are not accepted as they are")
	}
	for _, c := range []struct {
		text     []byte
		from, to string
	}{
		{average, `"average": true`, `"average": true, "burn_in": 30`},
		{average, `"average": true`, `"average": true, "update": "momentum"`},
		{average, `"features": 12,`, `"features": 12.5,`},
		{average, `"max_rows_per_person": 0`, `"max_rows_per_person": 1e-9`},
		{average, `"format": "dyad-model/1"`, `"format": "dyad-model/1", "Format": "dyad-model/1"`},
		{average, `"weights": [`, `"weights": [1], "weights": [`},
		{average, `"unit": "one record"`, `"unit": "one person", "unit": "one record"`},
		{average, `"kind": "gaussian"`, `"\u212aind": "gaussian", "kind": "gaussian"`},
		{gradient, `"error": 2`, `"error": 1`},
	} {
		if !bytes.Contains(c.text, []byte(c.from)) {
			t.Fatalf("the model has no %s", c.from)
		}
		if accepted(bytes.ReplaceAll(c.text, []byte(c.from), []byte(c.to))) {
			t.Errorf("%s in place of %s is accepted", c.to, c.from)
		}
	}
	// Part of a step, with all numbers that follow.
	half := regexp.MustCompile(`"steps": ([0-9]+)`).ReplaceAll(gradient, []byte(`"steps": $1.5`))
	half = regexp.MustCompile(`"count": ([0-9]+)`).ReplaceAll(half, []byte(`"count": $1.5`))
	if bytes.Equal(half, gradient) {
		t.Fatal("nothing was changed")
	}
	var m any
	must.Do(t, json.Unmarshal(half, &m))
	must.Contain(t, checker.Check(sealed(t, m)).Why, "a whole number if it is a count")
}

// A run in an archive is verified through it; without the archive nothing is known, and another archive is damage.
func TestVerifyArchivedRun(t *testing.T) {
	dir := clinic(t, 200)
	verifiable(t, dir, "m", "--algorithm dpgdsc")
	verifiable(t, dir, "streamed", "--algorithm moments")
	for range 2 { // archives of archives
		mustRun(t, dir, "ledger", "compact", "--ledger", "l.jsonl")
		ends(t, dir, exitInput, "finished runs may be in its archives", "train", "--data", "patients.csv", "--schema",
			"patients.yaml", "--ledger", "l.jsonl", "--out", "x.json", "--resume", "NOBODY")
		verifiable(t, dir, "later", "--algorithm dpgdsc")
		must.Do(t, os.Remove(filepath.Join(dir, "later.json")))
	}
	judged(t, dir, "m.json", "--ledger", "l.jsonl").exits(exitOK)
	archives, err := filepath.Glob(filepath.Join(dir, "l.jsonl.archive-*"))
	if err != nil || len(archives) != 2 {
		t.Fatalf("%v, %v", archives, err)
	}
	for _, name := range archives {
		must.Do(t, os.Rename(name, name+".away"))
	}
	judged(t, dir, "m.json", "--ledger", "l.jsonl").exits(exitFailure).says("archive")
	for _, name := range archives {
		write(t, dir, filepath.Base(name), "other\n")
	}
	judged(t, dir, "m.json", "--ledger", "l.jsonl").exits(exitResource)
}

// Ledgers that are not those of the model.
func TestVerifyLedger(t *testing.T) {
	dir := clinic(t, 200)
	verifiable(t, dir, "m", "--algorithm dpgdsc")
	verifiable(t, dir, "second", "--algorithm dpgdsc")
	read := func(name string) []byte {
		return must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	}
	good, head := read("l.jsonl"), read("l.jsonl.head")
	// chained are lines with their hashes, and put makes them the ledger.
	put := func(lines [][]byte) {
		var last [32]byte
		var all []byte
		for i, line := range lines {
			body, _, _ := bytes.Cut(line, []byte(`,"hash":"`))
			body = regexp.MustCompile(`^\{"seq":[0-9]+`).ReplaceAll(body, fmt.Appendf(nil, `{"seq":%d`, i))
			last = sha256.Sum256(append(append(last[:], body...), '}'))
			all = fmt.Appendf(all, "%s,\"hash\":\"%x\"}\n", body, last)
		}
		write(t, dir, "l.jsonl", string(all))
		write(t, dir, "l.jsonl.head", fmt.Sprintf("{\"lines\":%d,\"hash\":\"%x\"}\n", len(lines), last))
	}
	lines := func() [][]byte { return bytes.Split(bytes.TrimSuffix(bytes.Clone(good), []byte("\n")), []byte("\n")) }
	edit := func(from, to string) func() {
		return func() {
			if !bytes.Contains(good, []byte(from)) {
				t.Fatalf("the ledger has no %s", from)
			}
			all := lines()
			all[1] = bytes.Replace(all[1], []byte(from), []byte(to), 1)
			put(all)
		}
	}
	if n := len(lines()); n != 5 {
		t.Fatalf("%d lines, want a header, and a charge and a finish of two runs", n)
	}
	for _, c := range []struct {
		name   string
		change func()
		code   int
		why    string
	}{
		{"the same lines with their hashes", func() { put(lines()) }, exitOK, ""},
		{"a changed byte", func() {
			write(t, dir, "l.jsonl", strings.Replace(string(good), `"type":"finish"`, `"type":"Finish"`, 1))
		}, exitResource, "not valid"},
		{"a line less than the head knows", func() {
			write(t, dir, "l.jsonl", string(bytes.Join(lines()[:3], []byte("\n")))+
				"\n")
		}, exitResource, "lost lines"},
		{"another run", func() { put(append(lines()[:1:1], lines()[3:]...)) }, exitInput, "0 charges"},
		{"two releases", func() { put(append(lines(), lines()[2])) }, exitInput, "2 final entries"},
		{"no release", func() { put(append(lines()[:2:2], lines()[3:]...)) }, exitInput, "0 final entries"},
		{"another hash of the file", func() {
			all := lines()
			all[2] = regexp.MustCompile(`sha256:[0-9a-f]`).ReplaceAll(all[2], []byte("sha256:x"))
			put(all)
		}, exitInput, "hash of the file"},
		{"another plan", edit(`"plan":"`, `"plan":"0`), exitInput, "hash of the plan"},
		{"no plan", func() {
			all := lines()
			all[1] = regexp.MustCompile(`"plan":"[0-9a-f]*",`).ReplaceAll(all[1], nil)
			put(all)
		}, exitFailure, "the run is from an earlier version"},
		{"another unit", edit(`"unit":"one record"`, `"unit":"one person"`), exitInput, "unit"},
		{"noise from a seed", edit(`,"resumable":true`, `,"seeded_noise":true,"resumable":true`), exitInput,
			"the noise came from a seed"},
		{"another epsilon", edit(`"guarantee":"(`, `"guarantee":"(9`), exitInput, "guarantee"},
		{"an approved page", edit(`"fingerprint":"`, `"approved":"aa","fingerprint":"`), exitInput, "approved page"},
		{"another data id", edit(`"data_id":"`, `"data_id":"other-`), exitInput, "data id"},
		{"a line of a later version", func() {
			all := lines()
			put(append(all, bytes.Replace(all[2], []byte(`"type":"finish"`), []byte(`"type":"again"`), 1)))
		}, exitInput, "later version"},
		{"other noise", edit(`"sigma":0.`, `"sigma":1.`), exitInput, "release 1"},
	} {
		write(t, dir, "l.jsonl", string(good))
		write(t, dir, "l.jsonl.head", string(head))
		c.change()
		judged(t, dir, "m.json", "--ledger", "l.jsonl").exits(c.code).says(c.why)
	}
}

// What reads models refuses one that was changed, with exitInput and the reason.
func TestReadersRefuseChangedModels(t *testing.T) {
	dir := clinic(t, 200)
	text := verifiable(t, dir, "m", "--algorithm dpgdsc")
	write(t, dir, "m.json", strings.Replace(string(text), `"bmi"`, `"bmj"`, 1))
	metric := verifiable(t, dir, "metric", "--task metric --algorithm moment-metric")
	write(t, dir, "metric.json", strings.Replace(string(metric), `"bmi"`, `"bmj"`, 1))
	for _, args := range []string{"predict m.json --data patients.csv",
		"evaluate m.json --data patients.csv --public-data", "transform metric.json --data patients.csv --out t.csv", "verify m.json"} {
		ends(t, dir, exitInput, "checksum", strings.Fields(args)...)
	}
}
