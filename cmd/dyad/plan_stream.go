package main

import (
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// defaultBuffer is the default of --buffer.
const defaultBuffer = 1000

// streamFlags are the flags of online algorithms.
type streamFlags struct {
	Every     int  `positive:"" default:"1" placeholder:"K" help:"New records per update and release of an online algorithm."`
	Buffer    int  `default:"1000" help:"Earlier records that a new one is paired with, of an online algorithm; 0: all, in memory."`
	Reservoir bool `help:"Keep a uniform sample of all earlier records in the buffer, not the last ones."`
	PerClass  bool `help:"Keep the last BUFFER/2 records with a positive label and the last BUFFER/2 others."`
	BurnIn    int  `positive:"" placeholder:"T1" help:"First records, which only fill the buffer. Default: K."`
	Secret    bool `name:"secret-state" help:"Keep a noiseless iterate in the state, to be kept as private as the records, and release noisy copies. Needs --every 1 --buffer 0."`
}

// streamRequest is all that a plan of an online algorithm depends on.
type streamRequest struct {
	streamFlags
	lossFlags
	algorithm, mode, task string
	records, features     int
	epsilon               float64
	delta                 *float64 // nil: the default
	l2, radius            float64
	boundsFromData        bool
	selectedByLabel       bool
}

// plan builds the plan; an option that an algorithm does not have is an error.
func (r streamRequest) plan() (*algorithms.Plan, error) {
	mode, err := algorithms.ParseMode(r.mode)
	if err != nil {
		return nil, asInput(err)
	}
	name := r.algorithm
	if name == "" {
		name = "onpairc"
		if mode == algorithms.NonPrivate {
			name = "ongiga"
		}
	}
	a, err := algorithms.StreamByName(name)
	if err != nil {
		return nil, asInput(err)
	}
	if r.Secret {
		switch a.(type) {
		case algorithms.OnPairC:
			a = algorithms.OnPairC{Reading: algorithms.SecretState}
		case algorithms.OnPairStrC:
			a = algorithms.OnPairStrC{Reading: algorithms.SecretState}
		default:
			return nil, badInput("%s does not take --secret-state", name)
		}
	}
	budget := privacy.Budget{Epsilon: r.epsilon, Delta: privacy.DefaultDelta(max(r.records, 2))}
	if r.delta != nil {
		budget.Delta = *r.delta
	}
	loss, err := r.loss(r.task)
	if err != nil {
		return nil, err
	}
	spec, err := algorithms.NewStreamSpec(cpu.Backend{}, engine.Problem{
		N: 2, D: r.features, Bounds: engine.UnitBounds(), Loss: loss, Radius: r.radius,
	}, algorithms.StreamOptions{
		Horizon: r.records, Batch: r.Every, Buffer: r.Buffer, Reservoir: r.Reservoir, PerClass: r.PerClass, BurnIn: r.BurnIn,
	}, r.l2, budget, mode)
	if err != nil {
		return nil, asInput(err)
	}
	spec.BoundsFromData, spec.SelectedByLabel = r.boundsFromData, r.selectedByLabel
	p, err := a.Plan(spec)
	return p, asInput(err)
}

// streams prints the plan of an online algorithm, if that is asked for.
func (c *planCmd) streams(a *app, shape dataShape) (asked bool, err error) {
	if _, err := algorithms.StreamByName(c.Algorithm); err != nil {
		if c.streamFlags != (streamFlags{Every: 1, Buffer: defaultBuffer}) {
			return true, badInput("--every, --buffer, --reservoir, --per-class, --burn-in and --secret-state are for online algorithms; name one with --algorithm (\"dyad algorithms\")")
		}
		return false, nil
	}
	if c.Steps != 0 || c.StepSize != 0 || c.Path != 0 || c.Batch != 0 || c.Workers != 0 || c.Device != "auto" || c.Precision != "auto" || len(c.Groups) > 0 {
		return true, badInput("%s is an online algorithm and does not take --steps, --step-size, --path, --batch-records, --workers, --device, --precision or --group-sizes", c.Algorithm)
	}
	request := streamRequest{
		streamFlags: c.streamFlags, lossFlags: c.lossFlags, algorithm: c.Algorithm, mode: c.Mode, task: c.Task,
		records: shape.n, features: shape.d, epsilon: c.Epsilon, delta: c.Delta, radius: c.Radius,
		boundsFromData: shape.boundsFromData, selectedByLabel: shape.selectedByLabel,
	}
	if c.L2 != nil {
		request.l2 = *c.L2
	}
	if request.radius == 0 {
		request.radius = onlineRadius
	}
	p, err := request.plan()
	if err != nil {
		return true, err
	}
	return true, a.emitPlan(p)
}

// onlineRadius is the default radius of online algorithms.
const onlineRadius = 1
