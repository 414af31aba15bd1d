package algorithms_test

import (
	"encoding/json"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/internal/must"
	"dyad/privacy"
)

// A report that was read from a file is written as it was, whatever the plan is, and its
// values are found by their keys.
func TestReportsSurviveJSON(t *testing.T) {
	nulls := 0
	b := privacy.Budget{Epsilon: 1, Delta: 1e-5}
	for _, a := range algorithms.Catalog() {
		l2 := 0.0
		if a.Info().NeedsL2 {
			l2 = 0.01
		}
		for _, loss := range []engine.Loss{attack.Loss(a.Info()), hinge(t)} {
			s := must.Get(algorithms.NewSpec(cpu.Backend{}, engine.Problem{N: 50, D: 3, Bounds: engine.UnitBounds(), Loss: loss, Radius: 0.1}, l2, b, a.Info().Modes[0]))(t)
			p, err := a.Plan(s)
			if err != nil {
				continue
			}
			written := must.Get(json.Marshal(p.Report()))(t)
			nulls += strings.Count(string(written), `"smoothness":null`)
			var read algorithms.Report
			must.Do(t, json.Unmarshal(written, &read))
			again, err := json.Marshal(read)
			if err != nil || string(again) != string(written) {
				t.Errorf("%s: %v: read back as\n%s\nwritten as\n%s", p.Algorithm, err, again, written)
			}
			for _, r := range []algorithms.Report{p.Report(), read} {
				if r.Number("records") != 50 || r.Word("algorithm") != p.Algorithm || r.Word("records") != "" || r.Number("no such key") != 0 || r.Value("no such key") != nil || len(r.Events) != len(p.Events()) {
					t.Errorf("%s: the values are not found: %v records", p.Algorithm, r.Number("records"))
				}
			}
			if text := p.Report().Text(); !strings.HasPrefix(text, "releases    name ") || !strings.Contains(text, "\n            "+p.Releases[0].Name+" ") || !strings.Contains(text, "\nalgorithm   "+p.Algorithm) || !strings.Contains(text, "\nguarantee   "+p.Guarantee.String()) {
				t.Errorf("%s: the text is\n%s", p.Algorithm, text)
			}
		}
	}
	if nulls == 0 {
		t.Error("no report had a null")
	}
	for _, bad := range []string{"[]", `"x"`, `{"events": 1}`, `{"guarantee": []}`} {
		must.ErrDo(t, json.Unmarshal([]byte(bad), new(algorithms.Report)), "%s was read as a report", bad)
	}
}

// hinge is not smooth: its reports have a null.
func hinge(t *testing.T) engine.Loss {
	t.Helper()
	phi := must.Get(engine.NewExpression("hinge", "max(0, 0.01 - u)", engine.ExpressionOptions{}))(t)
	return engine.Score{Of: phi}
}
