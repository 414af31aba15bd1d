package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"dyad/privacy"
	"dyad/privacy/ledger"
)

// writeModel writes the model file if it is requested and something was released. The weights were released
// before and stay in the state until the run ends, so a crash loses nothing.
func (o *onlineRun) writeModel() error {
	last := o.stream.Last()
	if o.Out == "" || last == nil {
		return nil
	}
	m := model{
		Version: version, Created: o.a.began,
		Task: o.Task, DataID: o.DataID, Run: o.stream.Run(),
		Features: o.encoder.FeatureNames(), Weights: last.Weights, Encoder: o.encoder,
		Report: o.plan.Report(), Guarantee: o.stream.Guarantee(), Plan: o.stream.Record(),
	}
	if m.Guarantee.Warnings = nil; !o.public { // without the warnings of this attempt
		m.Guarantee.Warnings = o.plan.Guarantee.Warnings
	}
	if o.Average {
		m.Weights = last.Average
		m.Guarantee.Released += ofAverage
	}
	m.Report.Guarantee = m.Guarantee
	text, most, err := m.Size()
	if err != nil {
		return err
	}
	file, err := o.a.log().Keep(m.Run, text, most, filepath.Dir(o.out.Path))
	if err != nil {
		return fmt.Errorf("cannot write the model to %s, but the state file holds it; repeat with --resume: %w", o.Out,
			err)
	}
	out := *o.out
	out.Force = o.Force || o.Resume && o.ownModel()
	name, err := o.a.log().Rename(file, &out, m.Run)
	if name == "" {
		file.Remove()
		return fmt.Errorf("cannot write the model to %s, but the state file holds it; repeat with --resume: %w", o.Out,
			err)
	}
	o.a.note("dyad: the model of release %d is in %s", last.Number, name)
	return errors.Join(err, o.writePage(&m, name))
}

// writePage writes the page of the model if it is requested.
func (o *onlineRun) writePage(m *model, file string) (err error) {
	if o.page == nil {
		return nil
	}
	var l *ledger.Ledger
	if !o.public {
		if l, _, err = o.openExisting(ledger.Options{}); err != nil {
			return err
		}
	}
	return o.a.chargedPage(o.page, modelDocument(m, file), l, o.DataID)
}

// ownModel reports whether the model file exists and comes from an earlier attempt at this run. Public runs
// have no id; their models are recognised by the contents of their reports.
func (o *onlineRun) ownModel() bool {
	m, err := readModel(o.out.Path)
	if err != nil || m.Run != o.stream.Run() || m.DataID != o.DataID {
		return false
	}
	own := o.plan.Report()
	own.Guarantee, m.Report.Guarantee = privacy.Guarantee{}, privacy.Guarantee{}
	is, errIs := json.Marshal(m.Report)
	want, errWant := json.Marshal(own)
	return errIs == nil && errWant == nil && bytes.Equal(is, want)
}
