package dyad

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/dataset"
	"dyad/engine/team"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/internal/memory"
	"dyad/internal/tasks"
	"dyad/privacy"
	"dyad/privacy/ledger"
)

// Ledger is the durable record of what was spent on each data id.
type Ledger = ledger.Ledger

// OpenLedger opens a ledger file or makes it. All runs on the same people belong into one
// ledger: what is in another one is not added.
func OpenLedger(path string) (*Ledger, error) { return ledger.Open(path) }

// Run says how a training is carried out. Nothing in it changes what the plan guarantees,
// except that Public data need no guarantee.
type Run struct {
	// Ledger is charged with the whole plan before any record is used. It is required unless
	// the data are public.
	Ledger *Ledger
	// DataID names the data in the ledger; "" is the schema's data_id. All runs on the same
	// records have the same id.
	DataID string
	// Public declares the data public, as the schema can, too: nothing is charged, no
	// guarantee is given, and the report says so.
	Public bool
	// Resume is the id of a run that was charged and did not save its model: it goes on, or
	// its model gets its name, at no further cost. "" is a new run.
	Resume string

	// Out is the file of the model; "" leaves saving to the caller: the model is kept next to the
	// ledger until Train returns. On private data name it: a model that Train saves is not lost by a
	// crash at any moment, while a crash between Train and Model.Save loses what was paid for.
	Out string
	// Replace replaces a file that is there.
	Replace bool
	// Spare says that Out is a default name: if it is taken, the file gets one with the id of its run
	// instead of an error.
	Spare bool
	// ID is that of a new run in the ledger; "" generates one. A ledger charges an id once.
	ID string

	// Checkpoint is how often the state of a private run is kept next to the ledger, for
	// Resume; it is as private as the records. 0 is a minute, a negative one never.
	Checkpoint time.Duration
	// Progress is told after each step how many of all are done; nil: nobody is. How long a
	// step takes can depend on records.
	Progress func(done, total int)
	// Team computes the sums, with this process as its rank 0: see Training.Join. nil: this
	// process does so alone.
	Team *team.Leader
	// Source draws all noise; nil is a new one, keyed by the operating system. A seeded source
	// is for reproduction only: the noise is then not secret, and the guarantee says so.
	Source *privacy.Source

	// Created is the time that the model states; zero is the time of the call. It must not
	// tell how long the training took.
	Created time.Time
	// Options are written into the model's file, which may be published; nil for none.
	Options map[string]any
	// Charged, if not nil, is told the id of a run when its charge is durable.
	Charged func(run string)
	// Note, if not nil, is told what the owner may want to know: that a checkpoint could not be
	// written, or that a file may not survive a power cut.
	Note func(text string)
	// Released, if not nil, is called by Train with a model that is released and kept, before it gets its
	// name: what it publishes is there when the model is.
	Released func(*Model)
	// Trace, if not nil, is told the stages of the run: see algorithms.Options.Trace.
	Trace func(stage string)

	released func(*algorithms.Result) // Released, of a result of Keep
}

// Trained is a model with what became of its run.
type Trained struct {
	*Model
	File     string  // where it is saved; "" without Run.Out
	Restored int     // steps that came from a checkpoint
	Seconds  float64 // of training on public data; 0 on private ones: a time can depend on records
	// Recovered says that an earlier program had released the model, and that it got its name
	// now. Released is when.
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

// Train carries out a plan on data. On private data the plan is charged to the ledger,
// durably, before a record is used; then the model is trained, kept privately, recorded as
// released, and gets its name. A crash at any moment loses nothing that was paid for:
// Run.Resume continues the run or saves its model.
//
// An error after the charge is an *algorithms.ChargedError, which says whether the run can be
// resumed; nothing was released. Before it, nothing was charged. With an *ElsewhereError, or
// one that wraps ErrUnsaved, the model is returned as well. Cancel ctx to stop.
func Train(ctx context.Context, d *Data, t *Training, o Run) (*Trained, error) {
	if err := t.fits(d); err != nil {
		return nil, err
	}
	switch {
	case t.team && o.Team == nil: // this process would take part in sums that nobody else was asked for
		return nil, input.Errorf("dyad: the plan is for a team; name its leader (Run.Team), or plan without DeviceOptions.Team")
	case o.Team != nil && o.Team.Leads(t.Spec.Kernel, d.Records) != nil:
		return nil, input.Errorf("dyad: Run.Team leads another plan or other records; make it by Training.Lead of this plan and this share, after Join")
	}
	if err := memory.Check(t.Coordinates(), 0); err != nil {
		return nil, prefixed(err)
	}
	if o.Public || d.Source().Public {
		if err := t.Network.checkPublic(); err != nil {
			return nil, err
		}
	}
	algorithm := t.algorithm
	if moments, ok := algorithm.(algorithms.Moments); ok && d.encoder.IsCurved() {
		moments.Blocks = d.encoder.Blocks()
		algorithm = moments
	}
	return o.Do(ctx, d.Source(),
		func(r *algorithms.Result) *Model {
			m := d.model(t.Task, r)
			if moments, ok := algorithm.(algorithms.Moments); ok {
				d := len(m.Features) // without errors and noise where no direction was found
				rest := r.Weights[d:]
				if m.Weights = r.Weights[:d:d]; moments.Intervals && len(rest) > 0 {
					m.WeightErrors, rest = rest[:d:d], rest[d:]
				}
				if len(rest) > 0 {
					m.CurveNoise = rest
				}
			}
			m.Loss, m.Report, m.Network = &t.Loss, t.Report(), t.Network
			if t.Network != nil && t.Network.Compare == Contrastive {
				m.Loss = nil // it is the network's
			}
			m.Report.Guarantee = r.Guarantee
			return m
		},
		func(p algorithms.Options) (*algorithms.Result, error) {
			p.Team = o.Team
			return algorithms.Run(ctx, d.Records, algorithm, t.Plan, p)
		})
}

// model is the model of a result; report and loss are missing.
func (d *Data) model(task string, r *algorithms.Result) *Model {
	return &Model{Task: task, Features: d.encoder.FeatureNames(), Weights: r.Weights, Encoder: d.encoder, Guarantee: r.Guarantee}
}

// Source is what a run states about where its records come from.
type Source struct {
	DataID string // unless Run.DataID names them
	Public bool   // or Run.Public
	// Files are those that the records came from, in the order in which they were read: DataFiles
	// of them with rows (0 means 1), then those of labels or pairs.
	Files     []string
	DataFiles int

	packs []*dataset.Used // those among Files, and others that the run uses
}

// Using is s for a run that uses the records of others, too: what is charged is s, and their packs must not change either.
func (s Source) Using(others ...Source) Source {
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

// Source is what the schema and the files of the data say of a run.
func (d *Data) Source() Source {
	s := Source{DataID: d.Schema().DataID, Public: d.Schema().Public, Files: d.files, DataFiles: d.parts}
	if d.pack != nil {
		s.packs = []*dataset.Used{d.pack}
	}
	return s
}

// Do carries out a training by any means that obey algorithms.Options, such as
// algorithms.Execute, as Train does: charged, kept, released and saved in this order. model
// makes the model of a result; Do fills in its format, run, data id and times.
func (o Run) Do(ctx context.Context, of Source, model func(*algorithms.Result) *Model, train func(algorithms.Options) (*algorithms.Result, error)) (*Trained, error) {
	if o.Resume != "" && o.Ledger != nil && !o.Public && !of.Public {
		if r, err := o.Recover(); r != nil || err != nil {
			return r, err
		}
	}
	if o.Created.IsZero() {
		o.Created = time.Now()
	}
	finished := func(r *algorithms.Result) *Model {
		m := model(r)
		m.Format, m.Version, m.Created = m.format(), Version, o.Created.UTC().Truncate(time.Second)
		m.DataID, m.Run, m.Plan = cmp.Or(o.DataID, of.DataID), r.Run, r.Record
		m.Options = o.Options
		return m
	}
	if o.Released != nil {
		o.released = func(r *algorithms.Result) { o.Released(finished(r)) }
	}
	r, file, err := o.Keep(ctx, of, func(r *algorithms.Result) ([]byte, int, error) { return finished(r).Size() }, train)
	if r == nil {
		return nil, err
	}
	done := &Trained{Model: finished(r), File: file, Restored: r.Restored}
	if o.Public || of.Public {
		done.Seconds = r.Seconds
	}
	return done, err
}

// Keep is Do for a result that is not a model. text is the content of its file, and a length
// that is never less than its own and does not depend on what was released: room for so many
// bytes is found before the release. It returns the result, and the name of the file.
func (o Run) Keep(ctx context.Context, of Source, text func(*algorithms.Result) (text []byte, most int, err error), train func(algorithms.Options) (*algorithms.Result, error)) (*algorithms.Result, string, error) {
	p := algorithms.Options{
		DataID: cmp.Or(o.DataID, of.DataID), Public: of.Public || o.Public,
		Run: o.ID, Resume: o.Resume, Source: o.Source, Tracker: algorithms.Tracker{OnStep: o.Progress}, Trace: o.Trace, Charged: o.Charged,
	}
	inputs := of.Files
	switch {
	case p.Public && o.Resume != "":
		return nil, "", input.Errorf("dyad: a resumed run was charged, but these data are public and nothing is charged; leave it out")
	case !p.Public && (o.Ledger == nil || p.DataID == ""):
		return nil, "", input.Errorf("dyad: a run on private data needs Run.Ledger (OpenLedger) and a data id; data that are public have to be declared so (Run.Public)")
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
		if p.Fingerprint, err = of.Fingerprint(o.Ledger); err != nil {
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
	if o.released != nil {
		o.released(r)
	}
	name, err := shelf.Saved(r)
	if err != nil && name == "" {
		err = errors.Join(ErrUnsaved, err)
	}
	return r, name, err
}

// Recover gives the model of run o.Resume the name o.Out if the run was released by a program
// that was stopped before it could: nothing is charged, and no data are needed. It returns nil
// for a run that released nothing or has saved its model.
func (o Run) Recover() (*Trained, error) {
	name, released, err := o.RecoverFile()
	if name == "" {
		return nil, err
	}
	m, problem := Load(name)
	if problem != nil {
		return nil, errors.Join(err, problem)
	}
	return &Trained{Model: m, File: name, Recovered: true, Released: released}, err
}

// RecoverFile is Recover for a result of Keep: the name of its file, and when it was released.
func (o Run) RecoverFile() (name string, released time.Time, err error) {
	if o.Ledger == nil || o.Resume == "" {
		return "", released, input.Errorf("dyad: a run is recovered by its ledger and its id (Run.Ledger, Run.Resume)")
	}
	out, err := o.output(o.Ledger.Path())
	if out == nil || err != nil {
		return "", released, err
	}
	name, e, err := o.log().Recover(o.Ledger, o.Resume, out)
	return name, e.Time, err
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

// Fingerprint is the ledger's of the files. One file of data, and those of its labels or pairs,
// are hashed one after the other. Of several, the SHA-256 of each is hashed: contents and their
// order count, names do not, and rows that move to another file make other data. Pipes and devices
// are refused.
func (s Source) Fingerprint(l *Ledger) (string, error) {
	from, to := io.Pipe()
	copying := tasks.Group{Stop: func() { to.CloseWithError(io.ErrUnexpectedEOF) }}
	copying.Go(func() { to.CloseWithError(s.copy(to)) })
	print, err := l.Fingerprint(from)
	from.Close() // ends the copy if the ledger stopped early
	copying.Wait()
	return print, input.As(err)
}

// copy writes what a fingerprint is of.
func (s Source) copy(to io.Writer) error {
	for _, name := range s.Files {
		if i := slices.IndexFunc(s.packs, func(p *dataset.Used) bool { return p.Name == name }); i >= 0 { // as it is used, not as its name says now
			if _, err := to.Write(s.packs[i].Content()); err != nil {
				return err
			}
			continue
		}
		// A pipe was read by now: its rest, nothing, would stand for records that a resumed run could replace.
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return cmp.Or(err, input.Errorf("%s is a pipe or a device; private data are charged by their content, which must be there to be compared again: store them in a file", name))
		}
		f, err := dataset.OpenContent(name)
		if err != nil {
			return err
		}
		h, into := sha256.New(), to
		if s.DataFiles > 1 {
			into = h
		}
		_, err = io.Copy(into, f)
		f.Close()
		if err == nil && s.DataFiles > 1 {
			_, err = to.Write(h.Sum(nil))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Join is what every process of a team does between the plan and the training: it takes this rank's
// share of the records of d, which are all, and compares program, instruction set, schema, plan,
// records and shares with those of the other ranks, and what the caller adds. The records are compared
// by a hash of all in their order: in files of another order a record could be in the shares of two
// ranks, and count twice. The plan must be for a Device of the team. Rank 0 then calls Train on the share with Run.Team, made by Lead, the others Serve.
//
// An error that wraps ErrInput says where the ranks differ; every rank gets it, and nothing was
// charged. Any other means that the team is lost.
func (t *Training) Join(ctx context.Context, crew engine.Team, d *Data, more ...team.Statement) (share *Data, err error) {
	if err := t.fits(d); err != nil {
		return nil, err
	}
	if !t.team {
		return nil, input.Errorf("dyad: the plan is for one process; open the Device with DeviceOptions.Team")
	}
	program, err := programHash()
	if err != nil {
		return nil, err
	}
	instructions, err := cpu.Instructions()
	if err != nil {
		return nil, err
	}
	schema, err := json.Marshal(d.encoder)
	if err != nil {
		return nil, err
	}
	share = d.with(d.Records.Shard(engine.Share(t.Spec.Kernel, crew.Rank())))
	share.groups = d.groups // of all records, which kernels of query groups need
	same := append([]team.Statement{
		{Name: "the program", Text: program},
		{Name: "the instruction set that sums are computed with", Text: instructions},
		{Name: "the schema", Text: string(schema)},
		{Name: "the plan", Text: t.Report().Text()},
	}, more...)
	same = append(same, team.Statement{Name: "the contents of the records, or their order", Text: team.DigestOf(d.Records.Digests(0, d.Records.Units()))})
	if err = team.Agree(ctx, crew, t.Spec.Kernel, share.Records, same); errors.Is(err, team.ErrDisagree) {
		err = input.As(err)
	}
	return share, err
}

// Lead is the team for Run.Team, on rank 0 after Join. Stop it when no more runs come.
func (t *Training) Lead(crew engine.Team, share *Data) *team.Leader {
	return team.Lead(crew, t.Spec.Kernel, share.Records)
}

// Serve computes this rank's part of what rank 0 trains, after Join, until that stops its Leader. It
// reads no ledger and draws no noise. Before a release rank 0 asks every rank whether the packs that it reads are what they were. After
// an error the process must end; one that wraps team.ErrInputs names a pack of this rank, and comes after the stop.
func (t *Training) Serve(ctx context.Context, crew engine.Team, share *Data) error {
	return team.Serve(ctx, crew, t.Spec.Kernel, share.Records, share.Source().unchanged)
}

// programHash is the SHA-256 of the program that runs.
func programHash() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("dyad: the program's own file: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("dyad: the program's own file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("dyad: the program's own file: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
