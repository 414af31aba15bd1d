package command

import (
	"dyad/algorithms"
	"dyad/algorithms/curve"
	"dyad/internal/experiment"
)

// curveResult is the JSON output of curve.
type curveResult struct {
	Data     string               `json:"data"`
	CSV      string               `json:"csv"`
	Summary  string               `json:"summary_csv"`
	Figures  []string             `json:"figures"`
	Means    []experiment.Summary `json:"means"`
	Failures int                  `json:"runs_without_value"`
}

// privateCurveResult is the JSON output of a curve of private data: the content of its file, the total spending, and
// the files drawn from it.
type privateCurveResult struct {
	runOutcome
	Report  algorithms.Report `json:"report"`
	Rows    []curve.Row       `json:"rows"`
	Out     string            `json:"out"`
	CSV     string            `json:"csv"`
	Figures []string          `json:"figures"`
}
