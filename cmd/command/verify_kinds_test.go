package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dyad/docs/checker"
)

// The model of a stream is compared with the one charge of its run: the right ledger has it, and a model that names another run, another
// data id or another release is refused.
func TestStreamModelsAreComparedWithTheirCharge(t *testing.T) {
	dir := clinic(t, 60)
	if code, out, errs := dyad(t, dir, strings.Fields("online --records 60 --every 20 --state s --out m.json --ledger l.jsonl"+private)...); code != exitOK {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	m, err := readModel("m.json")
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := dyad(t, dir, "verify", "m.json", "--ledger", "l.jsonl"); code != exitOK || !strings.Contains(out, "one charge of this plan; it has no hash of the file of a stream") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	run, id, released, relation := m.Run, m.DataID, m.Guarantee.Released, m.Guarantee.Relation
	for what, change := range map[string]func(){
		"charges": func() { m.Run = strings.Repeat("A", len(run)) }, "data id": func() { m.DataID = "other" },
		"approved page": func() { m.Approved = strings.Repeat("a", 64) },
		"release":       func() { m.Guarantee.Released = "one model" }, "relation": func() { m.Guarantee.Relation = "same stream, one label replaced" },
	} {
		m.Run, m.DataID, m.Approved, m.Guarantee.Released, m.Guarantee.Relation = run, id, "", released, relation
		change()
		text, err := m.Text()
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "forged.json", string(text))
		if code, out, errs := dyad(t, dir, "verify", "forged.json", "--ledger", "l.jsonl"); code != exitInput || !strings.Contains(errs, what) {
			t.Errorf("%s: exit %d: %s%s", what, code, out, errs)
		}
	}
}

// The file of a kind of one's own is read by a program that does not know the kind: not covered as it is, and refused where it was changed.
func TestReleasesOfOtherKindsAreRead(t *testing.T) {
	text, err := os.ReadFile("testdata/formats/release-1.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		text string
		code int
		says string
	}{
		{string(text), exitFailure, "not covered"},
		{strings.Replace(string(text), `"kind": "mean"`, `"kind": "sum"`, 1), exitInput, "checksum does not match"},
		{strings.Replace(string(text), `"dyad-release/1"`, `"dyad-release/2"`, 1), exitInput, "checksum does not match"},
	} {
		write(t, dir, "r.json", c.text)
		if code, out, errs := dyad(t, dir, "verify", "r.json"); code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("exit %d, want %d and %q: %s%s", code, c.code, c.says, out, errs)
		}
	}
}

// Figures that were changed after their release are refused by whatever reads them.
func TestChangedFiguresAreRefused(t *testing.T) {
	dir := clinic(t, 120)
	for _, args := range []string{"train --epsilon 1 --out m.json" + private, "evaluate m.json --data patients.csv --epsilon 1 --out f.json"} {
		if code, out, errs := dyad(t, dir, strings.Fields(args)...); code != exitOK {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
	}
	text, err := os.ReadFile("f.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "g.json", strings.Replace(string(text), `"confidence": 0.95`, `"confidence": 0.99`, 1))
	for file, want := range map[string]int{"f.json": exitOK, "g.json": exitInput} {
		for _, args := range [][]string{{"threshold", "m.json", "--figures", file, "--aim", "balanced", "--out", "of-" + file}, {"report", "m.json", "--figures", file, "--out", file + ".html"}} {
			if code, out, errs := dyad(t, dir, args...); code != want {
				t.Errorf("dyad %v: exit %d, want %d: %s%s", args, code, want, out, errs)
			}
		}
	}
}

// Sensitivities in the L2 norm, of a sequence or of a vector, prove no pure guarantee: files whose noise, events and guarantees are all
// rewritten to one are refused.
func TestVerifyRefusesPureGuaranteesOfTheWrongNorm(t *testing.T) {
	dir := clinic(t, 200)
	for _, c := range []struct{ name, flags, law, kind string }{
		{"stream", "online --records 200 --every 20 --state pure.state", "K-norm", "pure-stream"},
		{"stream-laplace", "online --records 200 --every 20 --state laplace.state", "Laplace", "pure-stream"},
		{"stream-no-law", "online --records 200 --every 20 --state no.state", "no", "pure-stream"},
		{"pairs-moments", drawnPairs + " --method moments", "Laplace", "laplace"},
	} {
		var m map[string]any
		if err := json.Unmarshal(verifiable(t, dir, "pure-"+c.name, c.flags), &m); err != nil {
			t.Fatal(err)
		}
		if v := checker.Check(sealed(t, m)); v.Verdict != checker.Verified {
			t.Fatalf("%s, unchanged: %+v", c.name, v)
		}
		plan, g := m["plan"].(map[string]any), m["guarantee"].(map[string]any)
		r := plan["releases"].([]any)[0].(map[string]any)
		e, noise := r["event"].(map[string]any), r["noise"].(map[string]any)
		sensitivity, scale := r["certificate"].(map[string]any)["sensitivity"].(float64), noise["scale"].(float64)
		noise["law"], e["kind"], e["epsilon"], e["scale"], e["sensitivity"] = c.law, c.kind, sensitivity/scale*(1+1e-9), scale, sensitivity
		g["kind"], g["epsilon"], g["released"] = "epsilon-DP", sensitivity/scale*(1+1e-8), strings.Replace(g["released"].(string), "Gaussian", c.law, 1)
		delete(g, "delta")
		delete(g, "mu")
		plan["budget"] = map[string]any{"epsilon": g["epsilon"], "delta": 0.}
		for _, report := range []string{"report", "pairs_report"} {
			if stated, ok := m[report].(map[string]any); ok {
				stated["guarantee"] = g
			}
		}
		if v := checker.Check(sealed(t, m)); v.Verdict != checker.Refused || !strings.Contains(v.Why, "is not in the norm of") {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}
