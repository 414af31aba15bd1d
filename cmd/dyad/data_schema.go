package main

import (
	"bytes"
	"io"
	"os"
	"strings"

	"dyad/engine/dataset"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/files"
)

// draftFlags are embedded by commands that draft a schema.
type draftFlags struct {
	File     string `arg:"" help:"Data file: CSV, ARFF, JSON lines, Parquet, an Excel workbook (.xlsx), LIBSVM, NPY, NPZ or IDX, gzip or zstd or neither."`
	Force    bool   `help:"Replace an existing file."`
	Label    string `placeholder:"COLUMN" help:"The label. Default: the column with two values, if there is only one."`
	Positive string `placeholder:"VALUE" help:"The value of the label that should score high. Default: a guess, to be checked."`
	Decimal  string `enum:"auto,point,comma" default:"auto" placeholder:"SIGN" help:"What separates the fraction of a number in a CSV file: point, comma, or auto, where the file tells."`
	Sheet    string `placeholder:"NAME" help:"The sheet of a workbook. Default: its only sheet with cells."`
	Answers  string `placeholder:"FILE" help:"YAML file of what is known about columns without the data, lines such as \"age: {range: [18, 110]}\" with the keys of a schema."`
}

// draft drafts a schema. With ask it asks a person for what the file does not tell.
func (f draftFlags) draft(a *app, ask bool) (*dataset.Drafted, error) {
	o := dataset.DraftOptions{Label: f.Label, Positive: f.Positive, Sheet: f.Sheet, Answers: map[string]dataset.Answer{}}
	o.Decimal = map[string]string{"point": ".", "comma": ","}[f.Decimal]
	if f.Answers != "" {
		var err error
		if o.Answers, err = readAnswers(f.Answers); err != nil {
			return nil, err
		}
	}
	draft := func() (*dataset.Drafted, error) {
		progress, done := a.rowProgress("reading")
		o.Progress = progress
		d, err := dataset.Draft(f.File, o)
		if done(); a.ctx.Err() != nil {
			return nil, a.ctx.Err()
		}
		return d, asInput(err)
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

// Help shows examples.
func (dataSchemaCmd) Help() string {
	return `Ranges and categories of the draft come from the data and are marked (from_data). They must be replaced by
public ones (what such a measurement can be) before a guarantee means anything; until the last mark is gone
every report says "bounds not private". Answers, from a file or asked for, are not marked. To compare them with
the data is not private: "dyad data inspect" does, and says so.

Examples:
  dyad data schema patients.csv
  dyad data schema patients.csv --label outcome --out draft.yaml
  dyad data schema patients.csv --answers known.yaml --out known-schema.yaml`
}

type schemaResult struct {
	Schema string `json:"schema"`
	Out    string `json:"out,omitempty"`
	// Label, LabelCandidates, Ignored and FromData are names of columns, what there is to check.
	Label           string   `json:"label,omitempty"`
	LabelCandidates []string `json:"label_candidates,omitempty"`
	Ignored         []string `json:"ignored,omitempty"`
	FromData        []string `json:"from_data,omitempty"`
}

// Run drafts a schema.
func (c *dataSchemaCmd) Run(a *app) error {
	out, err := files.NewOutput(c.Out, c.Force, c.File, c.Answers)
	if err != nil {
		return err
	}
	if c.Ask && !a.atTerminal() {
		return badInput("--ask needs a terminal as standard input and standard error, since it shows values of records; give what is known by --answers FILE")
	}
	draft, err := c.draft(a, c.Ask)
	if err != nil {
		return err
	}
	r := schemaResult{Schema: string(draft.Schema), Out: c.Out, Label: draft.Label, LabelCandidates: draft.Candidates, Ignored: draft.Ignored, FromData: draft.FromData}
	if c.Out == "" {
		return a.emit(r, string(draft.Schema))
	}
	if err := out.Write(files.Private, draft.Schema); err != nil { // its ranges are those of the data
		return err
	}
	return a.emit(r, "draft written to "+c.Out+"; "+left(draft)+"\n")
}

// left is what is left to do about the ranges of a draft.
func left(d *dataset.Drafted) string {
	switch {
	case bytes.Contains(d.Schema, []byte("\nbounds_from_data: true")):
		return "replace its ranges by public ones, then delete its line bounds_from_data"
	case len(d.FromData) == 0:
		return "every range in it is an answer"
	}
	return "replace its ranges by public ones, then delete their marks (from_data)"
}

func readAnswers(path string) (map[string]dataset.Answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, badInput("cannot read the answers: %s", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, strictyaml.MaxBytes+1))
	if err != nil {
		return nil, badInput("cannot read the answers: %s", err)
	}
	answers, err := dataset.ParseAnswers(text)
	return answers, asInput(err)
}

// guesses says what the draft decided and may have got wrong, and what it left open.
func (a *app) guesses(d *dataset.Drafted, o dataset.DraftOptions) {
	switch {
	case d.Candidates != nil:
		a.note("dyad: several columns have two values, and the draft has no label: name it with --label: %s", strings.Join(d.Candidates, ", "))
	case d.Label != "" && o.Label == "" && o.Answers[d.Label].Role == "":
		a.note("dyad: check the draft: label guessed: %s", d.Label)
	}
	if len(d.Ignored) > 0 {
		a.note("dyad: check the draft: columns ignored, the reasons are in it: %s", strings.Join(d.Ignored, ", "))
	}
}
