package main

import "dyad/engine/dataset"

type dataCmd struct {
	Schema  dataSchemaCmd  `cmd:"" help:"Draft a schema for a data file."`
	Inspect dataInspectCmd `cmd:"" help:"Describe a data file as its schema reads it. The figures are private."`
	Convert dataConvertCmd `cmd:"" help:"Write the rows of a data file in another format."`
	Pack    dataPackCmd    `cmd:"" help:"Encode a data file once, into a file that is mapped in place of being read."`
	Synth   dataSynthCmd   `cmd:"" help:"Write synthetic clinical records, or visits of persons to a hospital, and their schema."`
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
