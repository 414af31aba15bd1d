package cuda

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyad/kernels"
)

const results = "../../bench/results/gpu"

// staleResult says why a result is not one of the embedded PTX, or returns "".
func staleResult(text []byte, embedded string) string {
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return err.Error()
	}
	switch {
	case r.PTX != embedded:
		return fmt.Sprintf("it is of the PTX %.12s..., the embedded one is %.12s...; measure again", r.PTX, embedded)
	case len(r.Measurements) == 0 || r.Device.Name == "":
		return "it holds no measurement or names no device"
	}
	return ""
}

// TestResultsAreCurrent: committed results of a GPU, if any, and the report of ptxas are
// of the embedded PTX.
func TestResultsAreCurrent(t *testing.T) {
	embedded := hashOf(kernels.ScorePTX)
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
	if !strings.Contains(string(text), "score.ptx as embedded, sm_90, sha256 "+embedded) {
		t.Error("bench/results/gpu/ptxas.txt is not of the embedded PTX; run TestAssemble with DYAD_PTXAS_OUT")
	}
}

// TestStaleResultsAreFound is its control.
func TestStaleResultsAreFound(t *testing.T) {
	good := `{"score_ptx_sha256": "abc", "device": {"Name": "GPU"}, "measurements": [{"n": 1}]}`
	if why := staleResult([]byte(good), "abc"); why != "" {
		t.Error(why)
	}
	for _, bad := range []string{strings.Replace(good, "abc", "abd", 1), strings.Replace(good, `{"n": 1}`, "", 1), "{"} {
		if staleResult([]byte(bad), "abc") == "" {
			t.Errorf("accepted: %s", bad)
		}
	}
}
