package command

import (
	lib "dyad"
	"dyad/engine/dataset"
)

// identityFlag is the flag that determines which ids belong to one individual.
type identityFlag struct {
	LookAlikeIDs string `name:"look-alike-ids" default:"refuse" enum:"refuse,allow" help:"Ids that differ only in case, white space, quotes, invisible characters or letter forms: refuse them, or allow them as different individuals."`
}

// pairSource holds the flags for the source of labelled pairs.
type pairSource struct {
	Data        dataFiles `required:"" placeholder:"FILE" help:"As in train. The file has the records of the individuals."`
	Schema      string    `required:"" placeholder:"FILE" help:"As in train. --pairs needs a column with role: id, but not a label column."`
	Pairs       string    `placeholder:"FILE" help:"Labelled pairs: CSV with a header, or Parquet. Columns: first, second, label."`
	PairColumns []string  `values:"3" placeholder:"A,B,L" help:"Names of the three columns of --pairs."`
	LabelValues []string  `values:"2" placeholder:"V,W" help:"The two labels of pairs. Default: dissimilar,similar; for preferences: first,second. Preferences without labels prefer the first individual."`
	PublicData  bool      `help:"The data are public: no budget is charged, and the report says so."`
	identityFlag
}

// load reads the records, and reads or draws their pairs.
func (s pairSource) load(a *app, f pairFlags, classes bool) (*lib.Pairs, error) {
	if err := f.oneSource(s.Pairs != "", classes); err != nil {
		return nil, err
	}
	from, err := f.source(s.identityFlag, classes)
	if err != nil {
		return nil, err
	}
	from.File = s.Pairs
	if s.LabelValues != nil {
		from.Options.True, from.Options.False = s.LabelValues[0], s.LabelValues[1]
	}
	if s.PairColumns != nil {
		from.Options.Columns = dataset.PairColumns{First: s.PairColumns[0], Second: s.PairColumns[1], Label: s.PairColumns[2]}
	}
	schema, err := from.LoadSchema(s.Schema)
	if err != nil {
		return nil, asInput(err)
	}
	d, err := a.readTraining(s.Data, schema, from.LoadOptions(), s.PublicData)
	if err != nil {
		return nil, err
	}
	return from.Of(d)
}

// pairFlags are the flags that determine a run on pairs and its guarantee.
type pairFlags struct {
	Loss         string   `default:"contrastive" enum:"contrastive,bradley-terry,triplet,npair,infonce,ntxent" help:"What is learned: a metric from similar and dissimilar pairs (contrastive), an embedding from similar pairs in secret batches (infonce, ntxent), scores from preferences (bradley-terry), a metric from classes with --tuple (triplet, npair)."`
	Margin       float64  `needs:"loss=contrastive|loss=triplet" positive:"" default:"1" help:"Public distance to reach between dissimilar records (of norm at most 1). triplet: difference of squared distances."`
	Rows         int      `positive:"" placeholder:"D'" help:"Dimensions of the mapped records. Default: min(16, features), or all features with --method moments."`
	Unit         string   `default:"individual" enum:"individual,group,pair" help:"What is protected. individual: an individual (in up to --kappa pairs). group: any --kappa pairs. pair: one pair."`
	Kappa        int      `positive:"" placeholder:"K" help:"Maximum number of pairs of an individual, or of a group (--unit). Public, fixed in advance. Default: --degree-cap; groups of drawn pairs: from the public graph."`
	DegreeCap    int      `positive:"" placeholder:"D" help:"Maximum number of pairs of an individual. The first pairs in a file are kept."`
	Density      float64  `positive:"" placeholder:"F" help:"Draw this many pairs per individual, by ids only. A pair is similar if its two records have the same label."`
	PairSeed     uint64   `default:"1" help:"Public seed of drawn pairs and tuples."`
	Method       string   `default:"gradients" enum:"gradients,input,labels,moments" help:"What gets noise. gradients: every gradient. moments: the second moments of similar and dissimilar pairs. input: features and labels. labels: each label, by a coin flip; features are public."`
	Mode         string   `default:"certified" enum:"certified,paper,nonprivate" help:"Proved noise (certified), the noise of the paper (paper) or no noise (nonprivate)."`
	Epsilon      float64  `default:"1" help:"Epsilon to spend."`
	Delta        *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5), or 0 with --noise, --mode paper, --method input or labels."`
	Noise        string   `not:"method=input method=labels" default:"" enum:",laplace,knorm" help:"Noise for pure epsilon; knorm adds less than laplace. Default: knorm; laplace with --mode paper."`
	LabelShare   float64  `positive:"" placeholder:"F" help:"Share of epsilon for the labels, with --method input. Default: 0.5."`
	Sampling     string   `default:"" enum:",fixed,poisson" placeholder:"HOW" help:"fixed: the same disjoint batches in every epoch. poisson: random batches, with Gaussian noise; the batches must stay secret. Default: fixed; poisson for infonce and ntxent."`
	Batch        int      `positive:"" placeholder:"B" help:"Pairs or tuples per batch (poisson: expected number). Default: 1/20 of the pairs, at least 50; 50 with --mode paper; all tuples with --tuple."`
	Epochs       int      `positive:"" placeholder:"T" help:"Passes over the pairs, or draws of tuples. Default: 5; 100 with --tuple and a network."`
	Clip         float64  `positive:"" placeholder:"H" help:"Clip gradients of pairs or tuples to this norm; with infonce or ntxent, gradients of cosines. With --method moments, clip differences of pairs. Default: 0.5; 0.3 for moments."`
	Shrink       bool     `help:"Clip below --clip if the public matrix gives a smaller gradient bound. This lowers the noise."`
	StepSize     float64  `positive:"" placeholder:"ETA0" help:"First step size ETA0; step t has size ETA0/sqrt(t). Networks, infonce and ntxent use Adam with linear decay. Default: 1; 0.1 for Adam."`
	PrintedSteps bool     `help:"Step t has size eta0/sqrt(t!), as in the paper. Steps after about the ninth have no use."`
	tupleFlags
}

// oneSource returns an error unless the pairs come from exactly one source.
func (f pairFlags) oneSource(listed, classes bool) error {
	if !classes && listed == (f.Density != 0) {
		return badInput("give exactly one source of pairs: --pairs, --density with --degree-cap, --tuple or " +
			"--all-pairs")
	}
	return nil
}

// source returns the source of the pairs described by the flags, without a file.
func (f pairFlags) source(ids identityFlag, classes bool) (lib.PairSource, error) {
	flags := f.tupleNetworkFlags
	if f.softmax() {
		var err error
		if flags, err = flags.ofBatches(); err != nil {
			return lib.PairSource{}, err
		}
	}
	network, err := flags.network(f.Rows)
	return lib.PairSource{
		Options: dataset.PairOptions{Oriented: f.Loss == lossBradleyTerry, LookAlikes: dataset.LookAlikes(ids.LookAlikeIDs)},
		Density: f.Density, DegreeCap: f.DegreeCap, Seed: f.PairSeed, Classes: classes, Network: network,
	}, err
}
