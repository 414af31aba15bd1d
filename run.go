package dyad

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"dyad/algorithms"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/engine/team"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/internal/tasks"
	"dyad/internal/texts"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Ledger is the durable record of the privacy budget spent on each data id.
type Ledger = ledger.Ledger

// OpenLedger opens a ledger file or makes it. All runs on the same people must use one ledger: a ledger does not
// include the charges of another ledger.
func OpenLedger(path string) (*Ledger, error) { return ledger.Open(path) }

// Run configures the execution of a training. Only its fields Public and Source can change the guarantee of the plan.
type Run struct {
	// Ledger is charged with the whole plan before any record is used. It is required unless the data are public.
	Ledger *Ledger
	// DataID is the id of the data in the ledger. If it is "", the schema's data_id applies. Runs on the same
	// records must use the same id.
	DataID string
	// Public declares that the data are public, as the key `public` does in a schema. The run then makes no
	// charge and has no guarantee, and the report states this.
	Public bool
	// Resume is the id of a run that was charged and did not save its model. The run continues, or its finished model
	// is saved, without a further charge. If Resume is "", the run is new.
	Resume string

	// Out is the file of the model. If it is "", the caller saves the model, and the model is stored next to the ledger
	// until the run returns. Set Out for private data: then no crash loses a model that was paid for. Without Out, a
	// crash between the run and Model.Save loses the model.
	Out string
	// Replace allows the run to replace an existing file.
	Replace bool
	// Spare is true if Out is a default name. If Out exists, the run adds its id to the name instead of failing.
	Spare bool
	// ID is the id of a new run in the ledger. If it is "", an id is generated. A ledger accepts each id once.
	ID string
	// Approved is the SHA-256, in hex, of the page that was approved before the run. It is stored in the ledger
	// and in the model. It is "" if there is no such page.
	Approved string

	// Checkpoint is the time between checkpoints of a private run. Resume uses the checkpoints. They are stored next
	// to the ledger and are as private as the records. 0 means one minute; a negative time makes no checkpoints.
	Checkpoint time.Duration
	// On is the device that computes the sums over lists of pairs and over tuples; nil is the CPU. These sums have
	// the same guarantee on every device. Sums over all pairs of records are computed on the device of their plan
	// (Options.On), because the rounding error of this device is part of the sensitivity.
	On *device.Device
	// Team computes the sums, with this process as rank 0; see Training.Join. If it is nil, this process computes them.
	Team *team.Leader
	// Source draws all noise; nil is a new source, keyed by the operating system. A seeded source is for reproduction
	// only: its noise is not secret, and the guarantee states this.
	Source *privacy.Source

	// Created is the creation time in the model; the zero value means now. It must not reveal how long the training took.
	Created time.Time
	// Options is written into the model's file, which may be published. Nil means that there are no options.
	Options map[string]any
	Watch
}

// Watch holds the observers of a run. A nil observer is not called.
type Watch struct {
	// Progress is called after each step with the number of finished steps and the number of all steps. The time
	// between two calls can depend on private records. Do not publish these times.
	Progress func(done, total int)
	// Charged is called with the id of a run when its charge is durable.
	Charged func(run string)
	// Note is called with notes for the owner, for example that a checkpoint could not be written, or that a file
	// may not survive a power cut.
	Note func(text string)
	// Released is called after the model was released and stored, but before it is saved as Run.Out. So if the
	// model's file exists, all files that Released publishes exist, too.
	Released func(*Model)
	// Trace is called with the name of each stage of the run (algorithms.Options.Trace).
	Trace func(stage string)
}

// Outcome describes the end of a run.
type Outcome struct {
	File     string  // file of the result; "" without Run.Out
	Restored int     // number of steps restored from a checkpoint
	Seconds  float64 // duration of the work on public data; 0 on private data, where a duration can depend on records
	// Recovered is true if an earlier program released the result and this run only saved it. Released is the time of
	// the release.
	Recovered bool
	Released  time.Time
}

// ElsewhereError is returned with the model of a charged run if the model was saved under a name other than Run.Out.
type ElsewhereError = files.ElsewhereError

// ErrTaken is wrapped by the error about an existing file that must not be replaced.
var ErrTaken = files.ErrTaken

// ErrUnsaved is wrapped by an error that is returned together with a model which could not be saved to any file. Only
// the caller has the model. The error occurs on public data only.
var ErrUnsaved = errors.New("dyad: the model could not be saved")

// kind describes a kind of run: the work between its charge and its release, and the file of its result.
type kind[T any] struct {
	of   Source
	work func(algorithms.Options) (*algorithms.Result, error)
	// made returns the result, a function of the released numbers. text returns the content of the result's file, and
	// an upper bound of its length as for Run.Keep. load reads the file.
	made func(o Run, r *algorithms.Result) (T, error)
	text func(T) (text []byte, most int, err error)
	load func(file string) (T, error)
	// fresh is true if a resumed run starts again, because it has no checkpoints.
	fresh    bool
	released func(T) // Run.Released; nil for none
}

// run is the only way to charge a run. If the run was released before, its result is only saved. Otherwise run charges,
// carries out, stores, releases and saves the run, in this order. The outcome is nil if there is no result.
func (k kind[T]) run(ctx context.Context, o Run) (made T, end *Outcome, err error) {
	public := o.Public || k.of.Public
	if o.Resume != "" && o.Ledger != nil && !public {
		if end, err = o.Recover(); end != nil {
			var problem error
			if made, problem = k.load(end.File); problem != nil {
				return made, nil, errors.Join(err, problem)
			}
		}
		if end != nil || err != nil {
			return made, end, err
		}
	}
	if o.Created.IsZero() {
		o.Created = time.Now()
	}
	if k.fresh {
		o.Checkpoint = -1
	}
	r, file, err := o.Keep(ctx, k.of, func(r *algorithms.Result) ([]byte, int, error) {
		made, err := k.made(o, r)
		if err != nil {
			return nil, 0, err
		}
		return k.text(made)
	}, func(p algorithms.Options) (*algorithms.Result, error) {
		r, err := k.work(p)
		if err != nil || k.released == nil {
			return r, err
		}
		made, err := k.made(o, r)
		if err == nil {
			k.released(made)
		}
		return r, err
	})
	if r == nil {
		return made, nil, err
	}
	made, problem := k.made(o, r)
	if problem != nil {
		return made, nil, errors.Join(err, problem)
	}
	end = &Outcome{File: file, Restored: r.Restored}
	if public {
		end.Seconds = r.Seconds
	}
	return made, end, err
}

// do carries out a training as Training.Run does. The argument model makes the model of a result; do fills in the
// model's format, run, data id and times.
func (o Run) do(ctx context.Context, of Source, model func(*algorithms.Result) *Model,
	train func(algorithms.Options) (*algorithms.Result, error)) (*Trained, error) {
	m, end, err := kind[*Model]{of: of, work: train, text: (*Model).Size, load: Load, released: o.Released, made: func(o Run, r *algorithms.Result) (*Model, error) {
		m := model(r)
		m.Format, m.Version, m.Created = m.format(), Version, o.Created.UTC().Truncate(time.Second)
		m.DataID, m.Run, m.Plan = cmp.Or(o.DataID, of.DataID), r.Run, r.Record
		m.Options = o.Options
		return m, nil
	}}.run(ctx, o)
	if end == nil {
		return nil, err
	}
	return &Trained{Model: m, Outcome: *end}, err
}

// Keep carries out a run of a kind that this package does not know. It charges, stores, releases and saves the run, in
// this order. The function train must obey algorithms.Options, as algorithms.Execute does. The function text returns
// the content of the result's file and an upper bound of its length. The bound must not depend on what was released.
// Keep reserves this number of bytes before the release. It returns the result and the name of the file.
func (o Run) Keep(ctx context.Context, of Source, text func(*algorithms.Result) (text []byte, most int, err error),
	train func(algorithms.Options) (*algorithms.Result, error)) (*algorithms.Result, string, error) {
	p := algorithms.Options{
		DataID: cmp.Or(o.DataID, of.DataID), Public: of.Public || o.Public,
		Run: o.ID, Resume: o.Resume, Source: o.Source, Tracker: algorithms.Tracker{OnStep: o.Progress}, Trace: o.Trace,
		Charged: o.Charged, Approved: o.Approved, Team: o.Team,
	}
	inputs := of.Files
	switch {
	case p.Public && o.Resume != "":
		return nil, "", input.Errorf("dyad: Run.Resume continues a charged run, but runs on public data are not charged; " +
			"leave Run.Resume out")
	case !p.Public && (o.Ledger == nil || p.DataID == ""):
		return nil, "", input.Errorf("dyad: a run on private data needs Run.Ledger (OpenLedger) and a data id; for " +
			"public data, set Run.Public")
	case !p.Public && !dataset.IsDataID(p.DataID):
		return nil, "", input.Errorf("dyad: the data id must be 1 to 128 letters, digits, dots, hyphens or " +
			"underscores")
	case !p.Public:
		p.Ledger, inputs = o.Ledger, append([]string{o.Ledger.Path()}, inputs...)
	}
	says := Model{Run: o.ID, Approved: o.Approved, Created: o.Created, Options: o.Options}
	out, err := o.output(inputs...)
	if err = cmp.Or(err, input.As(prefixed(texts.Check(says)))); err != nil {
		return nil, "", err
	}
	unchanged := of.unchanged
	if o.Team != nil {
		unchanged = func() error { return o.Team.Inputs(ctx, of.unchanged) }
	}
	shelf := &files.Shelf{Out: out, Log: o.log(), Text: text, Inputs: unchanged}
	if !p.Public {
		shelf.Attach(&p)
		if every := cmp.Or(o.Checkpoint, time.Minute); every > 0 {
			p.Checkpoints = algorithms.Checkpoints{Prefix: o.Ledger.Path() + ".", Every: every,
				Failed: func(err error) { o.note(err.Error()) }}
		}
		if p.Fingerprint, err = of.fingerprint(o.Ledger); err != nil {
			return nil, "", err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, "", err // an interrupt before the charge charges nothing
	}
	r, err := train(p)
	if err != nil {
		return nil, "", err
	}
	for _, text := range r.Notes {
		o.note("dyad: warning: " + text)
	}
	name, err := shelf.Saved(r)
	if err != nil && name == "" {
		err = errors.Join(ErrUnsaved, err)
	}
	return r, name, err
}

// Recover completes run o.Resume if a program released its result and was stopped before it saved the result. Recover
// saves the result as o.Out, makes no charge and needs no data. It returns nil for a run that released nothing or has
// saved its result. Read the file with Load, LoadClusters or LoadFigures.
func (o Run) Recover() (*Outcome, error) {
	if o.Ledger == nil || o.Resume == "" {
		return nil, input.Errorf("dyad: to recover a run, set Run.Ledger and Run.Resume")
	}
	out, err := o.output(o.Ledger.Path())
	if out == nil || err != nil {
		return nil, err
	}
	name, e, err := o.log().Recover(o.Ledger, o.Resume, out)
	if name == "" {
		return nil, err
	}
	return &Outcome{File: name, Recovered: true, Released: e.Time}, err
}

// output returns the file that the run will write, nil for none.
func (o Run) output(inputs ...string) (*files.Output, error) {
	out, err := files.Output{Asked: o.Out, Force: o.Replace, Spare: o.Spare}.Checked(inputs...)
	return out, prefixed(err)
}

func (o Run) log() files.Log { return files.Log{Trace: o.Trace, Note: o.Note} }

func (o Run) note(text string) {
	if o.Note != nil {
		o.Note(text)
	}
}

// Source describes the origin of a run's records.
type Source struct {
	DataID string // id of the data, unless Run.DataID is set
	Public bool   // data are public if this or Run.Public is true
	// Files are the files of the records in the order in which they were read. The first DataFiles files hold the rows,
	// and all later files hold labels or pairs. If DataFiles is 0, one file holds the rows.
	Files     []string
	DataFiles int

	packs []*dataset.Used // packs among Files, and other packs that the run uses
}

// using returns s for a run that also uses the records of others. Only s is charged; no pack of others may change.
func (s Source) using(others ...Source) Source {
	s.packs = slices.Clone(s.packs)
	for _, o := range others {
		s.packs = append(s.packs, o.packs...)
	}
	return s
}

// unchanged returns an error if a pack has changed since it was opened.
func (s Source) unchanged() error {
	for _, p := range s.packs {
		if err := p.Unchanged(); err != nil {
			return err
		}
	}
	return nil
}

// Source returns the facts about the schema and the files of the data that a run needs.
func (d *Data) Source() Source {
	s := Source{DataID: d.Schema().DataID, Public: d.Schema().Public, Files: d.files, DataFiles: d.parts}
	if d.pack != nil {
		s.packs = []*dataset.Used{d.pack}
	}
	return s
}

// fingerprint returns the ledger's fingerprint of the files. A single data file is hashed together with its files of
// labels or pairs, one after the other. If there are several data files, the SHA-256 of every file is hashed. The
// fingerprint then depends on the contents and their order and not on names, and rows that move to another file change
// it. Pipes and devices are refused.
func (s Source) fingerprint(l *Ledger) (string, error) {
	from, to := io.Pipe()
	copying := tasks.Group{Stop: func() { to.CloseWithError(io.ErrUnexpectedEOF) }}
	copying.Go(func() { to.CloseWithError(dataset.CopyContents(to, s.Files, s.DataFiles, s.packs)) })
	print, err := l.Fingerprint(from)
	from.Close() // ends the copy if the ledger stopped early
	copying.Wait()
	return print, input.As(err)
}
