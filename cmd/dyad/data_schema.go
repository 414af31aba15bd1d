package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"dyad/engine/dataset"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/files"
)

type dataSchemaCmd struct {
	File     string `arg:"" help:"Data file: CSV, ARFF, JSON lines, Parquet, an Excel workbook (.xlsx), LIBSVM, NPY, NPZ or IDX, gzip or zstd or neither."`
	Out      string `writes:"schema" short:"o" placeholder:"FILE" help:"Schema file to write. Default: standard output."`
	Force    bool   `help:"Replace an existing file."`
	Label    string `placeholder:"COLUMN" help:"The label. Default: the column with two values, if there is only one."`
	Positive string `placeholder:"VALUE" help:"The value of the label that should score high. Default: a guess, to be checked."`
	Decimal  string `enum:"auto,point,comma" default:"auto" placeholder:"SIGN" help:"What separates the fraction of a number in a CSV file: point, comma, or auto, where the file tells."`
	Sheet    string `placeholder:"NAME" help:"The sheet of a workbook. Default: its only sheet with cells."`
	Answers  string `placeholder:"FILE" help:"YAML file of what is known about columns without the data, lines such as \"age: {range: [18, 110]}\" with the keys of a schema."`
	Ask      bool   `help:"Ask for the range or the categories of each column, on standard input."`
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
  dyad data schema patients.csv --ask --out asked.yaml
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
	o := dataset.DraftOptions{Label: c.Label, Positive: c.Positive, Sheet: c.Sheet, Answers: map[string]dataset.Answer{}}
	o.Decimal = map[string]string{"point": ".", "comma": ","}[c.Decimal]
	if c.Answers != "" {
		if o.Answers, err = readAnswers(c.Answers); err != nil {
			return err
		}
	}
	progress, done := a.rowProgress("reading")
	o.Progress = progress
	draft, err := dataset.Draft(c.File, o)
	done()
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err != nil {
		return asInput(err)
	}
	if c.Ask {
		if err := a.ask(draft, &o); err != nil {
			return err
		}
		draft, err = dataset.Draft(c.File, o)
		if done(); a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if err != nil {
			return asInput(err)
		}
	}
	a.guesses(draft, o.Label)
	r := schemaResult{Schema: string(draft.Schema), Out: c.Out, Label: draft.Label, LabelCandidates: draft.Candidates, Ignored: draft.Ignored, FromData: draft.FromData}
	if c.Out == "" {
		return a.emit(r, string(draft.Schema))
	}
	if err := out.Write(files.Private, draft.Schema); err != nil { // its ranges are those of the data
		return err
	}
	next := "; replace its ranges by public ones, then delete their marks (from_data)\n"
	if bytes.Contains(draft.Schema, []byte("\nbounds_from_data: true")) {
		next = "; replace its ranges by public ones, then delete its line bounds_from_data\n"
	} else if len(draft.FromData) == 0 {
		next = "; every range in it is an answer\n"
	}
	return a.emit(r, "draft written to "+c.Out+next)
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
func (a *app) guesses(d *dataset.Drafted, named string) {
	switch {
	case d.Candidates != nil:
		a.note("dyad: several columns have two values, and the draft has no label: name it with --label: %s", strings.Join(d.Candidates, ", "))
	case d.Label != "" && named == "":
		a.note("dyad: check the draft: label guessed: %s", d.Label)
	}
	if len(d.Ignored) > 0 {
		a.note("dyad: check the draft: columns ignored, the reasons are in it: %s", strings.Join(d.Ignored, ", "))
	}
}

// ask asks for the label and for what is known about each column whose range would come from
// the data. The question shows nothing of the data but names. An empty line leaves a column as it
// is, marked.
func (a *app) ask(d *dataset.Drafted, o *dataset.DraftOptions) error {
	s, err := dataset.ParseDraft(d.Schema)
	if err != nil {
		return asInput(err)
	}
	asker := a.asker()
	read := func(format string, args ...any) (string, error) {
		answer, err := asker.ask(format, args...)
		if err == io.EOF {
			fmt.Fprintln(a.stderr)
			err = nil // the rest stays open
		}
		return answer, err
	}
	for o.Label == "" && len(d.Candidates) > 0 {
		answer, err := read("Which column is the label (%s)? ", strings.Join(d.Candidates, ", "))
		if err != nil || answer == "" {
			return err
		}
		if slices.Contains(d.Candidates, answer) {
			o.Label = answer
		}
	}
	fmt.Fprintln(a.stderr, "For each column: what can its value be? Answer from what is known without the data.\nAn empty line decides later; \"ignore\" leaves the column out.")
	for _, c := range s.Columns {
		if !c.FromData || c.Name == o.Label {
			continue
		}
		kind := "a number; smallest and largest value"
		switch {
		case c.Date != nil:
			kind = "a date; first and last day, YYYY-MM-DD"
		case c.Categories != nil:
			kind = "a text; its values, separated by commas"
		}
		for {
			answer, err := read("%s (%s): ", c.Name, kind)
			if err != nil {
				return err
			}
			if answer == "" {
				break
			}
			known, problem := parseAnswer(answer, c)
			if problem == "" {
				o.Answers[c.Name] = known
				break
			}
			fmt.Fprintln(a.stderr, "  "+problem)
		}
	}
	return nil
}

// parseAnswer reads what somebody typed about a column of a draft.
func parseAnswer(text string, c dataset.Column) (known dataset.Answer, problem string) {
	if text == "ignore" {
		return dataset.Answer{Role: dataset.RoleIgnore}, ""
	}
	known = dataset.Answer{Transform: c.Transform, Suffix: c.Suffix, Unknown: c.Unknown}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
	switch {
	case c.Categories != nil:
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(known.Categories, word) {
				known.Categories = append(known.Categories, word)
			}
		}
		if len(known.Categories) < 2 {
			return known, "want at least two values, separated by commas"
		}
	case len(words) != 2:
		return known, "want two values, separated by a blank"
	case c.Date != nil:
		known.Date = &dataset.DateFormat{Format: c.Date.Format, From: words[0], To: words[1]}
		if !known.Date.Valid() {
			return known, "want two days in order, such as 2015-01-01 2024-12-31"
		}
	default:
		lo, err1 := strconv.ParseFloat(words[0], 64)
		hi, err2 := strconv.ParseFloat(words[1], 64)
		if err1 != nil || err2 != nil || !(lo < hi) {
			return known, "want two numbers with decimal points, the smaller one first"
		}
		known.Range = []float64{lo, hi}
		if lo < 0 {
			known.Transform = ""
		}
	}
	return known, ""
}
