package command

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"dyad/engine/dataset"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/files"
)

// draftFlags are the flags of commands that draft a schema.
type draftFlags struct {
	File     string `arg:"" help:"Data file: CSV, ARFF, JSON lines, Parquet, an Excel workbook (.xlsx), LIBSVM, NPY, NPZ or IDX, also compressed by gzip or zstd."`
	Force    bool
	Label    string `placeholder:"COLUMN" help:"The label. Default: the column with two values, if there is only one."`
	Positive string `placeholder:"VALUE" help:"The value of the label that should score high. Default: a guess, to be checked."`
	Decimal  string `enum:"auto,point,comma" default:"auto" placeholder:"SIGN" help:"Decimal separator of a CSV file: point, comma, or auto, which looks at the file."`
	Sheet    string `placeholder:"NAME" help:"The sheet of a workbook. Default: its only sheet with cells."`
	Answers  string `placeholder:"FILE" help:"YAML file of what is known about columns without the data, lines such as \"age: {range: [18, 110]}\" with the keys of a schema."`
}

// draft drafts a schema. If ask is set, it asks a person for facts that the file does not determine.
func (f draftFlags) draft(a *app, ask bool) (*dataset.Drafted, error) {
	o := dataset.DraftOptions{Label: f.Label, Positive: f.Positive, Sheet: f.Sheet, Answers: map[string]dataset.Answer{}}
	o.Decimal = map[string]string{"point": ".", "comma": ","}[f.Decimal]
	if f.Answers != "" {
		text, err := files.ReadStart(f.Answers, strictyaml.MaxBytes+1)
		if err != nil {
			return nil, badInput("cannot read the answers: %s", err)
		}
		if o.Answers, err = dataset.ParseAnswers(text); err != nil {
			return nil, asInput(err)
		}
	}
	draft := func() (*dataset.Drafted, error) {
		progress, done := a.rowProgress("reading")
		o.Progress = progress
		d, err := dataset.Draft(f.File, o)
		done()
		return d, a.asInput(err)
	}
	d, err := draft()
	if ask && d != nil && a.ctx.Err() == nil {
		d, err = a.interview(d, err, &o, draft)
	}
	if err == nil {
		a.guesses(d, o)
	}
	return d, err
}

type dataSchemaCmd struct {
	draftFlags
	Out string `writes:"schema" short:"o" placeholder:"FILE" help:"Schema file to write. Default: standard output."`
	Ask bool   `help:"Ask on a terminal, as \"dyad start\" does."`
}

type schemaResult struct {
	Schema string `json:"schema"`
	Out    string `json:"out,omitempty"`
	// Label, LabelCandidates, Ignored and FromData hold names of columns that the user has to check.
	Label           string   `json:"label,omitempty"`
	LabelCandidates []string `json:"label_candidates,omitempty"`
	Ignored         []string `json:"ignored,omitempty"`
	FromData        []string `json:"from_data,omitempty"`
}

// Run drafts a schema.
func (c *dataSchemaCmd) Run(a *app) error {
	out, err := newSchemaOutput(c.Out, c.Force, c.File, c.Answers)
	if err != nil {
		return err
	}
	if c.Ask && !a.atTerminal() {
		return badInput("--ask needs a terminal for standard input and standard error; otherwise, use --answers FILE")
	}
	draft, err := c.draft(a, c.Ask)
	if err != nil {
		return err
	}
	r := schemaResult{Schema: string(draft.Schema), Out: c.Out, Label: draft.Label, LabelCandidates: draft.Candidates,
		Ignored: draft.Ignored, FromData: draft.FromData}
	if c.Out == "" {
		return a.emit(r, string(draft.Schema))
	}
	if err := out.write(draft.Schema, draft.Memory); err != nil {
		return err
	}
	return a.emit(r, "draft written to "+c.Out+"; "+left(draft)+"\n")
}

// schemaOutput is an output file for a schema that may contain ranges from the data, and the file next to it
// that stores which values these are.
type schemaOutput struct{ schema, memory *files.Output }

// newSchemaOutput calls files.NewOutput for both files. If path is empty, the result is empty.
func newSchemaOutput(path string, force bool, inputs ...string) (o schemaOutput, err error) {
	if path == "" {
		return o, nil
	}
	if o.schema, err = files.NewOutput(path, force, inputs...); err != nil {
		return o, err
	}
	memory := o.schema.Path + dataset.DraftedEnding
	if o.memory, err = files.NewOutput(memory, force, inputs...); err == nil {
		err = asInput(dataset.LookDrafted(memory)) // even with force, a file with other content is not replaced
	}
	return o, err
}

// write writes both files, readable only by their owner. If memory is nil, it removes the memory of an earlier draft.
func (o schemaOutput) write(schema, memory []byte) error {
	if memory != nil {
		if err := o.memory.Write(files.Private, memory); err != nil {
			return err
		}
	}
	if err := o.schema.Write(files.Private, schema); err != nil || memory != nil {
		return err
	}
	if err := os.Remove(o.memory.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// left describes the remaining work on the ranges of a draft.
func left(d *dataset.Drafted) string {
	switch {
	case len(d.Columns) == 0: // one range for all numbers
		return "replace its ranges by public ranges, then delete its line bounds_from_data"
	case len(d.FromData) == 0:
		return "every range in the schema comes from an answer; keep these ranges"
	}
	return "replace its ranges by public ranges, then delete their from_data marks; the values from the data are " +
		"kept in the file that ends in " + dataset.DraftedEnding + ", next to the schema"
}

// guesses lists the uncertain decisions of the draft and its open questions.
func (a *app) guesses(d *dataset.Drafted, o dataset.DraftOptions) {
	switch {
	case d.Candidates != nil:
		a.note("dyad: several columns have two values, so the draft has no label; name the label column with --label: %s",
			strings.Join(d.Candidates, ", "))
	case d.Label != "" && o.Label == "" && o.Answers[d.Label].Role == "":
		a.note("dyad: check the draft: the label column was guessed to be %s", d.Label)
	}
	if len(d.Ignored) > 0 {
		a.note("dyad: check in the draft why these columns are ignored: %s",
			strings.Join(d.Ignored, ", "))
	}
}
