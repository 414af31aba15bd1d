package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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

// checkOut makes sure, before anything is charged, that a model can be written.
// It never is one of the inputs, not even with force.
func checkOut(path string, force bool, inputs ...string) error {
	if path == "" {
		return nil
	}
	for _, in := range inputs {
		if in != "" && sameFile(path, in) {
			return badInput("%s is an input of this command; name another file to write", path)
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return badInput("%s is a directory or a device; name a file to write", path)
	case err == nil && !force:
		return badInput("%s exists; choose another name, or --force to replace it", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return asInput(fmt.Errorf("cannot look at %s: %w", path, err))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".dyad-*")
	if err != nil {
		return badInput("cannot write to the folder of %s: %v", path, err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// write stores the model atomically. If that fails, it is written to a
// temporary file instead: a charged model is never lost. It calls at after the
// text is on disk ("model written") and after it has its name ("model renamed").
func (m *model) write(path string, at func(stage string)) (written string, err error) {
	text, err := m.text()
	if err != nil {
		return "", err
	}
	if err = replaceFile(path, text, 0o644, func() { at("model written") }); err == nil {
		at("model renamed")
		return path, nil
	}
	f, errTemp := os.CreateTemp("", "dyad-model-*.json")
	if errTemp != nil {
		return "", fmt.Errorf("cannot write %s or a temporary file: %w", path, errors.Join(err, errTemp))
	}
	_, errTemp = f.Write(text)
	if errTemp = errors.Join(errTemp, f.Sync(), f.Close()); errTemp != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("cannot write %s or a temporary file: %w", path, errors.Join(err, errTemp))
	}
	return f.Name(), nil
}

func (m *model) text() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// writeFile replaces path by text, readable by all.
func writeFile(path string, text []byte) error { return replaceFile(path, text, 0o644, func() {}) }

// replaceFile replaces path by text: written, synced, then renamed, durably.
func replaceFile(path string, text []byte, mode fs.FileMode, beforeRename func()) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".dyad-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Chmod(mode), f.Close()); err == nil {
		beforeRename()
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename durable where directories can be synced.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
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
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, asInput(fmt.Errorf("cannot read the model: %w", err))
	}
	m := &model{}
	if err := json.Unmarshal(text, m); err != nil {
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
