package main

import (
	"time"

	"dyad/privacy"
)

// guarantee is what the reports of this run say.
func (o *online) guarantee(warnings []string) privacy.Guarantee {
	g := o.plan.Guarantee
	if o.public {
		g = privacy.Guarantee{Kind: privacy.Public, Released: g.Released}
	}
	g.Warnings = append(append([]string(nil), g.Warnings...), warnings...)
	return g
}

// writeModel writes the model file, if one is asked for and something was released.
func (o *online) writeModel() error {
	last := o.stream.Last()
	if o.Out == "" || last == nil {
		return nil
	}
	m := model{
		Format: modelFormat, Version: version, Created: time.Now().UTC().Truncate(time.Second),
		Task: o.Task, DataID: o.DataID, Run: o.stream.Run,
		Features: o.encoder.FeatureNames(), Weights: last, Encoder: o.encoder,
		Report: o.plan.Report(), Guarantee: o.guarantee(nil),
	}
	if o.Average {
		m.Weights = o.stream.Average()
		m.Guarantee.Released += "; this model is the average of the iterates"
	}
	m.Report.Guarantee = m.Guarantee
	path, err := m.write(o.Out, o.a.at)
	if err != nil {
		return err
	}
	o.a.note("dyad: the model of release %d is in %s", o.stream.Updates(), path)
	return nil
}
