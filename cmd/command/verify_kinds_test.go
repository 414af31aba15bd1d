package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"dyad/docs/checker"
	"dyad/internal/must"
	"dyad/privacy/account"
)

// The model of a stream is compared with the one charge of its run: the right ledger has it, and a model that names another run, another
// data id or another release is refused.
func TestStreamModelsAreComparedWithTheirCharge(t *testing.T) {
	dir := clinic(t, 60)
	mustRun(t, dir, strings.Fields("online --records 60 --every 20 --state s --out m.json --ledger l.jsonl"+private)...)
	m := must.Get(readModel("m.json"))(t)
	ends(t, dir, exitOK, "it cannot show that the stream wrote this file", "verify", "m.json",
		"--ledger", "l.jsonl")
	run, id, released, relation := m.Run, m.DataID, m.Guarantee.Released, m.Guarantee.Relation
	for what, change := range map[string]func(){
		"charges": func() { m.Run = strings.Repeat("A", len(run)) }, "data id": func() { m.DataID = "other" },
		"approved page": func() { m.Approved = strings.Repeat("a", 64) },
		"release":       func() { m.Guarantee.Released = "one model" },
		"relation":      func() { m.Guarantee.Relation = "same stream, one label replaced" },
	} {
		m.Run, m.DataID, m.Approved, m.Guarantee.Released, m.Guarantee.Relation = run, id, "", released, relation
		change()
		text := must.Get(m.Text())(t)
		write(t, dir, "forged.json", string(text))
		ends(t, dir, exitInput, what, "verify", "forged.json", "--ledger", "l.jsonl")
	}
}

// The file of a kind of one's own is read by a program that does not know the kind: not covered as it is, and refused where it was changed.
func TestReleasesOfOtherKindsAreRead(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/formats/release-1.json"))(t)
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
		ran(t, dir, "verify", "r.json").exits(c.code).says(c.says)
	}
}

// Figures that were changed after their release are refused by whatever reads them.
func TestChangedFiguresAreRefused(t *testing.T) {
	dir := clinic(t, 120)
	for _, args := range []string{"train --epsilon 1 --out m.json" + private,
		"evaluate m.json --data patients.csv --epsilon 1 --out f.json"} {
		mustRun(t, dir, strings.Fields(args)...)
	}
	text := must.Get(os.ReadFile("f.json"))(t)
	write(t, dir, "g.json", strings.Replace(string(text), `"confidence": 0.95`, `"confidence": 0.99`, 1))
	for file, want := range map[string]int{"f.json": exitOK, "g.json": exitInput} {
		for _, args := range [][]string{{"threshold", "m.json", "--figures", file, "--aim", "balanced", "--out", "of-" +
			file}, {"report", "m.json", "--figures", file, "--out", file + ".html"}} {
			ran(t, dir, args...).exits(want)
		}
	}
}

// A forger changes a genuine file so that its numbers fit each other, and all that follows from them: events, what they compose to, the budget, the report and the
// checksum. Each file states a smaller epsilon than its theorems give, or a guarantee of which there is no theorem.
func TestVerifyRefusesForgeriesThatFit(t *testing.T) {
	dir := clinic(t, 200)
	row := func(m map[string]any, i int) map[string]any {
		return m["plan"].(map[string]any)["releases"].([]any)[i].(map[string]any)
	}
	numbers := func(m map[string]any, i int) map[string]any {
		return row(m, i)["certificate"].(map[string]any)["numbers"].(map[string]any)
	}
	// noisy gives all rows noise of another law with the same scale.
	noisy := func(law, kind string) func(map[string]any) {
		return func(m map[string]any) {
			for i := range m["plan"].(map[string]any)["releases"].([]any) {
				e, noise, s := row(m, i)["event"].(map[string]any), row(m, i)["noise"].(map[string]any),
					row(m, i)["certificate"].(map[string]any)["sensitivity"].(float64)
				noise["law"], e["kind"], e["epsilon"], e["scale"], e["sensitivity"] = law, kind,
					s/noise["scale"].(float64)*(1+1e-9), noise["scale"], s
				if kind == "laplace" && len(m["weights"].([]any)) == 12 {
					e["sensitivity"] = s * math.Sqrt(12) * (1 + 1e-9)
				}
			}
			g := m["guarantee"].(map[string]any)
			g["released"] = strings.Replace(g["released"].(string), "Gaussian", law, 1)
		}
	}
	// resized gives a row another sensitivity with the same noise.
	resized := func(m map[string]any, i int, factor float64) {
		c, e := row(m, i)["certificate"].(map[string]any), row(m, i)["event"].(map[string]any)
		c["sensitivity"] = c["sensitivity"].(float64) * factor
		e["sensitivity"] = c["sensitivity"]
	}
	// network gives a network a key of another value, and constants of a loss.
	network := func(key string, value any, G, Dg float64, more ...func(m map[string]any)) func(map[string]any) {
		return func(m map[string]any) {
			m["network"].(map[string]any)[key] = value
			problem := m["plan"].(map[string]any)["problem"].(map[string]any)
			k := problem["constants"].(map[string]any)
			k["lipschitz"], k["pair_diameter"], problem["mean_error"] = G*(1+2e-5), Dg*(1+2e-5), G*0x1p-40
			error := G * 0x1p-39
			sensitivity := row(m, 0)["certificate"].(map[string]any)["sensitivity"].(float64)
			numbers(m, 0)["error"] = error
			resized(m, 0, (Dg*(1+2e-5)/100+2*error)*(1+1e-10)/sensitivity)
			for _, change := range more {
				change(m)
			}
		}
	}
	loss := func(key string, value any) func(map[string]any) {
		return func(m map[string]any) { m["loss"].(map[string]any)[key] = value }
	}
	parts := func(m map[string]any) {
		m["network"].(map[string]any)["parts"] = []any{map[string]any{"rows": 2., "cols": 13., "radius": 8 * math.Sqrt(6)},
			map[string]any{"rows": 1., "cols": 2., "radius": 2.}}
	}
	linear := func(m map[string]any) {
		m["weights"] = m["weights"].([]any)[:12]
		for i := range 12 {
			m["weights"].([]any)[i] = 0.1
		}
		m["plan"].(map[string]any)["problem"].(map[string]any)["radius"] = 2.
	}
	scores, distances := "--model mlp --hidden 2 --steps 3",
		"--model mlp --hidden 2 --task metric --dim 2 --steps 3 --similarity distance --loss square"
	lossOf, kindOf := "the loss of a network, its parameters",
		"the kind of the network or its fields (hidden, parts, layers)"
	stream := "online --records 200 --every 20 --state "
	evaluation := "evaluate descent.json --mean-loss"
	descent := verifiable(t, dir, "descent", verified["descent"])
	for i, c := range []struct {
		why, flags string
		change     func(map[string]any)
	}{
		{"in a norm that does not fit", stream + "pure.state", noisy("K-norm", "pure-stream")},
		{"in a norm that does not fit", stream + "laplace.state", noisy("Laplace", "pure-stream")},
		{"in a norm that does not fit", stream + "no.state", noisy("no", "pure-stream")},
		{"in a norm that does not fit", drawnPairs + " --method moments", noisy("Laplace", "laplace")},
		{"in a norm that does not fit", "--algorithm gradient-perturbation", noisy("K-norm", "pure")}, // 32 steps, paid once
		{"in a norm that does not fit", "--algorithm gradient-perturbation", noisy("Laplace", "laplace")},
		{"in a norm that does not fit", "--algorithm convergent-descent", noisy("K-norm", "")},
		// of more coordinates than the model has
		{"in a norm that does not fit", "--algorithm moments", noisy("Laplace", "laplace")},
		// the words of a row that costs nothing, and the cost of kappa = 1
		{"the problem of the plan", drawnPairs, func(m map[string]any) {
			p := m["plan"].(map[string]any)
			text, _ := json.Marshal(row(m, 0))
			var other any
			_ = json.Unmarshal(text, &other)
			p["releases"] = append(p["releases"].([]any), other)
			numbers(m, 1)["group"] = 1.
			resized(m, 1, 1./6*(1+1e-9))
			noise := row(m, 0)["noise"].(map[string]any)
			noise["scale"], row(m, 0)["event"].(map[string]any)["sigma"], noise["grid"] = 0x1p40, 0x1p40, 0x1p12
		}},
		{"clipped to a norm of 1", drawnPairs + " --delta 0", func(m map[string]any) { // terms are clipped to 1
			numbers(m, 0)["term_norm"] = 0.5
			resized(m, 0, 0.5*(1+1e-8))
			e := row(m, 0)["event"].(map[string]any)
			delete(e, "sensitivity")
			e["epsilon"] = e["epsilon"].(float64) * 0.5 * (1 + 2e-8)
		}},
		{"clipped to a norm of 1", drawnPairs + " --method moments", func(m map[string]any) {
			numbers(m, 0)["radius"] = 0.
			resized(m, 0, 3./9*(1+1e-8))
		}},
		{"no theorem covers a run of", "cluster -k 2", func(m map[string]any) {
			g := m["guarantee"].(map[string]any)
			g["unit"], g["relation"] = "one person", ""
		}},
		{"the words of the guarantee", "cluster -k 2", func(m map[string]any) {
			m["guarantee"].(map[string]any)["paper_claim"] = map[string]any{"source": "x", "epsilon": 0.1,
				"delta": 0., "holds": true}
		}},
		{"the theorem and the levels of", "cluster -k 2", func(m map[string]any) {
			numbers(m, 1)["levels"] = 1.
			resized(m, 1, 0x1p-26)
		}},
		{"the theorem and the levels of", evaluation, func(m map[string]any) {
			numbers(m, 4)["levels"] = 1.
			resized(m, 4, numbers(m, 4)["levels"].(float64)/0x1p16*(1+1e-9))
		}},
		{"the number of evaluated records or persons", evaluation, func(m map[string]any) {
			g := m["guarantee"].(map[string]any)
			g["unit"], g["relation"] = "one person",
				"same number n of persons, all rows of one person replaced: how many they are, features and labels"
		}},
		{"the file states the figure mean_loss", evaluation, func(m map[string]any) {
			p, g := m["plan"].(map[string]any), m["guarantee"].(map[string]any)
			p["releases"] = p["releases"].([]any)[:4]
			g["released"] = strings.Replace(g["released"].(string), "sum of losses over pairs of classes, ", "", 1)
		}},
		// without coordinates Laplace noise is free
		{"the problem of the plan", evaluation, func(m map[string]any) {
			var other map[string]any
			_ = json.Unmarshal(descent, &other)
			problem := other["plan"].(map[string]any)["problem"].(map[string]any)
			problem["features"] = 0.
			m["plan"].(map[string]any)["problem"] = problem
		}},
		// by the constants of contrastive embeddings
		{"cannot be compared by", distances, network("compare", "Distance", 4, 8)},
		{"cannot be compared by", distances, network("compare", "inner", 4, 8)},
		{"cannot be compared by", distances, network("compare", "", 4, 8)},
		{"cannot be compared by", scores, network("dim", 2., 4, 4, func(m map[string]any) {
			m["weights"] = append(m["weights"].([]any), 0., 0.)
			m["plan"].(map[string]any)["problem"].(map[string]any)["radius"] = math.Hypot(8*math.Sqrt(6), 2*math.Sqrt2)
		})},
		{lossOf, distances, network("seed", 1., 64, 128, loss("params", map[string]any{}))}, // of the margin 0
		{lossOf, distances, network("seed", 1., 64, 128, loss("params", map[string]any{"m": "1"}))},
		{lossOf, distances, network("seed", 1., 64, 128, loss("params", map[string]any{"m": 0.}))}, // the plan has m = 1
		{lossOf, distances, network("seed", 1., 8, 16, loss("formula", "max(0, m - u)"))},          // the plan has squares
		{lossOf, distances, network("compare", "contrastive", 4, 8)},
		// neighbours share no errors of networks
		{"the stated rounding error of mean-gradient", scores, network("seed", 1., 4, 4, func(m map[string]any) {
			m["plan"].(map[string]any)["problem"].(map[string]any)["mean_error"] = 0x1p-20
		})},
		{"a whole number if it is a count", scores, network("dim", 1.4, 4, 4)},
		{kindOf, scores, network("kind", "MLP", 4, 4, parts)},
		{kindOf, scores, network("kind", nil, 4, 4, parts)},
		{kindOf, scores, network("hidden", nil, 4/(1+math.Exp(-8)), 4/(1+math.Exp(-8)), linear)}, // 32 units to a reader
		{kindOf, scores, network("layers", map[string]any{"layers": []any{}}, 4, 4)},
		{kindOf, scores, network("kind", "waves", 4, 4, parts)},
		{"the sensitivity (mean-gradient)", "--algorithm gradient-perturbation", func(m map[string]any) {
			problem, g := m["plan"].(map[string]any)["problem"].(map[string]any), m["guarantee"].(map[string]any)
			problem["max_rows_per_person"], problem["groups"] = 3.,
				[]any{map[string]any{"size": 150., "number": 1.}, map[string]any{"size": 50., "number": 1.}}
			g["unit"], g["relation"] = "one person",
				"same number n of persons, all rows of one person replaced: how many they are, features and labels"
		}},
	} {
		var m map[string]any
		must.Do(t, json.Unmarshal(verifiable(t, dir, fmt.Sprint("fitting", i), c.flags), &m))
		if v := checker.Check(sealed(t, m)); v.Verdict != checker.Verified {
			t.Fatalf("%s, unchanged: %+v", c.flags, v)
		}
		c.change(m)
		composed(m)
		if v := checker.Check(sealed(t, m)); v.Verdict != checker.Refused || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s, %s: %+v", c.flags, c.why, v)
		}
	}
}

// A network goes with steps that have noise on gradients: next to moments it would take the place of checks of their weights.
func TestVerifyCoversNoMomentsOfNetworks(t *testing.T) {
	dir := clinic(t, 200)
	var m, of map[string]any
	must.Do(t, errors.Join(json.Unmarshal(verifiable(t, dir, "moments", "--algorithm moments"), &m),
		json.Unmarshal(verifiable(t, dir, "network", "--model mlp --hidden 2 --steps 3"), &of)))
	problem, other := m["plan"].(map[string]any)["problem"].(map[string]any),
		of["plan"].(map[string]any)["problem"].(map[string]any)
	for _, key := range []string{"loss", "constants", "radius"} {
		problem[key] = other[key]
	}
	for _, key := range []string{"network", "loss", "weights"} {
		m[key] = of[key]
	}
	m["report"] = map[string]any{"guarantee": m["guarantee"]}
	if v := checker.Check(sealed(t, m)); v.Verdict != checker.NotCovered ||
		!strings.Contains(v.Why, "does not cover this format of model") {
		t.Errorf("%+v", v)
	}
}

// composed states what the events of a plan cost together, wherever a file states it.
func composed(m map[string]any) {
	plan, g := m["plan"].(map[string]any), m["guarantee"].(map[string]any)
	squares, pure := 0., 0.
	for _, r := range plan["releases"].([]any) {
		noise, s := r.(map[string]any)["noise"].(map[string]any),
			r.(map[string]any)["certificate"].(map[string]any)["sensitivity"].(float64)
		e := r.(map[string]any)["event"].(map[string]any)
		switch ratio := s / noise["scale"].(float64); {
		case noise["law"] != "Gaussian" && e["kind"] == "laplace":
			pure += e["sensitivity"].(float64) / noise["scale"].(float64)
		case noise["law"] != "Gaussian":
			pure += ratio
		case e["kind"] == "gaussian":
			squares += ratio * ratio * e["count"].(float64)
		default:
			squares += ratio * ratio
		}
	}
	budget := plan["budget"].(map[string]any)
	if pure > 0 {
		g["kind"], g["epsilon"], budget["delta"] = "epsilon-DP", pure*(1+1e-8), 0.
		delete(g, "delta")
		delete(g, "mu")
	} else {
		mu := math.Sqrt(squares) * (1 + 1e-9)
		low, high := 0., 10.
		for range 60 {
			if middle := (low + high) / 2; account.GDPDelta(middle, mu) > budget["delta"].(float64) {
				low = middle
			} else {
				high = middle
			}
		}
		g["mu"], g["epsilon"] = mu, high
	}
	budget["epsilon"] = g["epsilon"]
	for _, report := range []string{"report", "pairs_report"} {
		if m[report] != nil {
			m[report] = map[string]any{"guarantee": g}
		}
	}
}
