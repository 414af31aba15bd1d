package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

// linked writes records of two clusters along one of three columns, and must-link and cannot-link pairs of them.
func linked(t *testing.T, dir string, n int) (kind []int) {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	var records, pairs strings.Builder
	records.WriteString("id,a,b,c\n")
	pairs.WriteString("first,second,label\n")
	for i := range n {
		kind = append(kind, r.IntN(2))
		fmt.Fprintf(&records, "p%d,%.5f,%.5f,%.5f\n", i, 0.5*float64(kind[i])-0.25+0.05*r.NormFloat64(), 2*r.Float64()-1,
			2*r.Float64()-1)
	}
	for i := range n {
		label := "similar"
		if kind[i] != kind[(i+3)%n] {
			label = "dissimilar"
		}
		fmt.Fprintf(&pairs, "p%d,p%d,%s\n", i, (i+3)%n, label)
	}
	write(t, dir, "people.csv", records.String())
	write(t, dir, "pairs.csv", pairs.String())
	write(t, dir, "people.yaml",
		"data_id: people\ncsv: {header: true}\ncolumns:\n  - {name: id, role: id}\n  - {name: a, range: [-1, 1]}\n  - "+
			"{name: b, range: [-1, 1]}\n  - {name: c, range: [-1, 1]}\n")
	return kind
}

// TestConstraintsAreLabelledPairs: must-link and cannot-link pairs are a task of pairs train, in its default unit and in that of [Li20]; the
// model is that of similar and dissimilar pairs to the byte of its weights, and words that change places make another.
func TestConstraintsAreLabelledPairs(t *testing.T) {
	dir := t.TempDir()
	linked(t, dir, 60)
	text := must.Get(os.ReadFile(filepath.Join(dir, "pairs.csv")))(t)
	write(t, dir, "links.csv", strings.NewReplacer("dissimilar", "cannot-link", "similar",
		"must-link").Replace(string(text)))
	for _, unit := range []string{"individual", "group"} {
		weights := map[string]string{}
		for name, more := range map[string][]string{
			"pairs":   {"--pairs", "pairs.csv"},
			"links":   {"--pairs", "links.csv", "--label-values", "cannot-link,must-link"},
			"swapped": {"--pairs", "links.csv", "--label-values", "must-link,cannot-link"},
		} {
			args := append([]string{"pairs", "train", "--data", "people.csv", "--schema", "people.yaml", "--kappa", "2",
				"--epsilon", "50", "--unit", unit,
				"--batch", "20", "--seed", "1", "--public-data", "--out", unit + name + ".json"}, more...)
			mustRun(t, dir, args...)
			text := must.Get(os.ReadFile(filepath.Join(dir, unit+name+".json")))(t)
			var m struct {
				Weights json.RawMessage `json:"weights"`
			}
			if err := json.Unmarshal(text, &m); err != nil || len(m.Weights) == 0 {
				t.Fatalf("%v: the model has no weights", err)
			}
			weights[name] = string(m.Weights)
		}
		if weights["links"] != weights["pairs"] || weights["links"] == weights["swapped"] {
			t.Errorf("unit %s: links give the weights of pairs: %v, and of swapped words: %v", unit,
				weights["links"] == weights["pairs"], weights["links"] == weights["swapped"])
		}
	}
}

// The road from must-link and cannot-link pairs to clusters: a metric with a charge of its own, centres with
// theirs, both of one individual and added up; predict finds the clusters that the pairs know.
func TestClustersFromPairs(t *testing.T) {
	dir := t.TempDir()
	kind := linked(t, dir, 1500)
	mustRun(t, dir, "pairs", "train", "--data", "people.csv", "--schema", "people.yaml", "--pairs", "pairs.csv", "--kappa",
		"2", "--epsilon", "2", "--method", "moments", "--rows", "1", "--out", "links.json")
	cluster := []string{"cluster", "-k", "2", "--schema", "people.yaml", "--metric", "links.json",
		"--epsilon", "2", "--json"}
	plan := decoded[struct {
		Clusters, Dimensions int
		Guarantee            struct{ Epsilon float64 }
	}](t, dir, append(cluster, "--plan", "-n", "1500")...)
	r := decoded[clusterResult](t, dir, append(cluster, "--data", "people.csv", "--out", "c.json")...)
	if plan.Clusters != 2 || plan.Dimensions != 1 || plan.Guarantee.Epsilon != r.Guarantee.Epsilon ||
		r.Guarantee.Unit != "one individual" || r.Records != 1500 || len(r.Counts) != 2 {
		t.Errorf("planned %+v, and was %+v", plan, r)
	}
	if s := r.Spent; s == nil || s.Runs != 2 || s.Epsilon == nil || !(*s.Epsilon > 2 && *s.Epsilon < 4) {
		t.Errorf("spent in all: %+v, want the charges of metric and centres", s)
	}
	found := decoded[predictResult](t, dir, "predict", "c.json", "--data", "people.csv", "--json")
	if len(found.Clusters) != 1500 || len(found.IDs) != 1500 {
		t.Fatalf("%+v", found)
	}
	agree := 0
	for i, c := range found.Clusters {
		if c-1 == kind[i] {
			agree++
		}
	}
	if agree = max(agree, 1500-agree); agree < 1450 {
		t.Errorf("%d of 1500 records are in the cluster of their kind", agree)
	}
	for _, name := range []string{"p.csv", "p.npy"} {
		ran(t, dir, "predict", "c.json", "--data", "people.csv", "--out",
			name).exits(exitOK).prints("1500 records written").makes(name)
	}
	ends(t, dir, exitInput, "use dyad predict", "evaluate", "c.json", "--data", "people.csv", "--epsilon", "1")
	// Records as they are encoded, and pure epsilon.
	ran(t, dir, "cluster", "-k", "3", "--data", "people.csv", "--schema", "people.yaml", "--delta", "0", "--clip", "0.8",
		"--rounds", "2", "--out", "pure.json", "-v").exits(exitOK).prints("K-norm", "norm at most 0.8")
}

// Whatever is wrong is said before the charge, with what to do.
func TestClustersThatAreRefused(t *testing.T) {
	dir := clinic(t, 60)
	people(t, dir)
	linked(t, dir, 60)
	write(t, dir, "visits.yaml",
		"data_id: visits\ncsv: {header: true}\ncolumns:\n  - {name: id, role: person}\n  - {name: a, range: [-1, 1]}\nids: "+
			"public\nmax_rows_per_person: 3\n")
	mustRun(t, dir, "train", "--data", "patients.csv", "--schema", "patients.yaml", "--out", "scores.json",
		"--ledger", "l.jsonl")
	mustRun(t, dir, "pairs", "train", "--data", "people.csv", "--schema", "people.yaml", "--pairs", "pairs.csv", "--kappa",
		"2", "--out", "links.json", "--ledger", "l.jsonl")
	write(t, dir, "alike.csv", "id,a,b,c\np1,0,0,0\nP1,0,0,0\n")
	people := []string{"--data", "people.csv", "--schema", "people.yaml"}
	for want, args := range map[string][]string{
		"missing flags":                        {"--data", "people.csv", "--schema", "people.yaml"},
		"--data and --plan exclude each other": append([]string{"-k", "2", "--plan"}, people...),
		"-n is for --plan":                     append([]string{"-k", "2", "-n", "60"}, people...),
		"missing flags: --data=FILE or --plan": {"-k", "2", "--schema", "people.yaml"},
		"protects only single rows":            {"-k", "2", "--data", "people.csv", "--schema", "visits.yaml"},
		"clusters need a metric": {"-k", "2", "--data", "patients.csv", "--schema", "patients.yaml", "--metric",
			"scores.json"},
		"257 clusters": append([]string{"-k", "257"}, people...),
		"1001 rounds":  append([]string{"-k", "2", "--rounds", "1001"}, people...),
		"is not in the ledger": append([]string{"-k", "2", "--metric", "links.json", "--ledger",
			"other.jsonl"}, people...),
		"want a number above 0": append([]string{"-k", "2", "--clip", "-1"}, people...),
		"unknown flag --device": append([]string{"-k", "2", "--device", "cuda:0"}, people...),
		"--look-alike-ids allow": {"-k", "2", "--metric", "links.json", "--ledger", "l.jsonl", "--data",
			"alike.csv", "--schema", "people.yaml"},
		"cannot read the model": append([]string{"-k", "2", "--metric", "absent.json"}, people...),
	} {
		ran(t, dir, append([]string{"cluster", "--out", "c.json"}, args...)...).exits(exitInput).says(want).without("c.json")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "l.jsonl")); err != nil || strings.Contains(string(text), "k-means") {
		t.Errorf("a refused run was charged, or %v", err)
	}
	// Files that were changed or cut short are refused, too.
	mustRun(t, dir, append([]string{"cluster", "-k", "2", "--out", "c.json"}, people...)...)
	text := must.Get(os.ReadFile(filepath.Join(dir, "c.json")))(t)
	write(t, dir, "changed.json", strings.Replace(string(text), `"radius": 1`, `"radius": 2`, 1))
	write(t, dir, "cut.json", string(text[:len(text)/2]))
	for _, name := range []string{"changed.json", "cut.json"} {
		ran(t, dir, "predict", name, "--data", "people.csv").exits(exitInput).printsOnly("")
	}
}

// A pack gives the clusters of the file that it was made of.
func TestClustersOfAPack(t *testing.T) {
	dir := clinic(t, 200)
	mustRun(t, dir, "data", "pack", "patients.csv", "--schema", "patients.yaml", "-o", "p.dyadpack")
	var counts []string
	for _, file := range []string{"patients.csv", "p.dyadpack"} {
		r := decoded[clusterResult](t, dir, "cluster", "-k", "2", "--data", file, "--schema", "patients.yaml", "--epsilon",
			"5", "--seed", "3", "--force", "--json")
		counts = append(counts, fmt.Sprint(r.Counts, r.Noise))
	}
	if counts[0] != counts[1] {
		t.Errorf("clusters of %s, and from a pack of %s", counts[0], counts[1])
	}
}

// A file of clusters of the current version assigns records as it did when it was written.
func TestOldClustersAreRead(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.FromSlash("testdata/formats/clusters-1.json")))(t)
	dir := t.TempDir()
	write(t, dir, "clusters-1.json", string(text))
	write(t, dir, "new.csv", "age,dose,out\n20,1,no\n50,5,yes\n80,9,yes\n")
	ran(t, dir, "predict", "clusters-1.json", "--data", "new.csv").exits(exitOK).printsOnly("row,cluster\n1,2\n2,2\n3,1\n")
}
