package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"dyad/internal/files"
)

type startCmd struct {
	draftFlags
	Out    string `writes:"schema" short:"o" placeholder:"FILE" help:"Schema file to write. Default: the name of the data file, ending in .yaml."`
	Recipe string `writes:"recipe" placeholder:"FILE" help:"File of flags to write, for \"dyad train --config\". Default: the name of the schema with -train."`
}

type startResult struct {
	schemaResult
	Recipe string `json:"recipe,omitempty"`
}

// Run writes the schema and the recipe.
func (c *startCmd) Run(a *app) error {
	stem := filepath.Base(c.File)
	for range 2 { // for names such as x.csv.gz
		stem = strings.TrimSuffix(stem, filepath.Ext(stem))
	}
	c.Out = cmp.Or(c.Out, stem+".yaml")
	c.Recipe = cmp.Or(c.Recipe, strings.TrimSuffix(c.Out, filepath.Ext(c.Out))+"-train.yaml")
	if files.Same(c.Out, c.Recipe) || filepath.Clean(c.Out) == filepath.Clean(c.Recipe) {
		return badInput("--out and --recipe name the same file; name two files")
	}
	out, err := newSchemaOutput(c.Out, c.Force, c.File, c.Answers)
	if err != nil {
		return err
	}
	recipe, err := files.NewOutput(c.Recipe, c.Force, c.File, c.Answers)
	if err != nil {
		return err
	}
	ask := a.atTerminal()
	if !ask && c.Answers == "" {
		a.note("dyad: no questions are asked, because standard input or standard error is not a terminal; use " +
			"--answers FILE")
	}
	d, err := c.draft(a, ask)
	if err != nil {
		return err
	}
	if err := out.write(d.Schema, d.Memory); err != nil {
		return err
	}
	r := startResult{schemaResult: schemaResult{Out: c.Out, Label: d.Label, LabelCandidates: d.Candidates,
		Ignored: d.Ignored, FromData: d.FromData}}
	text := fmt.Sprintf("schema      %s; %s\n", c.Out, left(d))
	if d.Candidates != nil { // ask for the label, because training needs one
		return a.emit(r, text+"next        name the outcome: dyad start "+c.File+" --label COLUMN --force\n")
	}
	if err := recipe.Write(files.Shared, fmt.Appendf(nil, `# What "dyad train --config %s" does; a flag on the command line overrides a line. Paths are relative to where it runs.
data: %s
schema: %s
epsilon: 1 # "dyad help choosing" says what it means and costs
holdout: 0.2 # the share that does not train and measures the model
holdout-epsilon: 0.5 # what these figures cost; the plan has the sum
out: %s
`, c.Recipe, quoted(c.File), quoted(c.Out), quoted(stem+"-model.json"))); err != nil {
		return err
	}
	r.Recipe = c.Recipe
	size := " -n N"
	if d.Persons > 0 { // the plan takes the number of persons from the schema
		size = ""
	}
	return a.emit(r, text+fmt.Sprintf(`recipe      %[1]s
next        read %[2]s, then
            dyad plan%[3]s --config %[1]s --report plan.html # the page to sign
            dyad train --config %[1]s --approved plan.html
`, c.Recipe, c.Out, size))
}

// quoted returns a text in quotes for YAML.
func quoted(text string) string {
	quoted, _ := json.Marshal(text) // cannot fail for a string
	return string(quoted)
}
