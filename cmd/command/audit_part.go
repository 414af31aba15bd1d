package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"dyad/algorithms"
	"dyad/algorithms/audit"
	"dyad/internal/files"
)

// auditFlags are the flags of an attack.
type auditFlags struct {
	BlackBox   bool          `help:"Attack whole runs without knowing their random draws (slower, weaker). Always on if batches or steps must stay secret."`
	Runs       int           `positive:"" help:"Runs on each data set; half of them only select the attack. Default: 40000; 10000 with --black-box; up to 200000 with --time."`
	Time       time.Duration `positive:"" placeholder:"30s" help:"Stop after this time. The bound found by then has the same confidence."`
	Confidence float64       `positive:"" default:"0.999" help:"Confidence of the bound."`
	Seed       uint64        `default:"1" help:"Seed of the audit. The same seed gives the same bounds."`
	Workers    int           `positive:""`
	Plot       string        `placeholder:"FILE" help:"File for a picture of the result: SVG, PDF or PNG, by its ending."`
	pageFlag
	PartOut string `default:"audit" placeholder:"PREFIX" help:"With --part: prefix of the file, PREFIX-I-of-N.part."`
	Force   bool
	partFlag
}

// writePart carries out one part of the runs of an audit and writes its file.
func (f auditFlags) writePart(a *app, target audit.Target, part, parts int) error {
	out, err := files.NewOutput(partName(f.PartOut, part, parts, ".part"), f.Force)
	if err != nil {
		return err
	}
	bar := a.describedTracker("auditing")
	p, err := audit.RunPart(a.ctx, target, f.options(bar), part, parts)
	if err := a.asInput(err); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	if err := out.Write(!files.Private, text.Bytes()); err != nil {
		return err
	}
	r := partResult{part, parts, len(p.Trials[0]), out.Path}
	return a.emit(r, r.text())
}

// join returns the report for the parts named by --merge.
func (f auditFlags) join(a *app, target audit.Target) (*audit.Report, error) {
	names, err := f.merged()
	if err != nil {
		return nil, err
	}
	var parts []*audit.Part
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		p, err := audit.ReadPart(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, p)
	}
	r, err := audit.Join(a.ctx, target, f.options(a.describedTracker("auditing")), parts...)
	if errors.Is(err, audit.ErrParts) {
		err = asInput(err)
	}
	return r, err
}

// options returns the options of an audit.
func (f auditFlags) options(bar *barTracker) audit.Options {
	o := audit.Options{Runs: f.Runs, Time: f.Time, Confidence: f.Confidence, Seed: f.Seed, Workers: f.Workers,
		Tracker: algorithms.Tracker{OnStep: bar.Step}}
	if f.BlackBox {
		o.Access = audit.BlackBox
	}
	return o
}
