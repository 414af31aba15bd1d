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
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Ledger is the durable record of what was spent on each data id.
type Ledger = ledger.Ledger

// OpenLedger opens a ledger file or makes it. All runs on the same people belong into one
// ledger: what is in another one is not added.
func OpenLedger(path string) (*Ledger, error) { return ledger.Open(path) }

// Run configures the execution of a training. Nothing in it changes what the plan
// guarantees, except that Public data need no guarantee.
type Run struct {
	// Ledger is charged with the whole plan before any record is used. It is required unless the data are public.
	Ledger *Ledger
	// DataID names the data in the ledger; "" is the schema's data_id. All runs on the same records have the same id.
	DataID string
	// Public declares the data public, as the schema can: the run makes no charge and has
	// no guarantee, and the report says so.
	Public bool
	// Resume is the id of a run that was charged and did not save its model: it goes on, or
	// its model gets its name, at no further cost. "" is a new run.
	Resume string

	// Out is the file of the model; "" leaves saving to the caller: the model is kept next to the
	// ledger until the run returns. On private data name it: a model that is saved here is not lost by a
	// crash at any moment, while a crash before Model.Save loses what was paid for.
	Out string
	// Replace replaces a file that is there.
	Replace bool
	// Spare is true if Out is a default name: if it is taken, the file gets one with the id of its
	// run instead of an error.
	Spare bool
	// ID is the id of a new run in the ledger; "" generates one. A ledger charges an id once.
	ID       string
	Approved string // SHA-256, in hex, of the page that was approved before the run, for ledger and model; "" if there is none

	// Checkpoint is the interval between copies of the state of a private run next to the ledger, for Resume; it is
	// as private as the records. 0 is a minute, a negative one never.
	Checkpoint time.Duration
	// On sums over lists of pairs and over tuples, with what they guarantee the same on every device; nil is the CPU. Pairs of all records
	// are summed by the device of their plan (Options.On), whose rounding is part of the sensitivity.
	On *device.Device
	// Team computes the sums, with this process as its rank 0: see Training.Join. nil: this process does so alone.
	Team *team.Leader
	// Source draws all noise; nil is a new one, keyed by the operating system. A seeded source
	// is for reproduction only: the noise is then not secret, and the guarantee says so.
	Source *privacy.Source

	// Created is the time that the model states; zero is the time of the call. It must not
	// tell how long the training took.
	Created time.Time
	// Options are written into the model's file, which may be published; nil for none.
	Options map[string]any
	Watch
}

// Watch are observers of a run; nil ones are not called.
type Watch struct {
	// Progress is told after each step how many of all are done. How long a step takes can depend on records.
	Progress func(done, total int)
	// Charged is told the id of a run when its charge is durable.
	Charged func(run string)
	// Note is told what the owner may want to know: that a checkpoint could not be written, or that a file may not survive a power cut.
	Note func(text string)
	// Released is called with a model that is released and kept, before it gets its name: what it publishes is there when the model is.
	Released func(*Model)
	// Trace is told the stages of the run: see algorithms.Options.Trace.
	Trace func(stage string)
}

// Outcome describes the end of a run.
type Outcome struct {
	File     string  // where its result is saved; "" without Run.Out
	Restored int     // steps that came from a checkpoint
	Seconds  float64 // of the work on public data; 0 on private ones: a time can depend on records
	// Recovered is true if an earlier program had released the result, and it got its name now. Released is when.
	Recovered bool
	Released  time.Time
}

// ElsewhereError is an error that comes with a model: it is trained, charged and saved under
// another name than asked for.
type ElsewhereError = files.ElsewhereError

// ErrTaken is wrapped by the error about a file that is there and must not be replaced.
var ErrTaken = files.ErrTaken

// ErrUnsaved is wrapped by an error that comes with a model which no file took: the caller
// has it alone. It comes on public data only.
var ErrUnsaved = errors.New("dyad: the model could not be saved")

// kind is a kind of run: the work between its charge and its release, and the file of its result.
type kind[T any] struct {
	of   Source
	work func(algorithms.Options) (*algorithms.Result, error)
	// made is the result, a function of what was released; text is the content of its file and a length, as for Run.Keep; load
	// reads the file.
	made func(o Run, r *algorithms.Result) (T, error)
	text func(T) (text []byte, most int, err error)
	load func(file string) (T, error)
	// fresh is true if a resumed run begins again: it has no checkpoints.
	fresh    bool
	released func(T) // Run.Released; nil for none
}

// run is the one road of whatever charges. A run that was released gets its name, others are charged, carried out,
// kept, released and saved, in this order. The outcome is nil without a result.
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

// do carries out a training as Training.Run does. model makes the model of a result; do
// fills in its format, run, data id and times.
func (o Run) do(ctx context.Context, of Source, model func(*algorithms.Result) *Model, train func(algorithms.Options) (*algorithms.Result, error)) (*Trained, error) {
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

// Keep carries out a kind of run that this package does not know, by any means that obey algorithms.Options, such as
// algorithms.Execute: charged, kept, released and saved in this order. text is the content of its file, and a length
// that is never less than its own and does not depend on what was released: room for so many
// bytes is found before the release. It returns the result, and the name of the file.
func (o Run) Keep(ctx context.Context, of Source, text func(*algorithms.Result) (text []byte, most int, err error), train func(algorithms.Options) (*algorithms.Result, error)) (*algorithms.Result, string, error) {
	p := algorithms.Options{
		DataID: cmp.Or(o.DataID, of.DataID), Public: of.Public || o.Public,
		Run: o.ID, Resume: o.Resume, Source: o.Source, Tracker: algorithms.Tracker{OnStep: o.Progress}, Trace: o.Trace, Charged: o.Charged, Approved: o.Approved,
	}
	inputs := of.Files
	switch {
	case p.Public && o.Resume != "":
		return nil, "", input.Errorf("dyad: Run.Resume continues a charged run, but runs on public data are not charged; leave Run.Resume out")
	case !p.Public && (o.Ledger == nil || p.DataID == ""):
		return nil, "", input.Errorf("dyad: a run on private data needs Run.Ledger (OpenLedger) and a data id; public data must be declared public (Run.Public)")
	case !p.Public && !dataset.IsDataID(p.DataID):
		return nil, "", input.Errorf("dyad: a data id is 1 to 128 letters, digits, dots, hyphens or underscores; it names the data in the ledger, and readers of models refuse others")
	case !p.Public:
		p.Ledger, inputs = o.Ledger, append([]string{o.Ledger.Path()}, inputs...)
	}
	out, err := o.output(inputs...)
	if err != nil {
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
			p.Checkpoints = algorithms.Checkpoints{Prefix: o.Ledger.Path() + ".", Every: every, Failed: func(err error) { o.note(err.Error()) }}
		}
		if p.Fingerprint, err = of.fingerprint(o.Ledger); err != nil {
			return nil, "", err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, "", err // an interrupt in time charges nothing
	}
	r, err := train(p)
	if err != nil {
		return nil, "", err
	}
	name, err := shelf.Saved(r)
	if err != nil && name == "" {
		err = errors.Join(ErrUnsaved, err)
	}
	return r, name, err
}

// Recover gives the result of run o.Resume the name o.Out if the run was released by a program that was stopped
// before it could: it makes no charge and needs no data. It returns nil for a run that released nothing or has
// saved its result. The file is read by Load, LoadClusters or LoadFigures.
func (o Run) Recover() (*Outcome, error) {
	if o.Ledger == nil || o.Resume == "" {
		return nil, input.Errorf("dyad: recovering a run needs its ledger and its id (Run.Ledger, Run.Resume)")
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

// output is the file that the run will write, nil for none.
func (o Run) output(inputs ...string) (*files.Output, error) {
	if o.Spare {
		out, err := files.NewSpare(o.Out, o.Replace, inputs...)
		return out, prefixed(err)
	}
	out, err := files.NewOutput(o.Out, o.Replace, inputs...)
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
	DataID string // unless Run.DataID names them
	Public bool   // or Run.Public
	// Files are those that the records came from, in the order in which they were read: DataFiles
	// of them with rows (0 means 1), then those of labels or pairs.
	Files     []string
	DataFiles int

	packs []*dataset.Used // those among Files, and others that the run uses
}

// using is s for a run that uses the records of others, too: what is charged is s, and their packs must not change either.
func (s Source) using(others ...Source) Source {
	s.packs = slices.Clone(s.packs)
	for _, o := range others {
		s.packs = append(s.packs, o.packs...)
	}
	return s
}

// unchanged is an error if a pack is not what it was when it was opened.
func (s Source) unchanged() error {
	for _, p := range s.packs {
		if err := p.Unchanged(); err != nil {
			return err
		}
	}
	return nil
}

// Source returns the facts about a run in the schema and the files of the data.
func (d *Data) Source() Source {
	s := Source{DataID: d.Schema().DataID, Public: d.Schema().Public, Files: d.files, DataFiles: d.parts}
	if d.pack != nil {
		s.packs = []*dataset.Used{d.pack}
	}
	return s
}

// fingerprint is the ledger's of the files. One file of data, and those of its labels or pairs, are hashed one after
// the other. Of several, the SHA-256 of each is hashed: contents and their order count, names do not, and rows that
// move to another file make other data. Pipes and devices are refused.
func (s Source) fingerprint(l *Ledger) (string, error) {
	from, to := io.Pipe()
	copying := tasks.Group{Stop: func() { to.CloseWithError(io.ErrUnexpectedEOF) }}
	copying.Go(func() { to.CloseWithError(dataset.CopyContents(to, s.Files, s.DataFiles, s.packs)) })
	print, err := l.Fingerprint(from)
	from.Close() // ends the copy if the ledger stopped early
	copying.Wait()
	return print, input.As(err)
}
