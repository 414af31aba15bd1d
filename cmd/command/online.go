package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/online"
	"dyad/engine/dataset"
	"dyad/internal/experiment"
	"dyad/internal/files"
	"dyad/internal/tasks"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

type onlineCmd struct {
	Data      string `default:"-" placeholder:"FILE" help:"Records, CSV, JSON lines or LIBSVM; - is standard input."`
	Schema    string `required:"" placeholder:"FILE"`
	Records   int    `positive:"" required:"" short:"n" help:"Maximum number of records (public). All are charged at the start."`
	State     string `private:"state of a stream" required:"" placeholder:"FILE" help:"State file, for --resume. It holds records: keep it as private as the data."`
	Resume    bool   `help:"Continue from the state file at no further cost, with the same flags. FILE must begin with all used records, which are skipped; standard input must not."`
	Follow    bool   `needs:"data" why:"standard input ends when its writer closes it" help:"Wait for more records at the end of FILE, until interrupted."`
	Algorithm string `placeholder:"NAME" help:"onpairc: convex. onpairstrc: strongly convex, needs --l2. dpftrl: less noise after about 64 updates. ongiga: no privacy. Default: onpairc; ongiga with --mode nonprivate."`
	Mode      string `default:"certified" enum:"certified,paper,nonprivate" help:"Proved noise (certified), the noise of the paper (paper) or no noise (nonprivate)."`
	Task      string `default:"auc" enum:"auc,metric"`
	lossFlags
	Epsilon    float64  `default:"1"`
	Delta      *float64 `placeholder:"DELTA" help:"Delta. Default: min(1e-5, n^-1.5)."`
	L2         float64  `name:"l2" placeholder:"ALPHA" help:"Weight alpha of the term alpha/2 ||w||^2."`
	Radius     float64  `positive:"" default:"1" placeholder:"R" help:"Public bound of ||w|| (w = weights)."`
	PublicData bool     `help:"As in train. Lines show an AUC. Each record is scored before training on it."`
	Average    bool     `help:"Write the average of the iterates with each release, at no further cost."`
	Out        string   `writes:"model" short:"o" placeholder:"FILE" help:"File for the final model: the last release, or with --average the average."`
	Force      bool     `help:"As in train. Not needed with --resume for the run's own file."`
	Regret     bool     `not:"resume" why:"it needs the stream from its first record, and a state does not have it" help:"At the end, print the regret against the best fixed model. Only for public records. Keeps all records in memory."`
	DataID     string   `placeholder:"ID" help:"Data id in the ledger. Default: data_id of the schema."`
	streamFlags
	unsoundFlag
	confirmFlag
	pageFlag
	ledgerFlag
}

// onlineStart is the first line of the output.
type onlineStart struct {
	Algorithm string            `json:"algorithm"`
	Features  []string          `json:"features"`
	Noise     float64           `json:"sigma"` // sigma of the noise of one released query
	StepRule  string            `json:"step_sizes"`
	Guarantee privacy.Guarantee `json:"guarantee"`
	DataID    string            `json:"data_id"`
	Run       string            `json:"run,omitempty"`
	Records   int               `json:"records"` // number of records processed before
}

// onlineRelease is a released model.
type onlineRelease struct {
	Records int       `json:"records"`
	Release int       `json:"release"`
	Weights []float64 `json:"weights"`
	Average []float64 `json:"average,omitempty"`
	AUC     *float64  `json:"prequential_auc,omitempty"` // prequential AUC, for public data only
}

// onlineRegret is the last line with --regret.
type onlineRegret struct {
	Measured *experiment.RegretReport `json:"measured_regret"`
}

// onlineRun is a run of the command.
type onlineRun struct {
	*onlineCmd
	a       *app
	schema  *dataset.Schema
	digest  string // hash of the schema
	encoder *dataset.Encoder
	plan    *algorithms.Plan
	public  bool
	out     *files.Output // output file, nil without --out
	page    *files.Output // output page, nil without --report
	stream  *online.Stream
	skip    int // number of rows of the file that were processed before
	scores  prequential
	regret  *experiment.Regret // regret, nil unless it is measured
}

// Run reads records until the input or the horizon ends.
func (c *onlineCmd) Run(a *app) error {
	o := &onlineRun{onlineCmd: c, a: a}
	var state *online.StateError
	err := o.prepare()
	if err != nil {
		return err
	}
	o.stream, err = online.Open(o.plan, online.Options{State: c.State, Resume: c.Resume, Public: o.public,
		Schema: o.digest, DataID: c.DataID, Ledger: o.openLedger, Trace: a.at})
	switch {
	case !c.Resume && errors.Is(err, fs.ErrExist):
		return badInput("%s exists; continue its stream with --resume, or name another file with --state", c.State)
	case errors.As(err, &state), errors.Is(err, ledger.ErrResume):
		return asInput(err)
	case err != nil:
		return err
	}
	defer o.stream.Close()
	if err := o.repeat(); err != nil {
		return err
	}
	err = o.read()
	ended := errors.Is(err, algorithms.ErrStreamEnd)
	switch {
	case !o.stream.Begun() || errors.Is(err, online.ErrLost):
		return err
	case err == nil || ended || errors.Is(err, context.Canceled):
		return o.stop(err)
	case !o.public:
		fail(a.stderr, "dyad: run %s is charged; the same command with --resume continues it at no further cost",
			o.stream.Run())
	}
	return err
}

// openLedger opens the ledger of a private run.
func (o *onlineRun) openLedger() (*ledger.Ledger, error) {
	l, _, err := o.a.openLedger(o.ledgerFlag, o.Resume)
	if err == nil && o.out != nil {
		files.SweepKept(l, filepath.Dir(o.out.Path))
	}
	return l, err
}

// repeat announces a continued stream and writes its last release again, because the reader may not have
// received it before a crash.
func (o *onlineRun) repeat() error {
	if !o.stream.Begun() {
		return nil
	}
	if o.Data != "-" {
		o.skip = o.stream.Taken()
	}
	if err := o.announce(); err != nil {
		return err
	}
	last := o.stream.Last()
	if last == nil {
		return nil
	}
	o.scores.w = last.Weights
	return o.line(o.release(last))
}

// stop ends this attempt in order after the error err of the reader, which is nil, an interrupt or the end of
// the horizon. Records of the incomplete batch are stored for --resume.
func (o *onlineRun) stop(err error) error {
	var elsewhere error
	saved := false
	stopped := o.stream.Stop(func() error {
		o.a.note("dyad: %d records taken, %d releases; the state is in %s", o.stream.Taken(), o.stream.Releases(),
			o.stream.State())
		err := o.finish()
		if isElsewhere(err) {
			elsewhere, err = err, nil
		}
		saved = err == nil
		return err
	})
	if !saved || o.stream.Ended() {
		err = nil
	}
	return errors.Join(elsewhere, err, stopped)
}

// finish writes the output after the last release of this attempt.
func (o *onlineRun) finish() error {
	away := o.writeModel()
	if away != nil && !isElsewhere(away) {
		return away
	}
	if o.regret != nil && o.stream.Releases() > 0 && o.a.ctx.Err() == nil {
		measured, err := o.regret.Measure(o.a.ctx, o.plan)
		if err != nil {
			return err
		}
		if err := o.line(onlineRegret{measured}); err != nil {
			return err
		}
	}
	return away
}

// prepare reads the schema and makes the plan.
func (o *onlineRun) prepare() (err error) {
	if o.schema, err = dataset.LoadSchema(o.Schema); err != nil {
		return asInput(err)
	}
	if o.digest, err = schemaDigest(o.schema); err != nil {
		return err
	}
	if o.encoder, err = dataset.NewEncoder(o.schema); err != nil {
		return asInput(err)
	}
	o.public = o.PublicData || o.schema.Public
	if err := o.checkUnsound(o.PublicData); err != nil {
		return err
	}
	if err := o.unprotected(o.a, o.Mode, o.Schema, o.public, o.Resume); err != nil {
		return err
	}
	if o.DataID == "" {
		o.DataID = o.schema.DataID
	}
	if err := checkDataID("--data-id", o.DataID); err != nil {
		return err
	}
	flags := planFlags{
		methodFlags:  methodFlags{Algorithm: o.Algorithm, Mode: o.Mode, unsoundFlag: o.unsoundFlag},
		budgetFlags:  budgetFlags{Epsilon: o.Epsilon, Delta: o.Delta},
		problemFlags: problemFlags{Task: o.Task, lossFlags: o.lossFlags, L2: &o.L2, Radius: o.Radius},
	}
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
	if o.out, err = files.NewOutput(o.Out, o.Force || o.Resume, o.Data, o.Schema, o.State, o.Ledger); err != nil {
		return err
	}
	if o.Report != "" && o.Out == "" {
		return badInput("--report needs the model file of the last release; name the file with --out")
	}
	// A continued stream replaces a page only with --force, because the page may belong to another run.
	o.page, err = o.output(o.Force, o.Data, o.Schema, o.State, o.Ledger, o.Out)
	return err
}

// release returns the output of a release.
func (o *onlineRun) release(r *online.Update) onlineRelease {
	out := onlineRelease{Records: r.Records, Release: r.Number, Weights: r.Weights}
	if o.Average {
		out.Average = r.Average
	}
	return out
}

func (o *onlineRun) announce() error {
	noise := 0.0
	if o.plan.Noise() != nil {
		noise = o.plan.Noise().NoiseNorm(1)
	}
	return o.line(onlineStart{
		Algorithm: o.plan.Algorithm, Features: o.encoder.FeatureNames(), Noise: noise, StepRule: o.plan.Schedule.Name,
		Guarantee: o.stream.Guarantee(), DataID: o.DataID, Run: o.stream.Run(), Records: o.stream.Taken(),
	})
}

func (o *onlineRun) line(v any) error { return json.NewEncoder(o.a.stdout).Encode(v) }

// read passes the records to the stream.
func (o *onlineRun) read() error {
	var r io.Reader = o.a.stdin
	if o.Data != "-" {
		var f *os.File
		// reading a pipe waits for its writer
		err, interrupted := tasks.Await(o.a.ctx, func() (err error) { f, err = os.Open(o.Data); return err })
		if interrupted != nil {
			return interrupted
		}
		if err != nil {
			return asInput(fmt.Errorf("cannot read data: %w", err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return badInput("%s is a directory; name a file", o.Data)
		}
		r = f
	}
	o.a.hold()
	options := dataset.Options{Labels: dataset.LabelsOptional}
	err := dataset.ScanReader(o.source(), &liveReader{ctx: o.a.ctx, r: r, follow: o.Follow}, o.schema, options, o.take)
	if parse := (*dataset.ParseError)(nil); errors.As(err, &parse) {
		err = asInput(err)
	}
	return cmp.Or(o.a.ctx.Err(), err)
}

// source returns the name of the records for errors.
func (o *onlineRun) source() string {
	if o.Data == "-" {
		return "standard input"
	}
	return o.Data
}

// take processes a row.
func (o *onlineRun) take(r *dataset.Row) error {
	if o.skip > 0 {
		o.skip--
		return nil
	}
	if r.Label == "" {
		return badInput("%s: row %d has no label, but a stream needs labelled records", o.source(), r.Number)
	}
	x, err := o.encoder.EncodeRow(r)
	if err != nil {
		return asInput(fmt.Errorf("%s: row %d: %w", o.source(), r.Number, err))
	}
	if !o.stream.Begun() {
		if err := o.stream.Begin(); err != nil {
			return err
		}
		if err := o.announce(); err != nil {
			return err
		}
	}
	if o.public && o.Task == taskAUC {
		o.scores.add(x, r.Y)
	}
	if o.regret != nil {
		o.regret.Take(x, r.Y)
	}
	made, err := o.stream.Take(o.a.ctx, x, r.Y)
	if err != nil || made == nil {
		return err
	}
	if o.regret != nil {
		o.regret.Update(made.Weights)
	}
	release := o.release(made)
	if o.public && o.Task == taskAUC {
		release.AUC = o.scores.auc()
		o.scores.w = made.Weights
	}
	if err := o.line(release); err != nil {
		return err
	}
	o.a.at("released")
	return nil
}

// newRegret returns an error if a regret cannot be measured or would not be public.
func (o *onlineRun) newRegret() (*experiment.Regret, error) {
	problem := o.plan.Spec.Kernel.Problem()
	parameters := problem.Loss.ParamDim(o.encoder.Dim())
	switch most := experiment.MostRegretRecords(parameters); {
	case !o.public:
		return nil, badInput("--regret is only for public records (--public-data), because its figure has no " +
			"guarantee")
	case o.Records > most:
		return nil, badInput("--regret would take too long; with %d parameters, give at most %d --records, not %d",
			parameters, most, o.Records)
	}
	return experiment.NewRegret(o.plan), nil
}
