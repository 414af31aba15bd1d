package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/privacy"
	"dyad/privacy/durable"
	"dyad/privacy/ledger"
)

type onlineCmd struct {
	Data      string `default:"-" placeholder:"FILE" help:"Records, CSV, JSON lines or LIBSVM; - is standard input."`
	Schema    string `required:"" placeholder:"FILE" help:"Schema of the records (YAML)."`
	Records   int    `positive:"" required:"" short:"n" help:"Public maximum of the number of records; all of them are paid for at the start."`
	State     string `required:"" placeholder:"FILE" help:"File of the state, for --resume. It holds the records of the buffer, and with dpftrl or --secret-state functions of all records: keep it private."`
	Resume    bool   `help:"Continue from the state file, at no further cost, with the flags of the start. Records of a FILE that were taken before are skipped; standard input goes on with new ones."`
	Follow    bool   `help:"Wait for more at the end of FILE, until interrupted."`
	Algorithm string `placeholder:"NAME" help:"onpairc (convex), onpairstrc (strongly convex, needs --l2), dpftrl (correlated noise, less of it from about 64 updates on) or ongiga (not private). Default: onpairc, or ongiga with --mode nonprivate."`
	Mode      string `default:"certified" enum:"certified,paper,nonprivate" help:"certified: proved noise; paper: the paper's formula, with what it really gives; nonprivate: the baseline."`
	Task      string `default:"auc" enum:"auc,metric" help:"As for train."`
	lossFlags
	Epsilon    float64  `default:"1" help:"Epsilon to spend on all releases together."`
	Delta      *float64 `placeholder:"DELTA" help:"Delta. Default: min(1e-5, n^-1.5)."`
	L2         float64  `name:"l2" placeholder:"ALPHA" help:"Weight alpha of the term alpha/2 ||w||^2."`
	Radius     float64  `positive:"" default:"1" placeholder:"R" help:"Radius of the ball that w lives in; public."`
	PublicData bool     `help:"The records are public: nothing is charged, and every line has the AUC of the scores given before each label was used."`
	Average    bool     `help:"Write the average of the iterates with each release, at no further cost (online-to-batch)."`
	Out        string   `short:"o" placeholder:"FILE" help:"Model file for the last release, or the average with --average, written at the end of the run."`
	Force      bool     `help:"Replace an existing model file; with --resume that of an earlier attempt at this run is replaced anyway."`
	Regret     bool     `help:"With public records: end with the measured regret against the best fixed model, which is not private. Keeps all records in memory."`
	DataID     string   `placeholder:"ID" help:"Name of the data in the ledger. Default: the schema's data_id."`
	streamFlags
	ledgerFlag
}

// Help shows examples.
func (onlineCmd) Help() string {
	return `Writes JSON lines: first the guarantee of all releases together, then a model after every K records. A release is
written after the state that holds it and a count of the releases, next to the ledger, are on disk: whatever copy of a state is
resumed, no release is drawn twice. A resumed stream first repeats the last release, which a crash may have kept from its reader. The charge is made when the first record arrives, for
--records of them.

Examples:
  dyad online --data patients.csv --schema patients.yaml --records 100000 --every 100 --state patients.state
  tail -f patients.csv | dyad online --schema patients.yaml --records 100000 --every 100 --state patients.state
  dyad online --data patients.csv --schema patients.yaml --records 2000 --state public.state --public-data --regret
Stopped, each goes on with the same flags and --resume (--regret cannot).`
}

// onlineStart is the first line of the output.
type onlineStart struct {
	Algorithm string            `json:"algorithm"`
	Features  []string          `json:"features"`
	Noise     float64           `json:"sigma"` // of one released query
	StepRule  string            `json:"step_sizes"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	DataID    string            `json:"data_id"`
	Run       string            `json:"run,omitempty"`
	Records   int               `json:"records"` // taken before
}

// onlineRelease is a released model.
type onlineRelease struct {
	Records int       `json:"records"`
	Release int       `json:"release"`
	Weights []float64 `json:"weights"`
	Average []float64 `json:"average,omitempty"`
	AUC     *float64  `json:"prequential_auc,omitempty"` // public data only
}

// onlineRegret is the last line with --regret.
type onlineRegret struct {
	Measured *regretReport `json:"measured_regret"`
}

// online is a run of the command.
type online struct {
	*onlineCmd
	a       *app
	schema  *dataset.Schema
	encoder *dataset.Encoder
	plan    *algorithms.Plan
	public  bool
	ledger  *ledger.Ledger
	lock    *ledger.RunLock    // nil without a ledger
	out     *output            // nil without --out
	stream  *algorithms.Online // nil before the first record of a new run
	run     string             // of a state without a record, not charged yet
	skip    int                // rows of the file that were taken before
	scores  prequential
	regret  *streamRegret // nil unless measured
}

// Run reads records until they or the horizon end.
func (c *onlineCmd) Run(a *app) error {
	o := &online{onlineCmd: c, a: a}
	if err := o.prepare(); err != nil {
		return err
	}
	lock := flock.New(c.State + ".lock")
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return badInput("the state %s cannot be locked: %v", c.State, err)
	case !ok:
		return badInput("the state %s is in use by another process", c.State)
	}
	defer lock.Unlock()
	files.Sweep(filepath.Dir(c.State))
	defer func() {
		if o.lock != nil {
			o.lock.Unlock()
		}
	}()
	if c.Resume {
		if err := o.resume(); err != nil {
			return err
		}
	} else if exists(c.State) {
		return badInput("%s exists; continue it with --resume, or name another --state", c.State)
	}
	err := o.read()
	if o.stream == nil || errors.Is(err, errStreamLost) {
		return err
	}
	ended := errors.Is(err, algorithms.ErrStreamEnd)
	if err == nil || ended || errors.Is(err, context.Canceled) {
		// Records of the unfinished batch are kept for --resume.
		o.stream.Session++ // for handOver
		if saved := o.save(); saved != nil {
			return saved
		}
		a.note("dyad: %d records taken, %d releases; the state is in %s", o.stream.Count(), o.stream.Updates(), c.State)
		horizon := ended || o.stream.Count() == o.Records
		finished := o.finish(horizon)
		if finished != nil && !isElsewhere(finished) || ended {
			return finished
		}
		if !horizon {
			return errors.Join(finished, err, o.handOver())
		}
		return finished
	} else if !o.public {
		fmt.Fprintf(a.stderr, "dyad: run %s is charged; the same command with --resume continues it at no further cost\n", o.stream.Run)
	}
	return err
}

// finish writes what comes after the last release of this run, and closes the charge
// if the horizon was reached.
func (o *online) finish(horizon bool) error {
	away := o.writeModel()
	if away != nil && !isElsewhere(away) {
		return away
	}
	if o.regret != nil && o.stream.Updates() > 0 && o.a.ctx.Err() == nil {
		measured, err := o.regret.measure(o.a.ctx, o.plan)
		if err != nil {
			return err
		}
		if err := o.line(onlineRegret{measured}); err != nil {
			return err
		}
	}
	if horizon {
		return errors.Join(away, o.end())
	}
	return away
}

// errStreamLost marks a state that could not be saved: the release is withheld.
var errStreamLost = errors.New("the state cannot be saved, so nothing more was released")

// prepare reads the schema and plans.
func (o *online) prepare() (err error) {
	if o.schema, err = dataset.LoadSchema(o.Schema); err != nil {
		return asInput(err)
	}
	if o.encoder, err = dataset.NewEncoder(o.schema); err != nil {
		return asInput(err)
	}
	if o.Follow && o.Data == "-" {
		return badInput("--follow waits at the end of a file; standard input ends when its writer says so")
	}
	o.public = o.PublicData || o.schema.Public
	if o.DataID == "" {
		o.DataID = o.schema.DataID
	}
	flags := planFlags{Algorithm: o.Algorithm, Mode: o.Mode, Task: o.Task, lossFlags: o.lossFlags, Epsilon: o.Epsilon, Delta: o.Delta, L2: &o.L2, Radius: o.Radius}
	if o.plan, err = o.streamFlags.plan(flags, lib.ShapeOf(o.encoder, o.Records)); err != nil {
		return err
	}
	problem := o.plan.Spec.Kernel.Problem()
	if err := o.a.needsMemory(problem.Loss.ParamDim(problem.D)); err != nil {
		return err
	}
	if o.Regret {
		if o.regret, err = o.newRegret(); err != nil {
			return err
		}
	}
	if o.out, err = newOutput(o.Out, o.Force || o.Resume, o.Data, o.Schema, o.State, o.Ledger); err != nil {
		return err
	}
	// One file has one lock, by whatever link it is named.
	if o.State, err = durable.Resolve(o.State); err != nil {
		return badInput("cannot write to the folder of the state: %v", err)
	}
	return nil
}

// release is the output of the last release w, made after so many records.
func (o *online) release(records int, w []float64) onlineRelease {
	r := onlineRelease{Records: records, Release: o.stream.Updates(), Weights: w}
	if o.Average {
		r.Average = o.stream.Average()
	}
	return r
}

func (o *online) announce(session *privacy.LiveSession) error {
	noise := 0.0
	if o.plan.Noise != nil {
		noise = o.plan.Noise.NoiseNorm(1)
	}
	return o.line(onlineStart{
		Algorithm: o.plan.Algorithm, Features: o.encoder.FeatureNames(), Noise: noise, StepRule: o.plan.Schedule.Name,
		Guarantee: o.guarantee(session.Receipt().Warnings), DataID: o.DataID, Run: o.stream.Run, Records: o.stream.Count(),
	})
}

func (o *online) line(v any) error { return json.NewEncoder(o.a.stdout).Encode(v) }

// read feeds the stream.
func (o *online) read() error {
	var r io.Reader = o.a.stdin
	if o.Data != "-" {
		f, err := os.Open(o.Data)
		if err != nil {
			return asInput(fmt.Errorf("cannot read data: %w", err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return badInput("%s is a directory; name a file", o.Data)
		}
		r = f
	}
	options := dataset.Options{Labels: dataset.LabelsOptional}
	err := dataset.ScanReader(o.source(), &liveReader{ctx: o.a.ctx, r: r, follow: o.Follow}, o.schema, options, o.take)
	var parse *dataset.ParseError
	switch {
	case o.a.ctx.Err() != nil:
		return o.a.ctx.Err()
	case errors.As(err, &parse):
		return asInput(err)
	}
	return err
}

// source names the records in errors.
func (o *online) source() string {
	if o.Data == "-" {
		return "standard input"
	}
	return o.Data
}

// take is called for every row.
func (o *online) take(r *dataset.Row) error {
	if o.skip > 0 {
		o.skip--
		return nil
	}
	if r.Label == "" {
		return badInput("%s: row %d has no label; a stream learns from labelled records", o.source(), r.Number)
	}
	x, err := o.encoder.EncodeRow(r)
	if err != nil {
		return asInput(fmt.Errorf("%s: row %d: %w", o.source(), r.Number, err))
	}
	if o.stream == nil {
		if err := o.begin(); err != nil {
			return err
		}
	}
	if o.public && o.Task == taskAUC {
		o.scores.add(x, r.Y)
	}
	if o.regret != nil {
		o.regret.take(x, r.Y)
	}
	w, err := o.stream.Step(o.a.ctx, x, r.Y)
	if err != nil || w == nil {
		return err
	}
	if err := o.save(); err != nil {
		return err
	}
	o.a.at("state saved")
	if err := o.count(); err != nil {
		return err
	}
	if o.regret != nil {
		o.regret.update(w)
	}
	release := o.release(o.stream.Count(), w)
	if o.public && o.Task == taskAUC {
		release.AUC = o.scores.auc()
		o.scores.w = w
	}
	if err := o.line(release); err != nil {
		return err
	}
	o.a.at("released")
	return nil
}
