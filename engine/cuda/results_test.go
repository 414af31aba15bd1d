package cuda

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/internal/must"
)

const results = "../../bench/results/gpu"

// staleResult says why a result is not one of the embedded PTX, or returns "".
func staleResult(text []byte, embedded map[string]string) string {
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return err.Error()
	}
	if len(r.Measurements) == 0 || r.Device.Name == "" {
		return "it holds no measurement or names no device"
	}
	for _, m := range r.Measurements {
		for _, name := range m.Programs {
			if r.PTX[name] != embedded[name] || embedded[name] == "" {
				return fmt.Sprintf("%s is of another %s.ptx than is embedded; measure again", m.Case, name)
			}
		}
		switch gpu := strings.HasPrefix(m.Device, "cuda:"); {
		case m.Failed != "":
			return m.Case + " failed: " + m.Failed
		case gpu && (len(m.Programs) == 0 || m.Against == "" || !(m.Error <= m.Limit)):
			return m.Case + " names no program, or its sum was not compared"
		}
	}
	return ""
}

// TestResultsAreCurrent: committed results of a GPU, if any, and the report of ptxas are
// of the embedded PTX.
func TestResultsAreCurrent(t *testing.T) {
	embedded := embeddedPTX()
	files := must.Get(filepath.Glob(filepath.Join(results, "gpu-*.json")))(t)
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		if why := staleResult(text, embedded); why != "" {
			t.Errorf("%s: %s", f, why)
		}
	}
	if len(files) == 0 {
		t.Log("no results of a GPU are committed: nothing has run on one")
	}
	text := must.Get(os.ReadFile(filepath.Join(results, "ptxas.txt")))(t)
	for name, hash := range embedded {
		name += ".ptx as embedded"
		if !strings.Contains(string(text), "\n"+name+", "+targets(name)[0]+", sha256 "+hash+"\n") {
			t.Errorf("bench/results/gpu/ptxas.txt is not of %s; run TestAssemble with DYAD_PTXAS_OUT", name)
		}
	}
	text = must.Get(os.ReadFile(filepath.Join(results, "sim.txt")))(t)
	if why := staleSim(string(text), embedded); why != "" {
		t.Errorf("bench/results/gpu/sim.txt %s; run .ci/sim with a simulator, or say in the file that it was not run (bench/gpu/README.md)", why)
	}
	for name, want := range map[string]string{"sass.csv": "", "predicted.csv": predictedRates(t)} {
		text := must.Get(os.ReadFile(filepath.Join(results, name)))(t)
		must.Equal(t, staleCounts(string(text), want, embedded), "", "bench/results/gpu/%s ...; run TestSASS with DYAD_SASS_OUT (bench/gpu/README.md)", name)
	}
}

// TestStaleResultsAreFound is its control.
func TestStaleResultsAreFound(t *testing.T) {
	embedded := map[string]string{"score": "abc"}
	for text, fine := range map[string]bool{"#\nran score.ptx, sha256 abc\n": true, "#\nnot run score.ptx, sha256 abc\n": true, "#\nran score.ptx, sha256 abd\n": false, "#\n": false} {
		if why := staleSim(text, embedded); (why == "") != fine {
			t.Errorf("%q: %q", text, why)
		}
	}
	good := `{"ptx_sha256": {"score": "abc", "metric": "old"}, "device": {"Name": "GPU"}, "measurements": [{"n": 1, "device": "cuda:0",
		"programs": ["score"], "compared_with": "the CPU", "relative_error": 1e-9, "limit": 1e-6}]}`
	if why := staleResult([]byte(good), embedded); why != "" {
		t.Error(why)
	}
	for _, edit := range [][2]string{
		{"abc", "abd"}, {`["score"]`, `["metric"]`}, {`["score"]`, "[]"}, {"the CPU", ""}, {"1e-9", "1e-5"}, {`"n": 1`, `"failed": "x"`}, {`"GPU"`, `""`}, {"{", ""},
	} {
		bad := strings.Replace(good, edit[0], edit[1], 1)
		if staleResult([]byte(bad), embedded) == "" {
			t.Errorf("accepted: %s", bad)
		}
	}
}
