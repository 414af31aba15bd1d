package command

import (
	"dyad/algorithms"
)

// searchResult is the JSON output of a search.
type searchResult struct {
	Task string `json:"task"`
	runOutcome
	Records int               `json:"records"`
	Heldout int               `json:"held_out_records,omitempty"`
	Command string            `json:"held_out_command,omitempty"` // command that evaluates the winner on held-out records
	Winner  string            `json:"winner"`
	Road    string            `json:"road"`
	AUC     *float64          `json:"released_auc,omitempty"` // released AUC on the training records
	Alone   float64           `json:"epsilon_of_training,omitempty"`
	Choice  float64           `json:"epsilon_of_choosing,omitempty"`
	Report  algorithms.Report `json:"report"`
}
