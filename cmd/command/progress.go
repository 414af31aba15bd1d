package command

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"dyad/algorithms"
	"dyad/engine/dataset"
)

// tracker returns a tracker that shows a progress bar on an interactive terminal or logs progress.
func (a *app) tracker(what string) algorithms.Tracker {
	if !a.interactive && (a.logs == nil || a.quiet) {
		return algorithms.Tracker{}
	}
	b := a.describedTracker(what)
	b.plain = a.percentOnly
	return algorithms.Tracker{OnStep: b.Step}
}

// describedTracker returns a tracker whose text can change.
func (a *app) describedTracker(what string) *barTracker {
	b := &barTracker{a: a, what: what, silent: !a.interactive}
	if a.logs != nil && !a.quiet {
		b.logs = a.logs.tenths(func() string { return b.what })
	}
	return b
}

type barTracker struct {
	logs   func(done, total int) // logs progress instead of the bar
	silent bool
	plain  bool // show no times, because times depend on how many rows persons have
	a      *app
	what   string
	bar    *progressbar.ProgressBar
}

// describe changes the text before the bar.
func (b *barTracker) describe(what string) {
	b.what = what
	if b.bar != nil {
		b.bar.Describe(what)
	}
}

// Step moves the bar. The bar disappears when all steps are completed.
func (b *barTracker) Step(done, total int) {
	if b.logs != nil {
		b.logs(done, total)
	}
	if b.silent {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(b.a.bar()),
			progressbar.OptionSetDescription(b.what),
			progressbar.OptionSetPredictTime(!b.plain),
			progressbar.OptionSetElapsedTime(!b.plain),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = b.bar.Set(done) // an error of the terminal does not stop a run
	b.a.unfinished(done < total)
}

// rowProgress returns functions that show the number of rows read so far on an interactive terminal and let an
// interrupt stop the load. done clears the line.
func (a *app) rowProgress(what string) (progress func(rows int) error, done func()) {
	shown := false
	progress = func(rows int) error {
		if a.interactive {
			shown = true
			fmt.Fprintf(a.bar(), "\r%s: %d rows", what, rows)
			a.unfinished(true)
		}
		return a.ctx.Err()
	}
	done = func() {
		if shown {
			fmt.Fprint(a.bar(), "\r\x1b[K")
			a.unfinished(false)
		}
	}
	return progress, done
}

// readData loads files and shows the progress. Invalid content is a bad input error. After an interrupt the
// error is context.Canceled.
func (a *app) readData(from dataFiles, s *dataset.Schema, o dataset.Options) (*dataset.Dataset, error) {
	if slices.Contains(from.names, standardInput) && !exists(standardInput) {
		return nil, badInput("this command cannot read standard input (--data %s); save the data to a file", standardInput)
	}
	progress, done := a.rowProgress("reading")
	// the number of rows is not public, and neither is the time, which grows with the rows
	if o.Progress = progress; s.ByPerson() {
		o.Progress, a.percentOnly = func(int) error { return a.ctx.Err() }, true
	}
	o.Also = from.names[1:]
	d, err := dataset.Load(from.names[0], s, o)
	done()
	return d, a.asInput(err)
}

// readUnlabelled is like readData, for records to which a model is applied. They can have columns that the
// model does not know.
func (a *app) readUnlabelled(from dataFiles, s *dataset.Schema, unknown unknownFlag) (*dataset.Dataset, error) {
	s = unknown.apply(s)
	o := dataset.Options{Labels: dataset.LabelsIgnored, KeepIDs: true, Persons: dataset.IgnorePersons, IgnoreOthers: true}
	var d *dataset.Dataset
	var err error
	switch piped := slices.Contains(from.names, standardInput); {
	case !piped:
		d, err = a.readData(from, s, o)
	case len(from.names) > 1:
		return nil, badInput("--data %s is standard input and cannot be combined with files; name only files", standardInput)
	default:
		d, err = dataset.LoadReader("standard input", &liveReader{ctx: a.ctx, r: a.stdin}, s, o)
		err = a.asInput(err)
	}
	// do not advise a change of the schema, because the schema of a model is fixed
	if p := (*dataset.ParseError)(nil); errors.As(err, &p) && p.Rule == dataset.RuleCategory {
		p.Rule = "the category is not in the schema; to accept unknown categories, use --set unknown=other"
	}
	if err == nil && d.Others {
		a.note("dyad: columns of %s that the model does not know were ignored", from)
	}
	return d, err
}

// unknownFlag is the --unknown flag of the commands that apply a model.
type unknownFlag struct {
	Unknown string `enum:"schema,other,error" default:"schema" placeholder:"other|error" help:"For unknown categories: other encodes them as no category, error stops. Default: as in the training schema, else error."`
}

// apply returns the schema with the policy of the flag for every categorical column. The encoding of known
// categories does not change.
func (f unknownFlag) apply(s *dataset.Schema) *dataset.Schema {
	if f.Unknown == "schema" {
		return s
	}
	out := *s
	out.Columns = slices.Clone(s.Columns)
	for i := range out.Columns {
		c := &out.Columns[i]
		if len(c.Categories) == 0 {
			continue
		}
		if c.Unknown = ""; f.Unknown == dataset.UnknownOther {
			c.Unknown = dataset.UnknownOther
		}
	}
	return &out
}

// standardInput is the name that stands for data on standard input.
const standardInput = "-"

// readTraining is like readData, for training. Public records with nothing to compare are a bad input error.
// Private records are accepted in any case. Whether they have only one class is a joint property of well-formed
// records, which must not end a run or be revealed without a charge.
func (a *app) readTraining(from dataFiles, s *dataset.Schema, o dataset.Options,
	public bool) (*dataset.Dataset, error) {
	d, err := a.readData(from, s, o)
	if err == nil && o.Labels == dataset.LabelsRequired && (public || s.Public) {
		err = asInput(d.CheckPairs())
	}
	return d, err
}
