package command

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"dyad/engine/dataset"
	"dyad/internal/files"
)

type dataConvertCmd struct {
	In        dataFiles `arg:"" help:"Data file. A folder or a quoted pattern counts as one file."`
	Out       string    `arg:"" help:"File to write."`
	Schema    string    `required:"" placeholder:"FILE"`
	To        string    `name:"format" aliases:"to" placeholder:"FORMAT" help:"csv or parquet. Default: by the name of the file to write."`
	Encoded   bool      `help:"Write the records as training sees them: scaled numbers within norm 1, labels in [-1, 1]."`
	OutSchema string    `not:"encoded" why:"the rows are scaled already" writes:"schema" placeholder:"FILE" help:"Also write the schema of the new file. Not with --encoded."`
	Force     bool
	labelsFlag
}

type convertResult struct {
	Out    string `json:"out"`
	Schema string `json:"schema,omitempty"`
	Format string `json:"format"`
	Rows   int    `json:"rows"`
}

func (c *dataConvertCmd) format() (format string, zip bool, err error) {
	name, zip := strings.CutSuffix(strings.ToLower(c.Out), ".gz")
	if format = c.To; format == "" {
		format = strings.TrimPrefix(filepath.Ext(name), ".")
	}
	switch {
	case format == "":
		return "", false, badInput("the name %s does not end in a known format; add --format csv or parquet", c.Out)
	case format != dataset.FormatCSV && format != dataset.FormatParquet:
		return "", false, badInput("convert writes CSV and Parquet, not %s; type: dyad data convert %s %s.parquet --schema %s", format, c.In.names[0], strings.TrimSuffix(name, filepath.Ext(name)), c.Schema)
	case zip && format == dataset.FormatParquet:
		return "", false, badInput("%s files are already compressed; leave out .gz", format)
	}
	return format, zip, nil
}

// Run converts a file.
func (c *dataConvertCmd) Run(a *app) error {
	format, zip, err := c.format()
	if err != nil {
		return err
	}
	s, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return asInput(err)
	}
	out, err := files.NewOutput(c.Out, c.Force, c.In.and(c.Schema, c.Labels)...)
	if err != nil {
		return err
	}
	outSchema, err := newSchemaOutput(c.OutSchema, c.Force, c.In.and(c.Schema, c.Labels)...)
	if err != nil {
		return err
	}
	r := convertResult{Out: c.Out, Schema: c.OutSchema, Format: format}
	progress, done := a.rowProgress("converting")
	var schema *dataset.Schema
	fill := func(w io.Writer) error {
		var err error
		r.Rows, schema, err = dataset.Convert(c.In.names[0], s, w, format,
			dataset.ConvertOptions{Also: c.In.names[1:], Encoded: c.Encoded, LabelsFile: c.Labels, Progress: progress})
		return err
	}
	if zip {
		plain := fill
		fill = func(w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(plain(z), z.Close())
		}
	}
	err = out.Fill(files.Private, fill)
	done()
	if err := a.filled(err); err != nil {
		return err
	}
	if c.OutSchema != "" {
		memory := schema.Remember() // memory of the values marked as taken from the data
		text, err := schema.YAML()
		if err != nil {
			return err
		}
		if err := outSchema.write(text, memory); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%d rows written to %s (%s)\n", r.Rows, r.Out, r.Format)
	if r.Schema != "" {
		text += "its schema is " + r.Schema + "\n"
	}
	return a.emit(r, text)
}
