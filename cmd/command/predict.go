package command

import (
	"errors"
	"path/filepath"
	"strings"

	lib "dyad"
	"dyad/engine/metrics"
	"dyad/internal/files"
	"dyad/internal/input"
)

type predictCmd struct {
	Model string    `arg:"" help:"Model file, or file of clusters, with the preprocessing."`
	Data  dataFiles `required:"" placeholder:"FILE" help:"As in train, in the format of the training data. Labels are optional. -: standard input."`
	Out   string    `writes:"scores" short:"o" placeholder:"FILE" help:"File for the scores: CSV, or NPY without ids if its name ends in .npy. Default: standard output."`
	Force bool

	Probabilities bool `not:"threshold" why:"a threshold is one of scores" help:"Write the probability of the positive class instead of the score, at no further cost. Only for models of moments."`

	decisionFlag
	unknownFlag
}

type predictResult struct {
	Records int       `json:"records"`
	Out     string    `json:"out,omitempty"`
	IDs     []string  `json:"ids,omitempty"`
	Scores  []float64 `json:"scores,omitempty"`
	// Probabilities holds the probabilities of the positive class, with --probabilities.
	Probabilities []float64 `json:"probabilities,omitempty"`
	// Classes holds the predicted classes, with --threshold.
	Classes   []string `json:"classes,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	// Clusters holds the numbers of the records' clusters, from 1, if the model is a file of clusters.
	Clusters []int `json:"clusters,omitempty"`
}

// Run scores the records.
func (c *predictCmd) Run(a *app) error {
	m, err := a.openModel(c.Model, "")
	if errors.Is(err, lib.ErrClusters) {
		return c.assign(a)
	}
	if err != nil {
		return err
	}
	if err := needs(m, input.Needs{Scores: c.Model +
		` is a metric, which gives no scores; "dyad transform" maps records with it`}); err != nil {
		return err
	}
	out, err := files.NewOutput(c.Out, c.Force, c.Data.and(c.Model)...)
	if err != nil {
		return err
	}
	decide, err := c.decision(m)
	if err != nil {
		return err
	}
	if decide != nil && filepath.Ext(c.Out) == ".npy" {
		return badInput("--threshold adds a column of text, but %s can hold only numbers; give a name that ends in "+
			".csv", c.Out)
	}
	if c.Probabilities && m.LogOdds == nil { // check before the data are read
		return asInput(metrics.ErrNoOdds)
	}
	data, err := a.readUnlabelled(c.Data, m.Encoder.Schema(), c.unknownFlag)
	if err != nil {
		return err
	}
	s, err := m.Score(data.Records)
	r := predictResult{Scores: s}
	if c.Probabilities {
		s, err = m.LogOdds.Probabilities(data.Records, m.Weights)
		r = predictResult{Probabilities: s}
	}
	if err != nil {
		return err
	}
	r.Classes = decide.classes(s)
	if decide != nil {
		r.Threshold = &decide.threshold
	}
	var b strings.Builder
	line(&b, "scores", "%d scores written to %s%s", len(s), c.Out,
		strings.TrimSuffix("; "+direction(m.Encoder.Schema()), "; "))
	line(&b, "guarantee", "of the model: %s. It does not cover the scored records; their scores reveal information "+
		"about them", m.Guarantee.Words())
	line(&b, "next", "dyad evaluate %s --data FILE --epsilon E measures the model on records with labels", c.Model)
	return r.emit(a, out, numbers{ids: data.IDs, values: s, names: []string{pick(c.Probabilities, "probability", "score")},
		classes: r.Classes}, b.String())
}

// emit writes a column of numbers to the file of --out, or to standard output. text is about the file.
func (r predictResult) emit(a *app, out *files.Output, n numbers, text string) error {
	switch {
	case out != nil:
		if err := n.save(out); err != nil {
			return err
		}
		return a.emit(predictResult{Records: len(n.values), Out: out.Asked, Threshold: r.Threshold}, text)
	case a.json:
		r.Records, r.IDs = len(n.values), n.ids
		return a.emit(r, "")
	}
	return n.write(a.stdout)
}

// assign writes the cluster of each record.
func (c *predictCmd) assign(a *app) error {
	if c.Threshold != "" || c.Probabilities {
		return badInput("--threshold and --probabilities need scores, but %s is a file of clusters", c.Model)
	}
	found, err := a.openClusters(c.Model)
	if err != nil {
		return err
	}
	out, err := files.NewOutput(c.Out, c.Force, c.Data.and(c.Model)...)
	if err != nil {
		return err
	}
	data, err := a.readUnlabelled(c.Data, found.Encoder.Schema(), c.unknownFlag)
	if err != nil {
		return err
	}
	places, err := found.Assign(data.Records)
	if err != nil {
		return err
	}
	n := numbers{ids: data.IDs, names: []string{"cluster"}}
	for _, p := range places {
		n.values = append(n.values, float64(p))
	}
	var b strings.Builder
	line(&b, "clusters", "of %d records written to %s", len(places), c.Out)
	line(&b, "guarantee", "of the centres: %s. It does not cover the output file: the cluster of a record reveals "+
		"information about the record",
		found.Guarantee.Words())
	return predictResult{Clusters: places}.emit(a, out, n, b.String())
}
