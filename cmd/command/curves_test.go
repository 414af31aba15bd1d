package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/engine/curves"
	"dyad/internal/must"
)

// Curves and their bands come out of the model file: without data, schema and ledger they are the same, and nothing is charged.
func TestCurvesNeedTheModelFileAlone(t *testing.T) {
	dir := clinic(t, 3000)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "curved.yaml", "basis: curve:3\ninteractions: [[age, sex], [smoker, bmi]]\n"+string(text))
	write(t, dir, "plain.yaml", "basis: none\n"+string(text))
	for schema, out := range map[string]string{"curved.yaml": "model.json", "plain.yaml": "plain.json"} {
		ran(t, dir, "train", "--data", "patients.csv", "--schema", schema, "--epsilon", "4", "--seed", "4", "--ledger",
			"l.jsonl", "--out", out).exits(exitOK)
	}
	m := must.Get(readModel(filepath.Join(dir, "model.json")))(t)
	want := must.Get(m.Curves())(t)
	for _, name := range []string{"patients.csv", "patients.yaml", "plain.yaml", "curved.yaml", "l.jsonl"} {
		must.Do(t, os.Remove(filepath.Join(dir, name)))
	}
	for _, name := range []string{"c.json", "c.svg", "c.png", "c.pdf"} {
		ran(t, dir, "report", "model.json", "--curves", name, "--force").exits(exitOK)
	}
	var got struct {
		Band     string
		Curves   []curves.Curve
		Surfaces []curves.Surface
	}
	text = must.Get(os.ReadFile(filepath.Join(dir, "c.json")))(t)
	if err := json.Unmarshal(text, &got); err != nil || len(got.Curves) != len(want) ||
		!strings.Contains(got.Band, "does not cover") {
		t.Fatalf("%d curves of %d, %q: %v", len(got.Curves), len(want), got.Band, err)
	}
	for k, c := range got.Curves {
		if !slices.Equal(c.Y, want[k].Y) || len(c.Low) != len(c.Y) || !(c.Low[0] < c.Y[0] && c.Y[0] < c.High[0]) {
			t.Errorf("%s: %v to %v around %v, want %v", c.Name, c.Low, c.High, c.Y, want[k].Y)
		}
	}
	surfaces, err := m.Surfaces()
	if err != nil || len(got.Surfaces) != 2 || !slices.Equal(got.Surfaces[1].Z[0], surfaces[1].Z[0]) ||
		len(surfaces[1].Z) != len(got.Surfaces[1].A.Categories) {
		t.Errorf("%v, want the surfaces %v: %v", got.Surfaces, surfaces, err)
	}
	must.Err(os.Stat(filepath.Join(dir, "model.html")))(t, "a page that nobody asked for")
	mustRun(t, dir, "report", "model.json")
	page := must.Get(os.ReadFile(filepath.Join(dir, "model.html")))(t)
	must.Contain(t, string(page), "curve:3: each column of numbers adds a curve to the score",
		"A band does not cover other noise", "adds to the score", want[0].Bend, "age and sex")

	// Without a basis there are lines without bands, and no section.
	ran(t, dir, "report", "plain.json", "--curves", "p.json", "--out", "plain.html").exits(exitOK)
	if page, err = os.ReadFile(filepath.Join(dir, "plain.html")); err != nil ||
		strings.Contains(string(page), "adds to the score") {
		t.Errorf("a page without a basis has curves: %v", err)
	}
	if text, err = os.ReadFile(filepath.Join(dir, "p.json")); err != nil || strings.Contains(string(text), `"low"`) ||
		!strings.Contains(string(text), curves.Straight) {
		t.Errorf("%s: %v", text, err)
	}
	ends(t, dir, exitInput, ".svg", "report", "model.json", "--curves", "c.txt", "--force")

	// A file whose noise is not that of its encoder is refused.
	damage(t, dir, "model.json", func(raw map[string]any) { raw["curve_noise"] = []float64{1} })
	ends(t, dir, exitInput, "noise of its curves", "report", "damaged.json")
}

// Where no bend stands out of the noise of the release, dyad train leaves straight lines: the weights of all bends are 0.
func TestBendsOfNoiseAreNotDrawn(t *testing.T) {
	dir := clinic(t, 300)
	text := must.Get(os.ReadFile(filepath.Join(dir, "patients.yaml")))(t)
	write(t, dir, "curved.yaml", "basis: curve:3\n"+string(text))
	straight := 0
	for seed := range 6 { // of pure noise half of the models keep nothing
		ran(t, dir, "train", "-q", "--data", "patients.csv", "--schema", "curved.yaml", "--epsilon", "1", "--seed",
			strconv.Itoa(seed+1), "--force", "--ledger", "l.jsonl").exits(exitOK)
		m := must.Get(readModel(filepath.Join(dir, "model.json")))(t)
		bend, whole, at := 0.0, 0.0, 0
		for _, width := range m.Encoder.Blocks() {
			for k, w := range m.Weights[at:][:width] {
				if whole += w * w; k > 0 {
					bend += w * w
				}
			}
			at += width
		}
		if bend < 1e-20*whole {
			straight++
		}
	}
	if straight == 0 || straight == 6 {
		t.Errorf("%d of 6 models are straight", straight)
	}
}
