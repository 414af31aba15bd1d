package command

import (
	lib "dyad"
	"dyad/engine/dataset"
)

// identityFlag is the flag that determines which ids belong to one individual.
type identityFlag struct {
	LookAlikeIDs string `name:"look-alike-ids" default:"refuse" enum:"refuse,allow" help:"Refuse ids that differ only in case, white space, quotes, invisible characters or forms of letters, or allow them as different individuals."`
}

// pairSource holds the flags for the source of labelled pairs.
type pairSource struct {
	Data        dataFiles `required:"" placeholder:"FILE" help:"As in train. The file has the records of the individuals."`
	Schema      string    `required:"" placeholder:"FILE" help:"As in train. With --pairs one column has role id, and no label column is needed."`
	Pairs       string    `placeholder:"FILE" help:"Labelled pairs: CSV with a header, or Parquet, with the columns first, second and label."`
	PairColumns []string  `values:"3" placeholder:"A,B,L" help:"Names of the three columns of --pairs."`
	LabelValues []string  `values:"2" placeholder:"V,W" help:"The two values of a pair's label. Default: dissimilar,similar; for preferences first,second. Without a label column, the first individual is preferred."`
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
	Loss         string   `default:"contrastive" enum:"contrastive,bradley-terry,triplet,npair,infonce,ntxent" help:"contrastive: a metric from similar and dissimilar pairs. infonce, ntxent: an embedding from similar pairs, in secret batches. bradley-terry: scores from preferences. triplet, npair: a metric from classes (--tuple)."`
	Margin       float64  `needs:"loss=contrastive|loss=triplet" positive:"" default:"1" help:"Public distance that dissimilar pairs should keep; for triplet, the margin of squared distances. Features have norm at most 1."`
	Rows         int      `positive:"" placeholder:"D'" help:"Dimensions that the metric maps to. Default: 16, or the number of features if it is smaller or --method is moments."`
	Unit         string   `default:"individual" enum:"individual,group,pair" help:"Who is protected: one individual in at most --kappa pairs; any group of --kappa pairs; one pair."`
	Kappa        int      `positive:"" placeholder:"K" help:"Public number of pairs that may change together, fixed in advance. Default: --degree-cap, or with --unit group and drawn pairs, kappa' of the public graph."`
	DegreeCap    int      `positive:"" placeholder:"D" help:"Maximum number of pairs of an individual. The first pairs in a file are kept."`
	Density      float64  `positive:"" placeholder:"F" help:"Draw this many pairs per individual, by ids only. A pair is labelled by whether its two records have the same label."`
	PairSeed     uint64   `default:"1" help:"Seed of drawn pairs and tuples; public."`
	Method       string   `default:"gradients" enum:"gradients,input,labels,moments" help:"What gets noise. gradients: all gradients. moments: once, the second moments of similar and of dissimilar pairs, which give the metric. input: once, features and labels. labels: each label, by a coin flip; features are public."`
	Mode         string   `default:"certified" enum:"certified,paper,nonprivate" help:"Proved noise (certified), the noise of the paper (paper) or no noise (nonprivate)."`
	Epsilon      float64  `default:"1" help:"Epsilon to spend."`
	Delta        *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: 0 with --noise, --mode paper, --method input or labels, else min(1e-5, n^-1.5)."`
	Noise        string   `not:"method=input method=labels" default:"" enum:",laplace,knorm" help:"Noise of pure epsilon: laplace, or knorm (less noise). Default: knorm, or laplace with --mode paper."`
	LabelShare   float64  `positive:"" placeholder:"F" help:"Part of epsilon that --method input spends on labels. Default: 0.5."`
	Sampling     string   `default:"" enum:",fixed,poisson" placeholder:"HOW" help:"fixed: the same disjoint batches in every epoch. poisson: secret coins select pairs, with Gaussian noise; the guarantee needs this secrecy. Default: fixed, or poisson for infonce and ntxent."`
	Batch        int      `positive:"" placeholder:"B" help:"Pairs (tuples with --tuple) in a batch, or their expected number. Default: 1/20 of the pairs, at least 50; 50 with --mode paper; with --tuple, all tuples of an epoch."`
	Epochs       int      `positive:"" placeholder:"T" help:"Passes over the pairs, or draws of tuples. Default: 5; 100 with --tuple and a network."`
	Clip         float64  `positive:"" placeholder:"H" help:"Clip gradients of pairs or tuples to this norm; infonce, ntxent: gradients of cosines; --method moments: differences of pairs. Default: 0.5, or 0.3 with --method moments."`
	Shrink       bool     `help:"Clip to the smaller of --clip and the gradient bound at the public matrix. This lowers the noise."`
	StepSize     float64  `positive:"" placeholder:"ETA0" help:"First step size eta0; step tau has eta0/sqrt(tau). Networks, infonce and ntxent use Adam with linearly falling steps. Default: 1, or 0.1 for Adam."`
	PrintedSteps bool     `help:"Step sizes as printed in the paper, eta0/sqrt(tau!). About nine steps are useful."`
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
