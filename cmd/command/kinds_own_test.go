//go:build unix

package command_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"dyad/cmd/command"
	"dyad/cmd/command/kindtest"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// A kind is planned, charged, killed, compared, verified and attacked by being in With.
func TestKinds(t *testing.T) {
	sizes.NotShort(t, "slow")
	w := command.KindsOfTests()
	kindtest.Check(t, w, kindtest.Example{Kind: w.Kinds[0], Flags: []string{"--sign", "1"}})
}

// The suite finds kinds with a wrong certificate, at one place only, or with a run that ends by what its records are.
func TestDefectiveKindsAreFound(t *testing.T) {
	sizes.NotShort(t, "slow")
	exe := must.Get(os.Executable())(t)
	for defect, find := range map[string][]string{
		"half of the certificate":      {"sizes"},
		"the last record counts twice": {"sizes"},
		"a panic on equal records":     {"silence"},
	} {
		child := exec.CommandContext(t.Context(), exe, "-test.run=^TestKinds$/^sums_("+strings.Join(find, "|")+")$")
		child.Env = append(os.Environ(), command.KindDefect+"="+defect)
		out, err := child.CombinedOutput()
		for _, what := range find {
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestKinds/sums_"+what) {
				t.Errorf("%s: %s does not find it: %s", defect, what, out)
			}
		}
	}
}
