package main

import (
	"fmt"
	"strings"
	"time"

	"dyad/algorithms"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// runFlags are those of a training that is charged once and releases its result at the
// end.
type runFlags struct {
	Force  bool    `help:"Replace an existing model file. Without it nothing is replaced: a model whose name was taken meanwhile is saved as m.RUN.json for m.json, with exit code 4."`
	DataID string  `placeholder:"ID" help:"Name of the data in the ledger. Default: the schema's data_id."`
	Resume string  `placeholder:"RUN" help:"Continue a charged run that has released nothing, at no further cost, with the flags and the data of its first attempt; or save the model of one that was stopped between its release and the name of its file."`
	Seed   *uint64 `help:"Seed the noise, for reproduction only: the noise is then not secret."`
	ledgerFlag
}

// checkpointFlag is for those that keep their state.
type checkpointFlag struct {
	Checkpoint time.Duration `name:"checkpoint-every" default:"1m" placeholder:"DURATION" help:"Keep the state of a private run next to the ledger this often, for --resume; it is as private as the records. 0: never."`
}

// execution opens the ledger, unless data are public, and says how to carry out a plan over
// these files, with a checkpoint every so often (0: none). Nothing is charged yet.
func (f runFlags) execution(a *app, out *runOutcome, s *shelf, every time.Duration, files ...string) (algorithms.Options, error) {
	if f.DataID != "" {
		out.DataID = f.DataID
	}
	o := algorithms.Options{Public: out.Public, DataID: out.DataID, Resume: f.Resume, Tracker: a.tracker("training"), Trace: a.at, Charged: a.chargedRun}
	if a.hooks.stage != nil {
		o.Tracker.OnStep = stageTracker{a}.Step
	}
	if f.Seed != nil {
		o.Source = privacy.NewSeededSource(*f.Seed)
	}
	switch {
	case every < 0:
		return o, badInput("--checkpoint-every is %v, want a positive duration, or 0 for none", every)
	case out.Public && f.Resume != "":
		return o, badInput("--resume continues a charged run, but these data are public and nothing is charged; leave it out")
	case out.Public:
		return o, a.ctx.Err()
	}
	var err error
	if o.Ledger, out.Ledger, err = a.openLedger(f.ledgerFlag, f.Resume != ""); err != nil {
		return o, err
	}
	s.attach(&o, o.Ledger)
	if every > 0 {
		o.Checkpoints = algorithms.Checkpoints{Prefix: out.Ledger + ".", Every: every, Failed: a.checkpointFailed}
	}
	if o.Fingerprint, err = fingerprint(o.Ledger, files...); err != nil {
		return o, err
	}
	return o, a.ctx.Err() // an interrupt in time charges nothing
}

// runOutcome is what every training prints of its run.
type runOutcome struct {
	Data      string            `json:"data"`
	DataID    string            `json:"data_id"`
	Public    bool              `json:"public"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	Run       string            `json:"run,omitempty"`
	Ledger    string            `json:"ledger,omitempty"`
	Spent     *spending         `json:"spent_in_all,omitempty"`
	Model     string            `json:"model,omitempty"`
	// Seconds is given for public data only: a time can depend on records, and
	// the report is part of what an adversary sees.
	Seconds float64 `json:"training_seconds,omitempty"`
}

// ran keeps what may be told of a run.
func (o *runOutcome) ran(g privacy.Guarantee, run string, seconds float64) {
	o.Guarantee, o.Run = g, run
	if o.Public {
		o.Seconds = seconds
	}
}

// spent reads back what was spent on the data in all, after a run over n records that
// saved its model.
func (o *runOutcome) spent(l *ledger.Ledger, delta float64, n int) (err error) {
	if l == nil {
		return nil
	}
	if delta == 0 { // other runs on the data may need one
		delta = privacy.DefaultDelta(n)
	}
	if o.Spent, err = spendingOf(l, o.DataID, delta); err != nil {
		return fmt.Errorf("the model is trained, charged and saved as %s, but the ledger cannot be read back: %w", o.Model, err)
	}
	return nil
}

// line writes a line of a report.
func line(b *strings.Builder, label, format string, args ...any) {
	fmt.Fprintf(b, "%-11s %s\n", label, fmt.Sprintf(format, args...))
}

// writeData writes the first line of a report.
func (o *runOutcome) writeData(b *strings.Builder, what string) {
	visibility := "private"
	if o.Public {
		visibility = "public"
	}
	line(b, "data", "%s (%s, data id %s)%s", o.Data, visibility, o.DataID, what)
}

// writeLedger says what was charged.
func (o *runOutcome) writeLedger(b *strings.Builder) {
	if o.Ledger != "" {
		line(b, "ledger", "run %s charged to %q in %s", o.Run, o.DataID, o.Ledger)
		line(b, "", "spent on it in all: %s", o.Spent.text)
	}
}

// writeModel says what the model of a task is for.
func (o *runOutcome) writeModel(b *strings.Builder, task string) {
	if o.Model != "" {
		use := "score new records: dyad predict %s --data FILE"
		if task == taskMetric {
			use = "map records by the metric: dyad transform %s --data FILE --out FILE"
		}
		line(b, "model", "%s ("+use+")", o.Model, o.Model)
	}
}

// writeTime ends the report of a training.
func (o *runOutcome) writeTime(b *strings.Builder) {
	if o.Public {
		line(b, "time", "%.2f s of training", o.Seconds)
	}
}
