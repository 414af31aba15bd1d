package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine/dataset"
	"dyad/engine/pairgraph"
	"dyad/privacy"
)

type pairsCmd struct {
	Train   pairsTrainCmd   `cmd:"" help:"Train on labelled pairs of individuals: a metric, or scores from preferences."`
	Plan    pairsPlanCmd    `cmd:"" help:"Print the whole privacy report of such a run without reading any data."`
	Inspect pairsInspectCmd `cmd:"" help:"Describe pairs and the graph behind them. The figures are private."`
}

// The losses of pairs.
const (
	lossContrastive  = "contrastive"
	lossBradleyTerry = "bradley-terry"
	lossTriplet      = "triplet"
	lossNPair        = "npair"
)

// pairFlags decide what a run on pairs will do and guarantee.
type pairFlags struct {
	Loss         string   `default:"contrastive" enum:"contrastive,bradley-terry,triplet,npair" help:"contrastive: a metric from similar and dissimilar pairs; bradley-terry: scores from preferences; triplet, npair: a metric from classes, with --tuple."`
	Margin       float64  `positive:"" default:"1" help:"Distance that dissimilar pairs should keep, or margin of squared distances of triplet; public. Features have norm at most 1."`
	Rows         int      `positive:"" placeholder:"D'" help:"Dimensions that the metric maps to. Default: 16, or the number of features if that is smaller."`
	Unit         string   `default:"individual" enum:"individual,group,pair" help:"Who is protected: one individual in at most --kappa pairs; any group of --kappa pairs; one pair."`
	Kappa        int      `positive:"" placeholder:"K" help:"Public number of pairs that may change together, fixed before the pairs are seen. Default: --degree-cap; for --unit group and drawn pairs kappa' of their public graph."`
	DegreeCap    int      `positive:"" placeholder:"D" help:"Draw or keep at most this many pairs of an individual; of a file the first ones."`
	Density      float64  `positive:"" placeholder:"F" help:"Draw this many pairs per individual, by ids only, and label them by whether the labels of the records differ."`
	PairSeed     uint64   `default:"1" help:"Seed of drawn pairs and tuples; public."`
	Method       string   `default:"gradients" enum:"gradients,input,labels" help:"What gets noise: gradients; input: the features and labels, once; labels: a coin flip for each label, features being public."`
	Mode         string   `default:"certified" enum:"certified,paper,nonprivate" help:"certified: proved noise; paper: the paper's formula, with what it really gives; nonprivate: the baseline."`
	Epsilon      float64  `default:"1" help:"Epsilon to spend."`
	Delta        *float64 `placeholder:"DELTA" help:"Delta; 0 asks for pure epsilon. Default: min(1e-5, n^-1.5), or 0 with --noise, --mode paper or another --method."`
	Noise        string   `default:"" enum:",laplace,knorm" help:"Noise of pure epsilon: laplace or knorm (less of it). Default: knorm, or laplace with --mode paper."`
	LabelShare   float64  `positive:"" placeholder:"F" help:"Part of epsilon that --method input spends on labels. Default: 0.5."`
	Sampling     string   `default:"fixed" enum:"fixed,poisson" help:"How batches are formed. fixed: disjoint ones, the same in every epoch; poisson: every pair by a secret coin of its own, accounted with the secrecy of the coins (Gaussian noise)."`
	Batch        int      `positive:"" placeholder:"B" help:"Pairs in a batch, or expected in one. Default: a twentieth of the pairs, but at least 50; 50 with --mode paper. With --tuple: tuples, all of an epoch."`
	Epochs       int      `positive:"" default:"5" help:"How often every pair is used, or tuples are drawn."`
	Clip         float64  `positive:"" default:"0.5" help:"Norm that the gradient of a pair or tuple is clipped to."`
	Shrink       bool     `help:"Clip to the bound of gradients at the public matrix where that is smaller, which lowers the noise."`
	StepSize     float64  `positive:"" default:"1" help:"First step eta0 of steps eta0/sqrt(tau)."`
	PrintedSteps bool     `help:"Steps as printed in the paper, eta0/sqrt(tau!): about nine useful ones."`
	tupleFlags
}

// shape is what is public about the pairs.
type pairShape struct {
	individuals, pairs, features int
	graph                        *pairgraph.Graph // of drawn pairs; nil for those of a file
	selected                     bool             // records without one of the two labels were left out
	boundsFromData               bool
	identity                     string // see pairs.Spec
}

// draw is the graph of pairs drawn among n individuals.
func (f pairFlags) draw(n int) (*pairgraph.Graph, error) {
	if f.DegreeCap == 0 {
		return nil, badInput("--density draws pairs: say with --degree-cap in how many of them an individual may be")
	}
	drawn, err := pairgraph.Draw(n, f.Density, f.DegreeCap, f.PairSeed)
	if err != nil {
		return nil, asInput(err)
	}
	return pairgraph.New(n, drawn)
}

// plan builds the plan from public numbers.
func (f pairFlags) plan(s pairShape) (*pairs.Plan, error) {
	spec := pairs.Spec{
		Individuals: s.individuals, Pairs: s.pairs, Dim: s.features, Rows: f.Rows, Kappa: f.Kappa,
		Batch: f.Batch, Epochs: f.Epochs, Clip: f.Clip, Shrink: f.Shrink, StepSize: f.StepSize, PrintedSteps: f.PrintedSteps,
		SelectedByLabel: s.selected, BoundsFromData: s.boundsFromData, LabelShare: f.LabelShare, ByClass: s.graph != nil, Identity: s.identity,
	}
	var errs [4]error
	spec.Mode, errs[0] = algorithms.ParseMode(f.Mode)
	spec.Unit, errs[1] = pairs.ParseUnit(f.Unit)
	spec.Method, errs[2] = pairs.ParseMethod(f.Method)
	spec.Sampling, errs[3] = pairs.ParseSampling(f.Sampling)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, asInput(err)
	}
	if f.Noise == "laplace" || f.Noise == "" && spec.Mode == algorithms.Paper {
		spec.Noise = privacy.LaplaceNoise
	}
	var err error
	if spec.Budget, err = f.budget(s.individuals, spec.Mode == algorithms.Paper || spec.Method != pairs.Gradients); err != nil {
		return nil, err
	}
	switch {
	case f.Loss == lossBradleyTerry && (f.Rows > 1 || s.graph != nil):
		return nil, badInput("bradley-terry learns one row of weights from preferences: give them with --pairs, without --rows and --density")
	case f.Loss == lossBradleyTerry:
		spec.Loss, spec.Rows = pairgraph.BradleyTerry{}, 1
	default:
		spec.Loss = pairgraph.Contrastive{Margin: f.Margin}
		if f.Rows == 0 {
			spec.Rows = min(16, s.features)
		}
	}
	if spec.Batch == 0 {
		if spec.Batch = 50; spec.Mode != algorithms.Paper {
			spec.Batch = max(50, s.pairs/20)
		}
	}
	if spec.Kappa == 0 {
		spec.Kappa = f.defaultKappa(spec.Unit, s.graph)
	}
	spec.Bound = publicBound(spec.Norm(), s.features)
	p, err := spec.Plan()
	return p, asInput(err)
}

// budget is what n individuals spend; pure says that only delta = 0 is possible.
func (f pairFlags) budget(n int, pure bool) (privacy.Budget, error) {
	b := privacy.Budget{Epsilon: f.Epsilon}
	switch {
	case f.Delta != nil && *f.Delta > 0 && f.Noise != "":
		return b, badInput("--noise is for pure epsilon; leave it out, or --delta")
	case f.Delta != nil:
		b.Delta = *f.Delta
	case !pure && f.Noise == "":
		b.Delta = privacy.DefaultDelta(n)
	}
	return b, nil
}

// publicBound is the norm bound of encoded records. They have Euclidean norm at most 1,
// so L1 norm at most sqrt(d): with these bounds nothing is scaled, and a model applies to
// encoded records as it is.
func publicBound(norm pairgraph.Norm, features int) float64 {
	if norm == pairgraph.L1 {
		return math.Ceil(1e4*math.Sqrt(float64(features))+1) / 1e4
	}
	return 1
}

// defaultKappa is a public number, or 0 if there is none.
func (f pairFlags) defaultKappa(unit pairs.Unit, drawn *pairgraph.Graph) int {
	switch {
	case unit == pairs.OnePair:
		return 1
	case unit == pairs.Group && drawn != nil:
		return max(1, drawn.KappaBound(pairgraph.Transitive))
	case unit == pairs.Individual:
		return f.DegreeCap
	}
	return 0
}

type pairsPlanCmd struct {
	Schema    string `placeholder:"FILE" help:"Schema file (YAML): gives the number of encoded features. No data file is opened."`
	N         int    `positive:"" short:"n" required:"" help:"Number of individuals."`
	D         int    `positive:"" short:"d" help:"Number of features, if there is no schema."`
	PairCount int    `positive:"" name:"pairs" placeholder:"N" help:"Number of pairs, if they are not drawn with --density."`
	identityFlag
	pairFlags
}

// Help shows examples.
func (pairsPlanCmd) Help() string {
	return `Everything is computed from public numbers: the report is the one that "dyad pairs train" prints.

Examples:
  dyad pairs plan -n 20000 -d 33 --density 2 --degree-cap 8 --epsilon 2
  dyad pairs plan -n 20000 -d 33 --density 2 --degree-cap 8 --sampling poisson --batch 256 --epsilon 2
  dyad pairs plan -n 20000 -d 33 --pairs 40000 --unit pair --epsilon 2 --delta 0
  dyad pairs plan -n 20000 -d 33 --pairs 40000 --unit group --kappa 4 --mode paper --epsilon 1
  dyad pairs plan -n 20000 -d 33 --density 2 --degree-cap 8 --method input --epsilon 2
  dyad pairs plan -n 20000 -d 33 --tuple 4 --loss triplet --epsilon 2`
}

// Run prints the report.
func (c *pairsPlanCmd) Run(a *app, command *kong.Context) error {
	s := pairShape{individuals: c.N, pairs: c.PairCount, features: c.D, identity: c.identity()}
	if c.Schema != "" {
		if c.D != 0 {
			return badInput("-d and --schema both give the number of features; leave one out")
		}
		load := dataset.LoadUnlabelledSchema
		classes, err := c.fromClasses()
		if err != nil {
			return err
		}
		if classes = classes || c.Density != 0; classes {
			load = dataset.LoadSchema
		}
		schema, err := load(c.Schema)
		if err != nil {
			return asInput(err)
		}
		e, err := dataset.NewEncoder(schema)
		if err != nil {
			return asInput(err)
		}
		s.features, s.boundsFromData = e.Dim(), schema.BoundsFromData
		s.selected = classes && schema.SelectsByLabel()
	}
	if s.features < 1 {
		return badInput("give the number of features with -d, or a --schema")
	}
	if classes, err := c.fromClasses(); err != nil {
		return err
	} else if classes {
		return c.planTuples(a, command, s)
	}
	if (c.PairCount != 0) == (c.Density != 0) {
		return badInput("give the number of pairs with --pairs, or their number per individual with --density; one of the two; or learn from classes with --tuple or --all-pairs")
	}
	if c.Density != 0 {
		g, err := c.draw(c.N)
		if err != nil {
			return err
		}
		s.pairs, s.graph = len(g.Pairs()), g
	}
	p, err := c.plan(s)
	if err != nil {
		return err
	}
	r := p.Report()
	return a.emit(r, r.Text()+"nothing     was charged or read: this is a plan\n")
}

// identityFlag says who is one individual.
type identityFlag struct {
	LookAlikeIDs string `name:"look-alike-ids" default:"refuse" enum:"refuse,allow" help:"Ids of records that differ only in case, white space, quotes, invisible characters or forms of the same letters. refuse: they may be one individual; allow: they are different ones."`
}

// pairSource says where labelled pairs come from.
type pairSource struct {
	Data        string   `required:"" placeholder:"FILE" help:"Records of the individuals, in any format of data files."`
	Schema      string   `required:"" placeholder:"FILE" help:"Schema of the records; for --pairs one of its columns has role id, and no label column is needed."`
	Pairs       string   `placeholder:"FILE" help:"Labelled pairs: CSV with a header, or Parquet, with the columns first, second and label."`
	PairColumns []string `placeholder:"A,B,L" help:"Names of these three columns in the file."`
	LabelValues []string `placeholder:"V,W" help:"The two values of a pair's label. Default: dissimilar,similar; for preferences first,second, the one that is preferred, and without a label column it is the first."`
	PublicData  bool     `help:"Records and pairs are public: nothing is charged, and the report says so."`
	identityFlag
}

// pairData are records and their labelled pairs.
type pairData struct {
	records *dataset.Dataset
	graph   *pairgraph.Graph
	labels  []bool
	classes []bool // of the individuals, if pairs were drawn
	dropped int    // pairs of the file above the cap
	// identity is that of pairs.Spec.
	identity string
}

// load reads the records, and reads or draws their pairs.
func (s pairSource) load(a *app, f pairFlags) (*pairData, error) {
	if (s.Pairs != "") == (f.Density != 0) {
		return nil, badInput("name a file of pairs with --pairs, or draw pairs with --density and --degree-cap; one of the two; or learn from classes with --tuple or --all-pairs")
	}
	load := dataset.LoadUnlabelledSchema // the pairs have the labels
	if f.Density != 0 {
		load = dataset.LoadSchema
	}
	schema, err := load(s.Schema)
	if err != nil {
		return nil, asInput(err)
	}
	options := dataset.Options{KeepIDs: true, Labels: dataset.LabelsIgnored}
	if f.Density != 0 {
		options.Labels = dataset.LabelsRequired
	}
	d := &pairData{}
	if d.records, err = a.readTraining(s.Data, schema, options, s.PublicData); err != nil {
		return nil, err
	}
	d.identity = s.identity()
	if f.Density != 0 {
		return d, s.drawn(d, f)
	}
	return d, s.read(d, f)
}

// drawn pairs individuals by the order of their ids, or by that of the file without ids.
func (s pairSource) drawn(d *pairData, f pairFlags) error {
	r := d.records.Records
	if d.records.Schema().IsGraded() {
		return badInput("drawn pairs compare two classes, and the labels of this schema are graded")
	}
	order, err := s.orderOfIDs(d.records)
	if err != nil {
		return err
	}
	g, err := f.draw(r.Len())
	if err != nil {
		return err
	}
	drawn := make([]pairgraph.Pair, len(g.Pairs()))
	for i, p := range g.Pairs() {
		drawn[i] = pairgraph.Pair{A: order[p.A], B: order[p.B]}
	}
	if d.graph, err = pairgraph.New(r.Len(), drawn); err != nil {
		return err
	}
	d.classes = make([]bool, r.Len())
	for v := range d.classes {
		d.classes[v] = r.Label(v) > 0
	}
	d.labels = make([]bool, len(drawn))
	for i, p := range drawn {
		d.labels[i] = d.classes[p.A] != d.classes[p.B]
	}
	return nil
}

// read takes the pairs of a file.
func (s pairSource) read(d *pairData, f pairFlags) error {
	if d.records.IDs == nil {
		return badInput("%s: no column has role id, by which --pairs names the individuals; give one this role", s.Schema)
	}
	o := dataset.PairOptions{True: "dissimilar", False: "similar"}
	if f.Loss == lossBradleyTerry {
		o = dataset.PairOptions{True: "first", False: "second", Oriented: true}
	}
	switch len(s.LabelValues) {
	case 0:
	case 2:
		o.True, o.False = s.LabelValues[0], s.LabelValues[1]
	default:
		return badInput("--label-values has %d values, want 2", len(s.LabelValues))
	}
	switch len(s.PairColumns) {
	case 0:
	case 3:
		o.Columns = dataset.PairColumns{First: s.PairColumns[0], Second: s.PairColumns[1], Label: s.PairColumns[2]}
	default:
		return badInput("--pair-columns has %d names, want 3", len(s.PairColumns))
	}
	o.LookAlikes = dataset.LookAlikes(s.LookAlikeIDs)
	list, err := dataset.LoadPairs(s.Pairs, d.records.IDs, s.Data, idColumn(d.records), o)
	if err != nil {
		return asInput(err)
	}
	all := make([]pairgraph.Pair, len(list))
	d.labels = make([]bool, len(list))
	for i, p := range list {
		all[i], d.labels[i] = pairgraph.Pair{A: p.A, B: p.B}, p.Label
	}
	n := d.records.Records.Len()
	if d.graph, err = pairgraph.New(n, all); err != nil || f.DegreeCap == 0 {
		return err
	}
	keep := d.graph.Capped(f.DegreeCap)
	d.dropped = len(all) - len(keep)
	for to, from := range keep {
		all[to], d.labels[to] = all[from], d.labels[from]
	}
	d.labels = d.labels[:len(keep)]
	d.graph, err = pairgraph.New(n, all[:len(keep)])
	return err
}

// shape is what is public about d.
func (d *pairData) shape() pairShape {
	schema := d.records.Schema()
	s := pairShape{individuals: d.graph.Len(), pairs: len(d.graph.Pairs()), features: d.records.Encoder.Dim(), boundsFromData: schema.BoundsFromData, identity: d.identity}
	if d.classes != nil {
		s.graph, s.selected = d.graph, schema.SelectsByLabel()
	}
	return s
}

// engineData are the data in the norm of a plan.
func (d *pairData) engineData(p *pairs.Plan) (*pairgraph.Data, error) {
	r := d.records.Records
	x := make([]float64, r.Len()*r.Dim())
	for i := range r.Len() {
		r.Row(i, x[i*r.Dim():(i+1)*r.Dim()])
	}
	data, err := pairgraph.NewData(x, r.Dim(), p.Spec.Norm(), p.Spec.Bound, d.graph, d.labels)
	if err != nil {
		return nil, fmt.Errorf("pairs: %w", err)
	}
	return data, nil
}

// orderOfIDs are the rows in the order of their ids, or of the file without ids.
func (s pairSource) orderOfIDs(d *dataset.Dataset) ([]int32, error) {
	order := make([]int32, d.Records.Len())
	for i := range order {
		order[i] = int32(i)
	}
	if d.IDs == nil {
		return order, nil
	}
	if err := dataset.CheckIDs(d.IDs, s.Data, idColumn(d), dataset.LookAlikes(s.LookAlikeIDs)); err != nil {
		return nil, asInput(err)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(d.IDs[a], d.IDs[b]) })
	return order, nil
}

// identity is the assumption of the guarantee about who is one individual.
func (f identityFlag) identity() string {
	if f.LookAlikeIDs == string(dataset.AllowLookAlikes) {
		return "ids that differ in a byte are different individuals, also those that look alike (--look-alike-ids allow)"
	}
	return "every record is a different individual: ids, if records have them, differ after NFKC, case folding and removal of invisible characters, quotes and white space around them"
}

// idColumn is the name of the column with ids, "" without one.
func idColumn(d *dataset.Dataset) string {
	for _, c := range d.Schema().Columns {
		if c.Role == dataset.RoleID {
			return c.Name
		}
	}
	return ""
}
