package command

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// realData is where the real files are, if they are at hand.
func realData(t *testing.T) string {
	t.Helper()
	dir := must.Get(filepath.Abs("../../../shared/data"))(t)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("real data not present")
	}
	return dir
}

// The ready schemas read the real files: rows and classes, by the program.
func TestInspectRealData(t *testing.T) {
	data := realData(t)
	schemas := must.Get(filepath.Abs("../../bench/schemas"))(t)
	for _, c := range []struct {
		schema, file      string
		rows, positive, d int
	}{
		{"pima", "pima/pima-indians-diabetes.data", 768, 268, 8},
		{"pima-libsvm", "pima/diabetes.libsvm", 768, 268, 8},
		{"debrecen", "debrecen/messidor_features.arff", 1151, 611, 19},
		{"hepatitis", "hepatitis/hepatitis.data", 155, 32, 19},
		{"wdbc", "wdbc/wdbc.data", 569, 212, 30},
		{"a7a", "a7a/a7a.gz", 16100, 3918, 123},
		{"a7a", "a7a/a7a.t.gz", 16461, 3923, 123},
		{"adult", "adult/adult.data.gz", 32561, 7841, 90},
		{"adult", "adult/adult.test.gz", 16281, 3846, 90},
		{"bank", "bank/bank-full.csv.gz", 45211, 5289, 47},
		{"mnist38", "mnist38/mnist38-train-images-idx3-ubyte.gz", 11982, 5851, 784},
		{"mnist38", "mnist38/mnist38-t10k-images-idx3-ubyte.gz", 1984, 974, 784},
	} {
		if testing.Short() && c.rows > 2000 || !sizes.Full() && c.rows > 20000 { // TestDocsRunOnRealData reads a part of them
			continue
		}
		m := decoded[struct {
			Warning                              string
			Rows, Positives, Negatives, Features int
		}](t, t.TempDir(), "data", "inspect", filepath.Join(data, c.file), "--schema", filepath.Join(schemas, c.schema+".yaml"), "--json")
		if m.Rows != c.rows || m.Positives != c.positive || m.Negatives != c.rows-c.positive || m.Features != c.d || m.Warning == "" {
			t.Errorf("%s: got %+v, want %d rows, %d positive, %d features", c.file, m, c.rows, c.positive, c.d)
		}
	}
}

// inspect warns loudly unless the data are public.
func TestInspectWarns(t *testing.T) {
	dir := clinic(t, 50)
	inspect := []string{"data", "inspect", "patients.csv", "--schema", "patients.yaml"}
	ran(t, dir, inspect...).prints("!!! Computed from PRIVATE data", "50 rows", "positive", "bmi", "never ", "smoker")
	ran(t, dir, append(inspect, "--public-data")...).prints("50 rows").lacks("PRIVATE")
}

// convert keeps the records: a model scores the new file like the old one.
func TestConvertRoundTrip(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 300)
	run := func(args ...string) {
		t.Helper()
		mustRun(t, dir, args...)
	}
	scores := func(data, schema string) string {
		t.Helper()
		model := strings.TrimSuffix(schema, ".yaml") + ".json"
		run("train", "--data", data, "--schema", schema, "--mode", "nonprivate", "--public-data", "--out", model)
		return mustRun(t, dir, "predict", model, "--data", data)
	}
	want := scores("patients.csv", "patients.yaml")
	for _, out := range []string{"p.parquet", "q.csv", "p.csv.gz"} {
		run("data", "convert", "patients.csv", out, "--schema", "patients.yaml", "--out-schema", out+".yaml")
		must.Equal(t, scores(out, out+".yaml"), want, "%s: the scores differ", out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".dyad-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDataErrors(t *testing.T) {
	dir := clinic(t, 20)
	write(t, dir, "bad.csv", "age\n1\n")
	write(t, dir, "exists.csv", "precious")
	convert := func(more ...string) []string {
		return append([]string{"data", "convert", "--schema", "patients.yaml"}, more...)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{convert("patients.csv", "exists.csv"), exitInput, "--force"},
		{convert("patients.csv", "new.csv", "--out-schema", "exists.csv"), exitInput, "its ending means CSV"},
		{convert("patients.csv", "new"), exitInput, "--format"},
		{convert("patients.csv", "new.txt", "--format", "xml"), exitInput, "xml"},
		{convert("patients.csv", "new.jsonl"), exitInput, "type: dyad data convert patients.csv new.parquet --schema patients.yaml"},
		{convert("patients.csv", "new.parquet.gz"), exitInput, ".gz"},
		{convert("patients.csv", "new.npz"), exitInput, "CSV and Parquet, not npz"},
		{convert("patients.csv", "new.csv", "--encoded", "--out-schema", "s.yaml"), exitInput, "--out-schema"},
		{convert("bad.csv", "new.csv"), exitInput, "bad.csv"},
		{convert("absent.csv", "new.csv"), exitInput, "absent.csv"},
		{convert("patients.csv", "no/folder.csv"), exitInput, "no/folder"},
		{[]string{"data", "convert", "patients.csv", "new.csv"}, exitInput, "--schema"},
		{[]string{"data", "inspect", "bad.csv", "--schema", "patients.yaml"}, exitInput, "bad.csv"},
		{[]string{"data", "inspect", "patients.csv", "--schema", "absent.yaml"}, exitInput, "absent.yaml"},
		{[]string{"data", "fetch", "nothing"}, exitInput, "data list"},
		{[]string{"data", "fetch", "ipums"}, exitInput, "account"},
		{[]string{"data", "verify", "nothing"}, exitInput, "neither"},
		{[]string{"data", "verify", "wdbc", "--dir", "cache"}, exitInput, "data fetch wdbc"},
		{[]string{"data", "schema", "absent.csv"}, exitInput, "absent.csv"},
	} {
		ran(t, dir, c.args...).exits(c.code).warns(c.want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "exists.csv")); err != nil || string(text) != "precious" {
		t.Errorf("an existing file became %q, %v", text, err)
	}
	if made, _ := filepath.Glob(filepath.Join(dir, "new*")); len(made) != 0 {
		t.Errorf("refused commands wrote %v", made)
	}
	mustRun(t, dir, convert("patients.csv", "exists.csv", "--force")...)
}

func TestFetchAndVerify(t *testing.T) {
	dir := t.TempDir()
	content := map[string]string{"/wdbc.data": "not the real file"}
	for _, name := range []string{"train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"} {
		content["/"+name+"-ubyte.gz"] = "any"
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := content[r.URL.Path]; ok {
			_, _ = w.Write([]byte(text))
		} else {
			http.NotFound(w, r)
		}
	}))
	fetch := func(name, mirror string) (int, string, string) {
		return dyad(t, dir, "data", "fetch", name, "--dir", "cache", "--mirror", mirror)
	}
	if code, _, errs := fetch("wdbc", s.URL); code != exitFailure || !strings.Contains(errs, "no file was kept") {
		t.Errorf("wrong content: exit %d: %s", code, errs)
	}
	if code, _, errs := fetch("adult", s.URL); code != exitFailure || !strings.Contains(errs, "404") {
		t.Errorf("404: exit %d: %s", code, errs)
	}
	code, out, errs := fetch("mnist38", s.URL)
	if code != exitOK || strings.Count(out, "NOT CHECKED") != 4 || !strings.Contains(out, "mnist38.yaml") {
		t.Errorf("unknown hash: exit %d: %s%s", code, out, errs)
	}
	if code, out, errs = dyad(t, dir, "data", "verify", "--dir", "cache"); code != exitOK || strings.Count(out, "unknown") != 4 {
		t.Errorf("verify: exit %d: %s%s", code, out, errs)
	}
	s.Close()
	if code, _, errs = fetch("wdbc", s.URL); code != exitFailure || !strings.Contains(errs, "HTTPS_PROXY") || !strings.Contains(errs, "wdbc.data") {
		t.Errorf("offline: exit %d: %s", code, errs)
	}
	write(t, dir, "cache/mnist38/mnist38-t10k-labels-idx1-ubyte.gz", "changed")
	ran(t, dir, "data", "verify", "mnist38", "--dir", "cache").exits(exitFailure).prints("differs")
	write(t, dir, "other.csv", "1,2\n")
	ran(t, dir, "data", "verify", "other.csv").exits(exitFailure).prints("unknown")
}

// The real files pass, whatever they are called and however they are packed.
func TestVerifyRealData(t *testing.T) {
	data := realData(t)
	for file, is := range map[string]string{
		"wdbc/wdbc.data": "wdbc", "a7a/a7a.t.gz": "a7a", "bank/bank-full.csv.gz": "bank", "adult/adult.test.gz": "adult",
		"debrecen/messidor_features.arff": "debrecen", "hepatitis/hepatitis.data": "hepatitis", "pima/diabetes.libsvm": "pima",
		"mnist38/mnist38-t10k-images-idx3-ubyte.gz": "mnist38",
	} {
		ends(t, t.TempDir(), exitOK, "("+is+": ", "data", "verify", filepath.Join(data, file))
	}
}
