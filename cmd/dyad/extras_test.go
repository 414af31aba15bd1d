package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad"
	"dyad/docs/checker"
	"dyad/internal/must"
)

const network = `input: [2, 2, 3]
layers:
  - convolution: {channels: 2, size: 2}
  - activation: tanh
  - pooling: {kind: mean, size: 1}
  - dense: 2
  - activation: silu
`

// folder has records of 12 features, private and public, and the file of a network, and is the current one.
func folder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	says(t, 0, "", "data synth r.csv --schema public.yaml -n 60")
	schema := must.Get(os.ReadFile("public.yaml"))(t)
	write(t, "s.yaml", strings.Replace(string(schema), "public: true", "public: false", 1))
	write(t, "net.yaml", network)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
}

// says runs a line, which must end with a code and say something.
func says(t *testing.T, code int, want, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	got := extras.Run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errs)
	if all := out.String() + errs.String(); got != code || !strings.Contains(all, want) {
		t.Errorf("dyad %s: exit %d, want %d and %q in %s", line, got, code, want, all)
	}
	return out.String()
}

// A network of a file is planned, charged, trained, verified, started from, scored, evaluated, attacked, clustered by and reported like a
// built-in one; its model is read without the file, and what it cannot do is refused with the reason before a charge.
func TestNetworksOfFiles(t *testing.T) {
	folder(t)
	const private = " --data r.csv --schema s.yaml --model net.yaml --steps 2 --ledger l.jsonl"
	says(t, 0, "layers 12 convolution 2x2 tanh pooling dense 2 silu output 1",
		"plan --schema s.yaml -n 60 --model net.yaml --epsilon 2")
	if out := says(t, 0, `"epsilon"`, "train --epsilon 2 --out m.json --json"+private); !strings.Contains(out, `"model"`) {
		t.Error(out)
	}
	says(t, 0, "the start is a model of data", "train --epsilon 2 --init m.json --out second.json"+private)
	says(t, 0, "model", "train --algorithm subsampled-descent --batch-records 20 --out batches.json"+private)
	for _, how := range []string{"cosine", "distance", "contrastive"} {
		says(t, 0, "model", "train --task metric --dim 2 --similarity "+how+" --out "+how+".json"+private)
	}
	must.Do(t, os.Remove("net.yaml")) // a model file holds the description
	for name, want := range map[string]string{"m": "", "second": "", "cosine": "", "distance": "", "contrastive": "",
		"batches": checker.NotCovered} {
		if want == "" {
			says(t, 0, "with 3.11", "verify "+name+".json --ledger l.jsonl")
		} else {
			says(t, 1, want, "verify "+name+".json")
		}
	}
	says(t, 0, "row,score", "predict m.json --data r.csv")
	says(t, 0, "mapped to 2 dimensions", "transform cosine.json --data r.csv --out t.csv")
	says(t, 0, "AUC", "evaluate m.json --data r.csv --epsilon 1 --ledger l.jsonl")
	says(t, 0, "3-NN", "evaluate exact cosine.json --data r.csv --neighbours r.csv --public-data")
	says(t, 0, "threshold", "threshold m.json --data r.csv --epsilon 1 --ledger l.jsonl")
	says(t, 0, "clusters", "cluster --data r.csv --schema s.yaml --metric cosine.json -k 2 --ledger l.jsonl --out c.json")
	says(t, 0, "cluster", "predict c.json --data r.csv")
	says(t, 0, "", "report m.json -o page.html")
	says(t, 0, "export", "export m.json --onnx -o m.onnx")
	says(t, 0, "mean loss", "lab influence m.json --data r.csv --public-data --l2 1")
	write(t, "net.yaml", network)
	says(t, 0, "audited", "lab audit gradient-perturbation --model net.yaml -d 12 -n 8 --steps 2 --step-size 0.1 --runs 60")
	charges := says(t, 0, "", "ledger show --ledger l.jsonl")
	write(t, "wrong.yaml", "layers:\n  - dence: 3\n")
	write(t, "tan.yaml", "layers:\n  - activation: tan\n")
	for line, want := range map[string]string{
		"export m.json --python": "export it as ONNX",
		"train --out x.json --data r.csv --schema s.yaml --ledger l.jsonl --model wrong.yaml":     "dyad: wrong.yaml: line 2, position 5: unknown field \"dence\"; did you mean dense?",
		"plan -n 60 -d 12 --model tan.yaml":                                                       "dyad: tan.yaml: layer 1 (activation) of an input of shape [12]: \"tan\" is unknown",
		"train --out x.json --data r.csv --schema s.yaml --ledger l.jsonl --model away.yaml":      "cannot read the network",
		"train --out x.json --data r.csv --schema s.yaml --ledger l.jsonl --model perceptron":     "want linear, mlp, or FILE.yaml",
		"train --out x.json --data r.csv --schema s.yaml --ledger l.jsonl --model linear --dim 2": "--dim is for --model mlp or --model FILE",
		"train --out x.json --init cosine.json" + private:                                         "must be a network with the same features",
		"train --out x.json --hidden 3" + private:                                                 "--hidden is for --model mlp",
		"train --out x.json --delta 0" + private:                                                  "needs delta > 0",
		"train --out x.json --algorithm dpgdsc" + private:                                         "does not train networks",
		"train --out x.json --task metric --precision fp32" +
			private: "a network takes no precision; leave --precision out",
		"pairs plan -n 60 -d 12 --density 2 --degree-cap 4 --loss infonce --model net.yaml --delta 0": "delta > 0",
		"pairs plan -n 60 -d 12 --tuple 4 --loss npair --model net.yaml --hidden 3":                   "--hidden is for --model mlp",
		"pairs plan -n 60 -d 12 --density 2 --degree-cap 4 --model net.yaml":                          "use --tuple or --loss infonce",
		"plan -n 60 -d 5 --model net.yaml":                                                            "takes 12 features, but the records have 5",
		"local simulate -n 2000 --model net.yaml":                                                     "--model",
		"search --models m.json,second.json --data r.csv --schema s.yaml --ledger l.jsonl -o b.json":  "linear models",
	} {
		says(t, 64, want, line)
	}
	if after := says(t, 0, "", "ledger show --ledger l.jsonl"); after != charges {
		t.Errorf("a refusal was charged: %s, before %s", after, charges)
	}
}

// A person with several rows is the unit of a network of a file: planned, charged, verified, scored, evaluated and attacked.
func TestNetworksOfFilesProtectPersons(t *testing.T) {
	folder(t)
	rows := must.Get(os.ReadFile("r.csv"))(t)
	var visits strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(string(rows)), "\n") {
		fmt.Fprintf(&visits, "%s,%s\n", line, cmp.Or(strings.Repeat("who", max(0, 1-i)), fmt.Sprint("p", (i-1)/3)))
	}
	schema := must.Get(os.ReadFile("s.yaml"))(t)
	write(t, "visits.csv", visits.String())
	write(t, "v.yaml", string(schema)+"  - {name: who, role: person}\nids: public\n")
	const private = " --data visits.csv --schema v.yaml --model net.yaml --steps 2 --ledger l.jsonl"
	says(t, 0, "for one person", "plan --schema v.yaml -n 20 --model net.yaml --epsilon 2")
	says(t, 0, "from 20 persons", "train --epsilon 2 --out m.json"+private)
	says(t, 0, "for one person", "train --task metric --dim 2 --epsilon 2 --out z.json"+private)
	says(t, 0, "3.7 with 3.11 for persons", "verify m.json --ledger l.jsonl")
	says(t, 0, "3.7 with 3.11 for persons", "verify z.json --ledger l.jsonl")
	says(t, 0, "row,score", "predict m.json --data visits.csv")
	says(t, 0, "of 20 persons", "evaluate m.json --data visits.csv --epsilon 1 --ledger l.jsonl")
	says(t, 0, "export", "export m.json --onnx -o m.onnx")
	says(t, 0, "all rows of a person",
		"lab audit gradient-perturbation --model net.yaml -d 12 -n 8 --person-rows 2 --steps 2 --step-size 0.1 --runs 60")
	says(t, 64, "role: person",
		"pairs train --tuple 4 --loss npair --model net.yaml --data visits.csv --schema v.yaml --ledger l.jsonl --out x.json")
}

// Tuples and softmax losses of batches train a network of a file as they train a built-in one: planned without records, charged, verified, started from, mapped by and attacked.
func TestTuplesOfNetworksOfFiles(t *testing.T) {
	folder(t)
	const tuples = " --tuple 4 --loss npair --model net.yaml --rows 2 --epochs 2"
	const private = " --data r.csv --schema s.yaml --ledger l.jsonl" + tuples
	says(t, 0, "layers 12 convolution 2x2 tanh pooling dense 2 silu output 2",
		"pairs plan -n 60 --schema s.yaml --epsilon 2"+tuples)
	says(t, 0, "epsilon = 2", "pairs train --epsilon 2 --out m.json"+private)
	says(t, 0, "the start is a model of data", "pairs train --epsilon 1 --init m.json --out second.json"+private)
	says(t, 0, "section 9.8", "verify m.json --ledger l.jsonl")
	says(t, 0, "mapped to 2 dimensions", "transform m.json --data r.csv --out t.csv")
	says(t, 0, "export", "export m.json --onnx -o m.onnx")
	says(t, 0, "not refuted", "lab audit pairs -n 8 -d 12 --epsilon 4 --runs 100"+tuples)
	const batches = " --loss infonce --model net.yaml --rows 2 --epochs 2"
	says(t, 0, "poisson", "pairs plan -n 60 -d 12 --density 1 --degree-cap 4 --verbose"+batches)
	says(t, 0, "epsilon = 2",
		"pairs train --density 1 --degree-cap 4 --epsilon 2 --out b.json --data r.csv --schema s.yaml --ledger l.jsonl"+
			batches)
	says(t, 0, "mapped to 2 dimensions", "transform b.json --data r.csv --out t.csv --force")
	says(t, 0, "not refuted", "lab audit pairs -n 12 -d 12 --kappa 1 --pairs 6 --batch 6 --epsilon 4 --runs 100"+batches)
}

// Whoever reads a model without Gorgonia scores as the program does, and does not train on it.
func TestModelsOfFilesAreReadByTheLibrary(t *testing.T) {
	folder(t)
	says(t, 0, "model", "train --data r.csv --schema public.yaml --model net.yaml --steps 2 --out m.json")
	scores := says(t, 0, "row,score", "predict m.json --data r.csv")
	m := must.Get(dyad.Load("m.json"))(t)
	d := must.Get(m.Open("r.csv"))(t)
	want := "row,score\n"
	for i, score := range must.Get(m.Score(d.Records))(t) {
		want += fmt.Sprintf("%d,%v\n", i+1, score)
	}
	if scores != want || strings.Count(want, "\n") != 61 {
		t.Errorf("the program scores %s, the library %s", scores, want)
	}
	o := dyad.Options{Epsilon: 1, Network: &dyad.Network{}}
	must.Do(t, o.Network.Read("net.yaml"))
	must.Fail(dyad.Plan(d.Shape(), o))(t, "autodiff/gorgonia.NewLayers", "a training without gradients")
}
