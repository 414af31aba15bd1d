package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/privacy"
)

const modelFormat = "dyad-model/1"

// model is the content of a model file: everything that predict needs, and the
// whole guarantee.
type model struct {
	Format   string            `json:"format"`
	Version  string            `json:"dyad_version"`
	Created  time.Time         `json:"created"`
	Task     string            `json:"task"`
	Loss     *lossSpec         `json:"loss,omitempty"` // without it: logistic
	DataID   string            `json:"data_id"`
	Run      string            `json:"run,omitempty"` // in the ledger
	Features []string          `json:"features"`      // of the weights
	Weights  []float64         `json:"weights"`       // for encoded features; of a metric: engine.Symmetric coordinates
	Encoder  *dataset.Encoder  `json:"encoder"`       // raw columns to features
	Report   algorithms.Report `json:"report"`

	// Pairs is the report of a run on labelled pairs; Report then has the fields
	// that both share.
	Pairs *pairs.Report `json:"pairs_report,omitempty"`
	// Tuples is that of a run on records with classes.
	Tuples *pairs.TupleReport `json:"tuples_report,omitempty"`
	// PairLoss is the loss of a metric of either kind.
	PairLoss *pairLoss `json:"pair_loss,omitempty"`

	// Guarantee is the report's, with what the run added to it.
	Guarantee privacy.Guarantee `json:"guarantee"`
}

func (m *model) text() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// pairLoss is the loss that the model was trained with.
func (m *model) pairLoss() (engine.Loss, error) {
	if m.Loss == nil {
		return lossSpec{}.build(m.Task)
	}
	return m.Loss.build(m.Task)
}

// readModel reads and checks a model file.
func readModel(path string) (*model, error) {
	m := &model{}
	var missing *fs.PathError
	if err := readJSON(path, maxModelBytes, m); errors.As(err, &missing) {
		return nil, asInput(fmt.Errorf("cannot read the model: %w", err))
	} else if err != nil {
		return nil, badInput("%s is not a model of this program, or was cut short: %v", path, err)
	}
	if m.Format != modelFormat {
		return nil, badInput("%s has format %q, this program reads %q", path, m.Format, modelFormat)
	}
	loss, err := m.pairLoss()
	if err != nil {
		return nil, badInput("%s: the loss of the model: %v", path, err)
	}
	if m.Encoder == nil || len(m.Weights) != loss.ParamDim(m.Encoder.Dim()) {
		return nil, badInput("%s is damaged: it needs an encoder and as many weights as its features ask for", path)
	}
	for i, w := range m.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return nil, badInput("%s is damaged: weight %d is not finite", path, i+1)
		}
	}
	return m, nil
}
