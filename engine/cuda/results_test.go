package cuda

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const results = "../../bench/results/gpu"

// staleResult says why a result is not one of the embedded PTX, or returns "".
func staleResult(text []byte, embedded map[string]string) string {
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return err.Error()
	}
	switch {
	case !maps.Equal(r.PTX, embedded):
		return "it is of other PTX than is embedded; measure again"
	case len(r.Measurements) == 0 || r.Device.Name == "":
		return "it holds no measurement or names no device"
	}
	return ""
}

// TestResultsAreCurrent: committed results of a GPU, if any, and the report of ptxas are
// of the embedded PTX.
func TestResultsAreCurrent(t *testing.T) {
	embedded := embeddedPTX()
	files, err := filepath.Glob(filepath.Join(results, "gpu-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if why := staleResult(text, embedded); why != "" {
			t.Errorf("%s: %s", f, why)
		}
	}
	if len(files) == 0 {
		t.Log("no results of a GPU are committed: nothing has run on one")
	}
	text, err := os.ReadFile(filepath.Join(results, "ptxas.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, hash := range embedded {
		if !strings.Contains(string(text), "\n"+name+".ptx as embedded, "+targets(name)[0]+", sha256 "+hash+"\n") {
			t.Errorf("bench/results/gpu/ptxas.txt is not of the embedded %s.ptx; run TestAssemble with DYAD_PTXAS_OUT", name)
		}
	}
}

// TestStaleResultsAreFound is its control.
func TestStaleResultsAreFound(t *testing.T) {
	embedded := map[string]string{"score": "abc"}
	good := `{"ptx_sha256": {"score": "abc"}, "device": {"Name": "GPU"}, "measurements": [{"n": 1}]}`
	if why := staleResult([]byte(good), embedded); why != "" {
		t.Error(why)
	}
	for _, bad := range []string{strings.Replace(good, "abc", "abd", 1), strings.Replace(good, `{"n": 1}`, "", 1), "{"} {
		if staleResult([]byte(bad), embedded) == "" {
			t.Errorf("accepted: %s", bad)
		}
	}
}
