package dyad_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"dyad"
	"dyad/engine/dataset"
	"dyad/internal/must"
)

// trainPatients is the example of docs/library.md; TestReadmeShowsTheExample compares the two.
func trainPatients(ctx context.Context) error {
	data, err := dyad.Open("patients.csv", "patients.yaml")
	if err != nil {
		return err
	}
	plan, err := dyad.Plan(data.Shape(), dyad.Options{Epsilon: 1}) // fmt.Print(plan.Report().Text())
	if err != nil {
		return err
	}
	book, err := dyad.OpenLedger("ledger.jsonl")
	if err != nil {
		return err
	}
	_, err = plan.Run(ctx, data, dyad.Run{Ledger: book, Out: "model.json"})
	return err
}

func Example() {
	leave, err := clinic(200)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer leave()
	if err := trainPatients(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	model, err := dyad.Load("model.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	more, err := model.Open("patients.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := model.Score(more.Records)
	fmt.Println(model.Guarantee)
	fmt.Println(len(scores), err)
	// Output:
	// (1, 1e-05)-differentially private (0.268052-GDP) for one record (neighbours: same n, one record replaced, features and label); released: number of positives, sum of records (centre), signed sum and second moments, each with Gaussian noise
	// 200 <nil>
}

// clinic makes a folder with private synthetic records, and works there until leave.
func clinic(n int) (leave func(), err error) {
	dir, err := os.MkdirTemp("", "dyad")
	if err != nil {
		return nil, err
	}
	before, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	leave = func() { _ = errors.Join(os.Chdir(before), os.RemoveAll(dir)) }
	return leave, errors.Join(os.Chdir(dir), writeClinic("patients", n))
}

// writeClinic writes NAME.csv and NAME.yaml.
func writeClinic(name string, n int) error {
	f, err := os.Create(name + ".csv")
	if err != nil {
		return err
	}
	schema := strings.Replace(dataset.SyntheticClinicalYAML(), "public: true\n", "", 1)
	return errors.Join(dataset.WriteSyntheticClinical(f, n, 1), f.Close(), os.WriteFile(name+".yaml", []byte(schema), 0o600))
}

// docs/library.md shows the example as it is compiled and run, in at most 15 lines.
func TestReadmeShowsTheExample(t *testing.T) {
	readme := must.Get(os.ReadFile("docs/library.md"))(t)
	source := must.Get(os.ReadFile("example_test.go"))(t)
	_, code, _ := strings.Cut(string(source), "\nfunc trainPatients(ctx context.Context) error {\n")
	code, _, ok := strings.Cut(code, "\n}\n")
	if !ok {
		t.Fatal("the example is gone")
	}
	lines := strings.Split(code, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "\t")
	}
	if len(lines) > 15 {
		t.Errorf("the example has %d lines", len(lines))
	}
	if want := "```go\n" + strings.Join(lines, "\n") + "\n```\n"; !strings.Contains(string(readme), want) {
		t.Errorf("docs/library.md does not have\n%s", want)
	}
}
