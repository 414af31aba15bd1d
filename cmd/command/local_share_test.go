package command

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"dyad/algorithms/local/serve"
	"dyad/internal/must"
)

// The split of a visit of prestige-participation: what the flag says, or the best one; the
// claim is the same, the report has both parts and their total, and a client that gets the
// protocol computes the same plan.
func TestResponseShare(t *testing.T) {
	best := 0.0
	for _, c := range []struct {
		share, says string
		norm        float64 // of a decoded message over that of the best split, from the formulas
	}{
		{"", "(0.620115) and, if it says yes, private sampling (1)", 1},
		{"0.2", "(0.2) and, if it says yes, private sampling (1)", 1},
		// z = 0.2 and e^-s = 2 e^-0.2 - 1
		{"0.8", "(0.8) and, if it says yes, private sampling (0.450", math.Tanh(0.5) / math.Tanh(-math.Log(2*math.Exp(-0.2)-1)/2)},
	} {
		args := []string{"--json", "local", "plan", "-n", "50", "-d", "4", "--method", "prestige-participation", "--epochs", "2"}
		if c.share != "" {
			args = append(args, "--response-share", c.share)
		}
		plan := decoded[localPlan](t, t.TempDir(), args...)
		why := plan.Guarantee.Derivation
		if plan.Guarantee.Epsilon != 2 || !strings.Contains(why, c.says) || !strings.Contains(why, "together 1-LDP") {
			t.Errorf("share %q: epsilon %v, %s, want %q", c.share, plan.Guarantee.Epsilon, why, c.says)
		}
		if c.share == "" {
			best = plan.EstimateNorm
		}
		if r := plan.EstimateNorm / best; math.Abs(r-c.norm) > 1e-6 {
			t.Errorf("share %q: a decoded message is %v times as long, want %v", c.share, r, c.norm)
		}
		wire := must.Get(json.Marshal(plan.Protocol))(t)
		var told serve.Protocol
		must.Do(t, json.Unmarshal(wire, &told))
		p, err := told.Plan()
		if err != nil || p.EstimateNorm != plan.EstimateNorm || p.Guarantee.Derivation != why {
			t.Errorf("share %q: the client computes %+v, %v", c.share, p, err)
		}
	}
}
