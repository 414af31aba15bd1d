package command

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/cuda"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/internal/memory"
)

// planFlags are the flags that determine a run and its guarantee.
type planFlags struct {
	methodFlags
	budgetFlags
	problemFlags
	noiseFlags

	asserted engine.Assertion // constants of the loss that the user asserts; for plans only
}

// methodFlags are the flags that choose an algorithm and the distribution of its noise.
type methodFlags struct {
	Algorithm string `placeholder:"NAME" help:"Algorithm, see \"dyad lab algorithms\", or auto, which chooses one by public numbers and says why. Default: auto; dpgdsc with --mode paper, projected-gradient with --mode nonprivate."`
	Mode      string `default:"certified" enum:"certified,paper,nonprivate" help:"Proved noise (certified), the noise of the paper (paper) or no noise (nonprivate)."`
	unsoundFlag
}

// budgetFlags are the flags for the privacy budget of a run.
type budgetFlags struct {
	Epsilon float64  `default:"1" help:"Epsilon to spend."`
	Delta   *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5)."`
}

// problemFlags are the flags for the objective and its domain, with or without noise.
type problemFlags struct {
	Task     string   `default:"auc" enum:"auc,metric" help:"auc: linear scores that rank positives above negatives; metric: a Mahalanobis metric in which equal labels are close."`
	L2       *float64 `name:"l2" aliases:"alpha" placeholder:"ALPHA" help:"Weight alpha of the term alpha/2 ||w||^2. Default: 0.001; projected-gradient with --task auc: 3/n; offpairc, dpgdc, dpgdc2, dpegd, moments, moment-metric, moments-descent: 0."`
	Radius   float64  `positive:"" xor:"radius" placeholder:"R" help:"Public radius of the ball that contains w. Default: 1 for --task metric, else by a public rule."`
	Steps    int      `positive:"" help:"Number of full-batch steps. Default: the algorithm's public rule."`
	StepSize float64  `positive:"" placeholder:"ETA" help:"Step size. Default: the algorithm's public rule."`
	Ridge    float64  `positive:"" placeholder:"M" help:"The ridge of moments is M times the noise of the second moments. Default: by a public rule."`
	lossFlags
	ownFlags
	Workers int `positive:"" help:"CPU workers; the result has the same bits for any number. Default: all cores."`
	deviceFlag
	Precision string `needs:"task=metric" why:"no other task has a choice" default:"auto" enum:"auto,fp32,bf16x3" placeholder:"P" help:"Arithmetic of pairs with --task metric: auto (float64 on a CPU), fp32, or bf16x3 (GPU only). The noise covers rounding (docs/guide-gpu.md#precision). Default: auto."`
}

// noiseFlags are the options of algorithms with noise.
type noiseFlags struct {
	TotalStep float64 `positive:"" xor:"length" aliases:"path" placeholder:"H" help:"Sum of the step sizes. Default: the algorithm's public rule."`
	Batch     int     `positive:"" name:"batch-records" placeholder:"M" help:"Records drawn for each step of subsampled-descent. Default: the algorithm's public rule."`
	momentsFlags
	networkFlags
}

// open opens the device in the precision of the flag, like openDevice. A plan may name a GPU that this machine
// does not have.
func (f *planFlags) open(plan bool) (func(), error) {
	precision, err := cuda.ParsePrecision(f.Precision)
	if err != nil {
		return nil, asInput(err)
	}
	return f.openAs(device.Options{Workers: f.Workers, Precision: precision, ForPlan: plan})
}

// plan returns the plan, computed from public numbers.
func (f planFlags) plan(s lib.Shape) (*lib.Training, error) {
	o, err := f.decided()
	if err != nil {
		return nil, err
	}
	c, err := o.Choose(s)
	if err != nil {
		return nil, err
	}
	options, err := f.algorithmOptions()
	if err != nil {
		return nil, err
	}
	if c, err = c.With(options...); err != nil {
		return nil, asInput(err)
	}
	return o.Plan(c, s)
}

// decided returns the options set by the flags. Options of the algorithm are not included yet.
func (f planFlags) decided() (o lib.Options, err error) {
	o = lib.Options{Task: f.Task, Epsilon: f.Epsilon, Delta: f.Delta, L2: f.L2, Radius: f.Radius, Assert: f.asserted,
		PaperUnsound: f.PaperUnsound, On: f.device}
	if o.Mode, err = algorithms.ParseMode(f.Mode); err != nil {
		return o, asInput(err)
	}
	if f.Algorithm != "" && f.Algorithm != algorithms.AutoName {
		if o.Algorithm, err = f.algorithm(f.Algorithm); err != nil {
			return o, err
		}
	}
	if o.Network, err = f.network(f.with); err == nil && f.named() {
		o.Loss, err = f.ownLoss(f.lossFlags)
	}
	return o, err
}

// l2 returns the coefficient of the L2 term: the value of the flag, or the default of an algorithm.
func (f planFlags) l2(a algorithms.Algorithm, n int) float64 {
	usual := algorithms.DefaultL2(a, n, f.Task == taskMetric)
	return *cmp.Or(f.L2, &usual)
}

// algorithmOptions returns the options of algorithms that are set by flags.
func (f planFlags) algorithmOptions() (set []algorithms.Option, err error) {
	switch {
	case f.TotalStep == 0:
	case f.Steps != 0 && f.StepSize != 0:
		return nil, badInput("--total-step is --steps times --step-size; leave one of the three out")
	case f.Mode == algorithms.Paper.String() && f.Algorithm != "dpgdc":
		return nil, badInput("in paper mode, only dpgdc takes --total-step; leave --total-step out")
	}
	return append(slices.DeleteFunc(f.options(), unset), f.ownOptions()...), nil
}

// unset reports whether an option was not given.
func unset(o algorithms.Option) bool { return reflect.ValueOf(o.Value).IsZero() }

// options returns the options of the catalogue's algorithms, with the values of the flags.
func (f planFlags) options() []algorithms.Option {
	return append(f.optimizerOptions(f.Algorithm), []algorithms.Option{
		{Name: "--steps", Field: "Steps", Value: f.Steps}, {Name: "--step-size", Field: "StepSize", Value: f.StepSize},
		{Name: "--total-step", Field: "TotalStep", Value: f.TotalStep},
		{Name: "--batch-records", Field: "BatchRecords", Value: f.Batch},
		{Name: "--second-moments", Field: "Second", Value: strings.TrimPrefix(f.SecondMoments, "auto")},
		{Name: "--clip-radius", Field: "ClipRadius", Value: f.ClipRadius}, {Name: "--ridge", Field: "Ridge", Value: f.Ridge},
		{Name: "--count-share", Field: "CountShare", Value: f.CountShare},
		{Name: "--centre-share", Field: "CentreShare", Value: f.CentreShare},
		{Name: "--second-share", Field: "SecondShare", Value: f.SecondShare},
		{Name: "--step-share", Field: "StepShare", Value: f.StepShare},
		{Name: "--public-centre", Field: "Centre", Value: f.PublicCentre},
		{Name: "--class-balance", Field: "Balance", Value: f.ClassBalance},
		{Name: "--intervals", Field: "Intervals", Value: f.Intervals},
		{Name: "--gradient-share", Field: "GradientShare", Value: f.GradientShare},
	}...)
}

// plannedFlags are the flags for the public numbers of the records and for assertions about a loss.
type plannedFlags struct {
	Schema string `xor:"features" required:"" placeholder:"FILE" help:"Schema file (YAML), which gives the number of encoded features. No data file is opened."`
	N      int    `positive:"" short:"n" help:"Number of records, or of persons if a column has role person. Default: from the schema."`
	D      int    `positive:"" xor:"features" required:"" short:"d" help:"Number of features, if there is no schema."`
	Groups []int  `name:"group-sizes" xor:"held" placeholder:"S" help:"Sizes of the public query groups in training."`
	constantFlags
	storeFlag
	teamFlags
}

// shape returns the shape of the training records, without groups, and their schema if there is one. It stores
// assertions in f.
func (c *plannedFlags) shape(a *app, f *planFlags,
	held *plannedHoldout) (s *dataset.Schema, shape lib.Shape, err error) {
	if c.Schema != "" {
		if s, err = dataset.LoadSchema(c.Schema); err != nil {
			return nil, shape, asInput(err)
		}
	}
	shape = lib.Shape{Features: c.D}
	if s != nil && s.Persons > 0 {
		if c.N != 0 && c.N != s.Persons {
			return nil, shape, badInput("-n is %d, but %s declares %d persons (-n counts persons, not rows); leave "+
				"-n out", c.N, c.Schema, s.Persons)
		}
		c.N = s.Persons
	}
	if shape.Records = held.split(c.N); shape.Records < 1 {
		return nil, shape, badInput("give the number of records with -n")
	}
	if s != nil {
		if len(c.Groups) == 0 && s.ColumnOf(dataset.RoleGroup) != nil {
			a.warn("%s has query groups (role: group), but this plan has none; give their sizes with "+
				"--set group-sizes=S,...", c.Schema)
		}
		if len(c.Groups) > 0 { // training has no groups, whichever column --group-column names
			s = s.Decided()
		} else if s, err = f.plannedBasis(a, s, shape.Records, c.N); err != nil {
			return nil, shape, err
		}
		e, err := dataset.NewEncoder(s)
		if err != nil {
			return nil, shape, asInput(err)
		}
		shape, a.narrow = lib.ShapeOf(e, shape.Records), s.IsNarrow()
	}
	c.resolve(f, shape.Features)
	return s, shape, nil
}

// emitPlan prints the report of a plan.
func (a *app) emitPlan(p *algorithms.Plan) error {
	r := p.Report()
	var end strings.Builder
	if z := p.Needs(a.narrow); !writeForecast(&end, &r, p, a.narrow) && z.Seconds > 0 {
		writeNeeds(&end, &r, z, p.Spec.Kernel.Problem())
		if z.Seconds >= measuredSeconds {
			gainElsewhere(&end, &r, p, a.narrow)
		}
	}
	if recipe := maps.Clone(a.recipe); len(recipe) > 0 {
		if recipe["delta"] == nil {
			recipe["delta"] = p.Spec.Budget.Delta
		}
		r.Add("recipe", recipe)
		for i, text := range recipeText(recipe) {
			line(&end, pick(i == 0, "recipe", ""), "%s", text)
		}
	}
	line(&end, "plan only", "no data were read and no budget was charged")
	return a.emit(r, r.Text()+end.String())
}

// writeNeeds writes the estimated time and memory of a run.
func writeNeeds(b *strings.Builder, r *algorithms.Report, z algorithms.Needs, p engine.Problem) {
	r.Add("estimated_memory_bytes", z.Memory(1))
	r.Add("estimated_passes", z.Passes)
	r.Add("estimated_bytes_per_pass", z.Records)
	r.Add("estimated_seconds", z.Seconds)
	line(b, "memory", "about %s: %s for %s, %s for computed numbers, %s for the program and reader",
		algorithms.Size(z.Memory(1)), algorithms.Size(z.Records),
		pick(p.PersonRows > 0, "one row of each person (more rows need more memory and time)", "the records"),
		algorithms.Size(z.Vectors),
		algorithms.Size(z.Memory(1)-z.Records-z.Vectors))
	line(b, "passes", "about %g passes over the records; each pass reads %s", algorithms.Roughly(z.Passes),
		algorithms.Size(z.Records))
	line(b, "time", "%s on one core at 2.5 GHz, estimated from measured costs",
		algorithms.Duration(z.Seconds))
	if z.Seconds >= measuredSeconds {
		here := z.Seconds * cpu.Backend{}.Pace(p)
		r.Add("estimated_seconds_here", here)
		line(b, "", "here: %s with %d workers, by a measurement of 20 ms", algorithms.Duration(here), runtime.GOMAXPROCS(0))
	}
	if free := memory.Available(); free > 0 {
		ranks := z.Processes(free)
		r.Add("processes_that_hold_it", ranks)
		if ranks != 1 {
			each := " with " + algorithms.Size(free) + " each "
			line(b, "here", "%s", pick(ranks == 0, "no number of processes"+each+"holds the records",
				fmt.Sprint(ranks, " processes", each, "hold the records")))
		}
	}
}

// basisFor returns the schema with the basis for n training records. all is the number of records to encode. line
// describes the choice; it is "" if the schema does not have the key and no basis is chosen.
func (f *planFlags) basisFor(s *dataset.Schema, n, all int) (chosen *dataset.Schema, line string, err error) {
	var reason string
	o, err := f.decided()
	if err == nil {
		chosen, reason, err = o.ChooseBasis(s, n)
	}
	if none := s.Decided(); err == nil && chosen.Basis != none.Basis && all > n {
		if whole, why, problem := o.ChooseBasis(s, all); problem == nil && whole.Basis == none.Basis {
			chosen, reason = whole, why
		}
	}
	switch {
	case s.Basis == "" && (err != nil || chosen.Basis == ""): // errors of these options are reported by their plan
		return s, "", nil
	case err != nil:
		return nil, "", err
	}
	return chosen, fmt.Sprintf("%s, chosen by auto: %s", chosen.Basis, reason), nil
}

// plannedBasis is like basisFor and shows the line to the user.
func (f *planFlags) plannedBasis(a *app, s *dataset.Schema, n, all int) (*dataset.Schema, error) {
	if s.Basis != "" && s.Basis != dataset.BasisAuto {
		return s, nil
	}
	chosen, line, err := f.basisFor(s, n, all)
	if line != "" {
		a.note("dyad: basis %s", line)
	}
	return chosen, err
}

// measuredSeconds is the estimated time of a run from which on the plan measures the speed of this machine.
const measuredSeconds = 1
