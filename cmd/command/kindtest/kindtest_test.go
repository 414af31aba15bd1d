//go:build unix

package kindtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/cmd/command"
	"dyad/engine"
	"dyad/privacy"
)

// sums is a kind of two releases: the sum of all features, and that of their directions from it on either side.
type sums struct {
	Sign   float64
	defect string
}

func (sums) Info() algorithms.Info {
	return algorithms.Info{Name: "sums", Title: "Release sums", Released: "two sums"}
}

func (k sums) Rows(s algorithms.KindShape) (rows algorithms.Releases, err error) {
	radius := 1.0
	if k.defect == "half of the certificate" {
		radius = 0.5
	}
	for _, name := range []string{"sum", "second sum"} {
		c, err := privacy.RecordSum{Radius: radius, Weight: 1, Error: 1e-9, Name: name}.Certify()
		if err != nil {
			return nil, err
		}
		rows = append(rows, algorithms.Release{Name: name, Coordinates: s.Features, Certificate: c})
	}
	return rows, nil
}

func (k sums) Exact(r *engine.Records, row int, released [][]float64) []float64 {
	x, sum := make([]float64, r.Dim()), make([]float64, r.Dim())
	for i := range r.Len() {
		r.Row(i, x)
		if k.defect == "a panic on equal records" && i == 0 && x[0] > 0.1 {
			panic("records")
		}
		sign := 1.0
		if row > 0 && x[0] < released[0][0] {
			sign = -1
		}
		if k.defect == "the last record counts twice" && i == r.Len()-1 {
			sign *= 2
		}
		for j, v := range x {
			sum[j] += sign * v
		}
	}
	return sum
}

func (sums) Figures(_ algorithms.KindShape, _ algorithms.Releases, released [][]float64) (f algorithms.Facts) {
	f.Line("sum", "%.3g", f.Add("sum", released[0][0]))
	return f
}

// kindDefect is the defect of the kind in a child that must fail.
const kindDefect = "DYAD_TEST_KIND_DEFECT"

func with() command.With {
	return command.With{Kinds: []algorithms.Kind{sums{defect: os.Getenv(kindDefect)}}}
}

func TestMain(m *testing.M) { Main(m, with()) }

// A kind is planned, charged, killed, compared, verified and attacked by being in With.
func TestKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	w := with()
	Check(t, w, Example{w.Kinds[0], []string{"--sign", "1"}})
}

// The suite finds kinds with a wrong certificate, at one place only, or with a run that ends by what its records are.
func TestDefectiveKindsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for defect, find := range map[string][]string{
		"half of the certificate":      {"sizes"},
		"the last record counts twice": {"sizes"},
		"a panic on equal records":     {"silence"},
	} {
		child := exec.CommandContext(t.Context(), exe, "-test.run=^TestKinds$/^sums_("+strings.Join(find, "|")+")$")
		child.Env = append(os.Environ(), kindDefect+"="+defect)
		out, err := child.CombinedOutput()
		for _, what := range find {
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestKinds/sums_"+what) {
				t.Errorf("%s: %s does not find it: %s", defect, what, out)
			}
		}
	}
}
