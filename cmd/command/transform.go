package command

import (
	"fmt"

	"dyad/internal/files"
	"dyad/internal/input"
)

type transformCmd struct {
	Model string    `arg:"" help:"Model file of a metric (dyad train --task metric, dyad pairs train)."`
	Data  dataFiles `required:"" placeholder:"FILE" help:"As in train, in the format of the training data. Labels are optional. -: standard input."`
	Out   string    `writes:"scores" short:"o" required:"" placeholder:"FILE" help:"File to write: CSV, or NPY without ids if its name ends in .npy."`
	Force bool

	unknownFlag
}

type transformResult struct {
	Records    int    `json:"records"`
	Dimensions int    `json:"dimensions"`
	Out        string `json:"out"`
}

// Run maps the records.
func (c *transformCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, "")
	if err != nil {
		return err
	}
	if err := needs(m, input.Needs{Metric: fmt.Sprintf("%s is a model of task %s, but dyad transform needs a "+
		"metric; use dyad predict", c.Model, m.Task)}); err != nil {
		return err
	}
	out, err := files.NewOutput(c.Out, c.Force, c.Data.and(c.Model)...)
	if err != nil {
		return err
	}
	data, err := a.readUnlabelled(c.Data, m.Encoder.Schema(), c.unknownFlag)
	if err != nil {
		return err
	}
	rows, dim, err := m.Transform(data.Records)
	if err != nil {
		return err
	}
	if dim == 0 {
		return badInput("the metric of %s is zero, so all distances are 0", c.Model)
	}
	n := numbers{ids: data.IDs, values: rows, matrix: true}
	for k := range dim {
		n.names = append(n.names, fmt.Sprintf("z%d", k+1))
	}
	if err := n.save(out); err != nil {
		return err
	}
	r := transformResult{data.Records.Len(), dim, c.Out}
	return a.emit(r, fmt.Sprintf("%d records mapped to %d dimensions in %s\n", r.Records, r.Dimensions, r.Out))
}
