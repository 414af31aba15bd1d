package main

import (
	"bytes"
	"fmt"

	"dyad/engine/dataset"
	"dyad/internal/files"
)

type dataCmd struct {
	Schema  dataSchemaCmd  `cmd:"" help:"Draft a schema for a data file."`
	Inspect dataInspectCmd `cmd:"" help:"Describe a data file as its schema reads it. The figures are private."`
	Convert dataConvertCmd `cmd:"" help:"Write the rows of a data file in another format."`
	Synth   dataSynthCmd   `cmd:"" help:"Write the synthetic clinical data set and its schema."`
	List    dataListCmd    `cmd:"" help:"List the public data sets that can be fetched."`
	Fetch   dataFetchCmd   `cmd:"" help:"Fetch a public data set into the cache."`
	Verify  dataVerifyCmd  `cmd:"" help:"Check files against the catalogue of public data sets."`
}

// labelsFlag names the labels of formats that keep them in a second file.
type labelsFlag struct {
	Labels string `placeholder:"FILE" help:"File of the labels, for NPY and IDX. Default: what the schema says, else the usual name next to the data."`
}

// options are o with the flag.
func (f labelsFlag) options(o dataset.Options) dataset.Options {
	o.LabelsFile = f.Labels
	return o
}

type dataSynthCmd struct {
	File   string `arg:"" help:"CSV file to write."`
	Schema string `placeholder:"FILE" help:"Also write its schema."`
	N      int    `positive:"" short:"n" default:"2000" help:"Number of records."`
	Seed   uint64 `default:"1" help:"Seed; the file is the same for the same seed and n."`
	Force  bool   `help:"Replace existing files."`
}

// Help shows examples.
func (dataSynthCmd) Help() string {
	return `No real person is in the file; its schema marks it public.

Examples:
  dyad data synth clinic.csv --schema clinic.yaml
  dyad data synth small.csv -n 200 --seed 7`
}

type synthResult struct {
	File    string `json:"file"`
	Schema  string `json:"schema,omitempty"`
	Records int    `json:"records"`
}

// Run writes the files.
func (c *dataSynthCmd) Run(a *app) error {
	if c.N < 2 {
		return badInput("-n is %d, want at least 2", c.N)
	}
	for _, f := range []string{c.File, c.Schema} {
		if err := checkOut(f, c.Force); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	if err := dataset.WriteSyntheticClinical(&text, c.N, c.Seed); err != nil {
		return err
	}
	if err := files.Replace(c.File, text.Bytes()); err != nil {
		return err
	}
	if c.Schema != "" {
		if err := files.Replace(c.Schema, []byte(dataset.SyntheticClinicalYAML())); err != nil {
			return err
		}
	}
	return a.emit(synthResult{c.File, c.Schema, c.N}, fmt.Sprintf("%d synthetic records written to %s\n", c.N, c.File))
}
