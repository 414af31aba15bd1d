package command

import (
	lib "dyad"
	"dyad/algorithms"
)

// defaultBuffer is the default of --buffer.
const defaultBuffer = 1000

// streamFlags are the flags of online algorithms.
type streamFlags struct {
	Every     int  `positive:"" default:"1" placeholder:"K" help:"New records between two releases of an online algorithm."`
	Buffer    int  `default:"1000" help:"Earlier records that an online algorithm pairs with each new record. 0: all, kept in memory."`
	Reservoir bool `help:"Keep a uniform sample of all earlier records in the buffer, not the last records."`
	PerClass  bool `help:"Keep the last BUFFER/2 positive records and the last BUFFER/2 others."`
	BurnIn    int  `positive:"" placeholder:"T1" help:"Number of first records that only fill the buffer. Default: --every."`
	Secret    bool `name:"secret-state" help:"The state holds the iterate without noise: keep it as private as the records. Releases have noise. Needs --every 1 --buffer 0."`
}

// secretState is the option that --secret-state sets.
var secretState = algorithms.Option{Name: "--secret-state", Field: "Reading", Value: algorithms.SecretState}

// plan returns the plan of an online algorithm. An option that the algorithm does not have is an error.
func (f streamFlags) plan(p planFlags, s lib.Shape) (*algorithms.Plan, error) {
	mode, err := algorithms.ParseMode(p.Mode)
	if err != nil {
		return nil, asInput(err)
	}
	o := lib.Options{Task: p.Task, Mode: mode, Epsilon: p.Epsilon, Delta: p.Delta, L2: p.L2, Radius: p.Radius,
		PaperUnsound: p.PaperUnsound}
	if o.Loss, err = p.definition(); err != nil {
		return nil, err
	}
	a := algorithms.DefaultStream(mode)
	if p.Algorithm != "" {
		if a, err = algorithms.StreamByName(p.Algorithm); err != nil {
			return nil, asInput(err)
		}
	}
	if f.Secret {
		if a, err = algorithms.StreamWith(a, secretState); err != nil {
			return nil, asInput(err)
		}
	}
	return o.PlanStream(s, a, algorithms.StreamOptions{Batch: f.Every, Buffer: f.Buffer, Reservoir: f.Reservoir,
		PerClass: f.PerClass, BurnIn: f.BurnIn})
}

// streams prints the plan of an online algorithm if it is requested.
func (c *planTrainCmd) streams(a *app, shape lib.Shape) (asked bool, err error) {
	if _, err := algorithms.StreamByName(c.Algorithm); err != nil {
		if c.streamFlags != (streamFlags{Every: 1, Buffer: defaultBuffer}) {
			return true, badInput("--every, --buffer, --reservoir, --per-class, --burn-in and --secret-state need " +
				`an online algorithm; choose one with --algorithm ("dyad lab algorithms")`)
		}
		return false, nil
	}
	if c.Workers != 0 || c.Device != "auto" || c.Precision != "auto" || len(c.Groups) > 0 {
		return true, badInput("%s is an online algorithm and does not take --workers, --device, --precision or --group-sizes",
			c.Algorithm)
	}
	switch options, err := c.algorithmOptions(); {
	case err != nil:
		return true, err
	case len(options) > 0:
		return true, badInput("%s is an online algorithm and does not take %s", c.Algorithm, options[0].Name)
	}
	p, err := c.streamFlags.plan(c.planFlags, shape)
	if err != nil {
		return true, err
	}
	return true, a.emitPlan(p)
}
