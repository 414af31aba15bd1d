//go:build linux

package command

import (
	"fmt"
	"strings"
	"testing"

	"dyad/internal/crash"
)

// A process that runs out of memory can only die, so what would not fit is refused before the charge (exitInput), by the limit of the
// process (ulimit -v) as by that of the machine. With the memory the same run goes on.
func TestMemoryIsRefusedBeforeTheCharge(t *testing.T) {
	f := newFixture(t)
	const d = 5000 // a metric of 12,502,500 parameters
	var data strings.Builder
	for i := range 40 {
		fmt.Fprintf(&data, "%d %d:1 %d:0.5\n", 2*(i%2)-1, 1+i, 1+d-i-1)
	}
	f.put(t, map[string]string{"in/wide.svm": data.String(), "in/wide.yaml": fmt.Sprintf("data_id: clinic\nformat: libsvm\nfeatures: %d\nrange: [0, 1]\ncolumns: [{name: y, role: label, positive: 1, negative: -1}]\n", d)})
	args := []string{"train", "--data", f.in("in/wide.svm"), "--schema", f.in("in/wide.yaml"), "--task", "metric", "--algorithm", "gradient-perturbation", "--steps", "1", "--out", f.in("out/wide.json"), "--ledger", f.in("ledger/ledger.jsonl")}
	e := f.start(t, crash.Spec{Args: args, Stage: "start", Memory: 2500 << 20}).End()
	if _, charges, _ := f.attacked(t); e.Code == exitInput && charges == 0 && strings.Contains(e.Stderr, "of memory, but only") {
		return
	}
	t.Errorf("exit %d: %s", e.Code, e.Stderr)
}
