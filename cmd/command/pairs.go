package command

import (
	"cmp"
	"errors"
	"slices"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/dataset"
	"dyad/engine/embedding"
	"dyad/privacy"
)

// The losses of pairs.
const (
	lossBradleyTerry = "bradley-terry"
	lossTriplet      = "triplet"
	lossNPair        = "npair"
	lossInfoNCE      = "infonce"
	lossNTXent       = "ntxent"
)

// tupleFlags are the flags for learning from the classes of records instead of pairs.
type tupleFlags struct {
	Tuple       int     `not:"loss=infonce loss=ntxent loss=bradley-terry" why:"these compare pairs that are listed or drawn (--pairs, --density); with tuples choose contrastive, triplet or npair" positive:"" placeholder:"B" help:"Learn from the labels of records, in tuples of B records instead of pairs. An epoch draws disjoint tuples by ids only."`
	AllPairs    bool    `not:"loss=infonce loss=ntxent loss=bradley-terry" why:"these compare pairs that are listed or drawn (--pairs, --density); with all pairs choose contrastive" help:"Learn from the labels of the records (contrastive). Every epoch uses all pairs: slow for many records."`
	Temperature float64 `needs:"loss=npair|loss=infonce|loss=ntxent" positive:"" default:"1" help:"Public softmax temperature of npair, infonce and ntxent. For the last two, choose 0.5 or more: a lower value needs much more noise."`
	tupleNetworkFlags
}

// tupleNetworkFlags are the flags for a nonlinear metric of tuples.
type tupleNetworkFlags struct {
	ModelKind  string  `name:"model" default:"linear" placeholder:"KIND" help:"linear: a matrix. mlp or FILE.yaml: a network with --rows outputs (docs/networks.md). A network needs --tuple, --loss infonce or --loss ntxent."`
	Hidden     []int   `needs:"model=mlp" placeholder:"N" help:"Units of the hidden layers of --model mlp: one or two numbers; 0: no layer. Default: 32."`
	Activation string  `needs:"model=mlp" enum:",tanh,softplus" default:"" placeholder:"A" help:"Activation of the hidden layers of --model mlp: tanh or softplus. Default: tanh."`
	Compare    string  `needs:"model=mlp|model=FILE|loss=infonce|loss=ntxent" name:"similarity" enum:",cosine,distance" default:"" placeholder:"HOW" help:"How embeddings are compared: cosine (unit length) or distance (in the unit ball). Default: cosine."`
	Gain       float64 `needs:"model=mlp" positive:"" placeholder:"S"`
	InitSeed   uint64  `needs:"model=mlp|model=FILE|loss=infonce|loss=ntxent" placeholder:"SEED" help:"Public seed of the initial weights. Default: 0."`
	Init       string  `needs:"model=mlp|model=FILE|loss=infonce|loss=ntxent" placeholder:"MODEL" help:"Model file with the initial weights of a network. It must come from public data or have a guarantee."`

	with With
}

// softmax reports whether the loss is a loss of whole batches.
func (f pairFlags) softmax() bool { return f.Loss == lossInfoNCE || f.Loss == lossNTXent }

// ofBatches returns the flags with a linear map represented as a network without hidden layers.
func (f tupleNetworkFlags) ofBatches() (tupleNetworkFlags, error) {
	switch {
	case f.Compare != "" && f.Compare != "cosine":
		return f, badInput("infonce and ntxent compare cosines; leave out --similarity=%s", f.Compare)
	case f.ModelKind != "linear":
		return f, nil
	}
	f.ModelKind, f.Hidden = "mlp", []int{0}
	return f, nil
}

// network returns the network of the flags with embeddings of dimension dim, or nil for a matrix.
func (f tupleNetworkFlags) network(dim int) (*lib.Network, error) {
	n, err := networkFlags{ModelKind: f.ModelKind, Hidden: f.Hidden, Activation: f.Activation, Compare: f.Compare,
		Gain: f.Gain, InitSeed: f.InitSeed, Init: f.Init}.network(f.with)
	if n != nil {
		n.Dim = dim
	}
	return n, err
}

// fromClasses reports whether no pairs are requested. In this case it refuses flags that concern pairs.
func (f pairFlags) fromClasses(command *kong.Context) (bool, error) {
	classes := f.Tuple != 0 || f.AllPairs
	if !classes && (f.Loss == lossTriplet || f.Loss == lossNPair) {
		return false, badInput("%s compares the records of a tuple: draw tuples with --tuple, for example --tuple 4", f.Loss)
	}
	network := f.Tuple != 0 && f.ModelKind != "" && f.ModelKind != "linear"
	for _, given := range command.Path {
		if f := given.Flag; classes && f != nil && !slices.Contains(tupleOptions, f.Name) &&
			!(network && f.Name == "device") {
			return false, badInput("--%s is for listed or drawn pairs; with --tuple or --all-pairs, leave it out", f.Name)
		}
	}
	return classes, nil
}

// tupleOptions lists the flags that apply with --tuple and --all-pairs.
var tupleOptions = []string{
	"data", "schema", "look-alike-ids", "public-data", "out", "force", "data-id", "workers", "seed", "ledger", "resume",
	"checkpoint-every", "n", "d", "json", "quiet", "verbose",
	"loss", "margin", "temperature", "rows", "tuple", "all-pairs", "pair-seed", "model", "hidden", "activation",
	"similarity", "gain", "init-seed", "init", "mode", "epsilon", "delta", "noise", "batch", "epochs", "clip", "step-size",
	"runs", "time", "confidence", "black-box", "plot",
}

// plan returns the plan, computed from public numbers.
func (f pairFlags) plan(s lib.PairShape) (*lib.PairTraining, error) {
	spec := pairs.Spec{Rows: f.Rows, Batch: f.Batch, Epochs: f.Epochs, Clip: f.Clip, StepSize: f.StepSize}
	var err error
	if spec.Mode, err = algorithms.ParseMode(f.Mode); err != nil {
		return nil, asInput(err)
	}
	if f.Noise == "laplace" || f.Noise == "" && spec.Mode == algorithms.Paper {
		spec.Noise = privacy.LaplaceNoise
	}
	if s.Network != nil {
		spec.Rows = 0 // the embedding has its own dimension
	}
	if spec.Loss, err = embedding.TermLossOf(f.Loss, f.Margin, f.Temperature); err != nil {
		return nil, asInput(err)
	}
	if s.Classes {
		if spec.Tuple, spec.AllPairs = f.Tuple, f.AllPairs; !f.AllPairs {
			spec.Seed = f.PairSeed
		}
	} else if err = f.addPairs(&spec); err != nil {
		return nil, err
	}
	spec.Budget.Epsilon = f.Epsilon
	switch {
	case f.Delta != nil && *f.Delta > 0 && f.Noise != "":
		return nil, badInput("--noise gives pure epsilon (delta 0); leave out --noise or --delta")
	case f.Delta != nil:
		spec.Budget.Delta = *f.Delta
	case f.Noise == "":
		spec.Budget.Delta = s.DefaultDelta(spec)
	}
	s.DegreeCap = f.DegreeCap
	return lib.PlanPairs(s, spec)
}

// addPairs adds the settings of a training on labelled pairs.
func (f pairFlags) addPairs(spec *pairs.Spec) error {
	spec.Kappa, spec.Shrink, spec.PrintedSteps, spec.LabelShare = f.Kappa, f.Shrink, f.PrintedSteps, f.LabelShare
	var errs [3]error
	spec.Unit, errs[0] = pairs.ParseUnit(f.Unit)
	spec.Method, errs[1] = pairs.ParseMethod(f.Method)
	spec.Sampling, errs[2] = pairs.ParseSampling(f.sampling())
	return asInput(errors.Join(errs[:]...))
}

// sampling returns the value of --sampling or its default.
func (f pairFlags) sampling() string {
	if f.Sampling == "" && f.softmax() {
		return pairs.Poisson.String()
	}
	return cmp.Or(f.Sampling, pairs.Fixed.String())
}

type pairsPlanCmd struct {
	Schema     string `xor:"features" required:"" placeholder:"FILE" help:"Schema file (YAML), which gives the number of encoded features. No data file is opened."`
	N          int    `positive:"" short:"n" required:"" help:"Number of individuals."`
	D          int    `positive:"" xor:"features" required:"" short:"d" help:"Number of features, if there is no schema."`
	PairCount  int    `positive:"" name:"pairs" placeholder:"N" help:"Number of pairs, unless --density draws them."`
	Mechanisms bool   `help:"Only compare the noise of other mechanisms for this guarantee: K-norm, Laplace, SCDF, Duchi."`
	identityFlag
	pairFlags
}

// Run prints the report.
func (c *pairsPlanCmd) Run(a *app, command *kong.Context) error {
	classes, err := c.fromClasses(command)
	if err != nil {
		return err
	}
	source, err := c.source(c.identityFlag, classes)
	if err != nil {
		return err
	}
	var schema *dataset.Schema
	d := c.D
	if c.Schema != "" {
		if schema, err = source.LoadSchema(c.Schema); err != nil {
			return asInput(err)
		}
		e, err := dataset.NewEncoder(schema)
		if err != nil {
			return asInput(err)
		}
		d = e.Dim()
	}
	if err := c.oneSource(c.PairCount != 0, classes); err != nil {
		return err
	}
	s, err := source.Shape(c.N, d, c.PairCount, schema)
	if err != nil {
		return err
	}
	p, err := c.plan(s)
	if err != nil {
		return err
	}
	if c.Mechanisms {
		return a.emitMechanisms(p.Plan)
	}
	return a.emitPlan(&p.Plan.Plan)
}
