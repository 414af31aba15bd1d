package main

import (
	"fmt"
	"slices"
	"strings"

	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/pairgraph"
)

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

// pairData are individuals, and their labelled pairs or classes.
type pairData struct {
	records *dataset.Dataset
	order   []int32 // the rows of the individuals
	graph   *pairgraph.Graph
	labels  []bool
	classes []int32 // of the individuals, if they are known
	shape   pairShape
	dropped int // pairs of the file above the cap
}

// load reads the records, and reads or draws their pairs.
func (s pairSource) load(a *app, f pairFlags, classes bool) (*pairData, error) {
	if !classes && (s.Pairs != "") == (f.Density != 0) {
		return nil, badInput("name a file of pairs with --pairs, or draw pairs with --density and --degree-cap; one of the two; or learn from classes with --tuple or --all-pairs")
	}
	schema, err := f.loadSchema(s.Schema)
	if err != nil {
		return nil, asInput(err)
	}
	options := dataset.Options{KeepIDs: true, Labels: dataset.LabelsIgnored}
	if f.labelled() {
		if options.Labels = dataset.LabelsRequired; schema.IsGraded() {
			return nil, badInput("drawn pairs and tuples compare two classes, and the labels of this schema are graded")
		}
	}
	d := &pairData{}
	if d.records, err = a.readTraining(s.Data, schema, options, s.PublicData); err != nil {
		return nil, err
	}
	d.order = make([]int32, d.records.Records.Len())
	for i := range d.order {
		d.order[i] = int32(i)
	}
	d.shape = pairShape{individuals: len(d.order), features: d.records.Encoder.Dim(), classes: classes, Provenance: f.provenance(schema), identity: s.identity()}
	switch {
	case classes:
		if d.order, err = s.orderOfIDs(d.records); err == nil {
			d.classes = classesOf(d.records.Records, d.order)
			d.graph, err = pairgraph.New(len(d.order), nil)
		}
	case f.Density != 0:
		err = s.drawn(d, f)
		d.shape.graph = d.graph
	default:
		err = s.read(d, f)
	}
	if err != nil {
		return nil, err
	}
	d.shape.pairs = len(d.graph.Pairs())
	return d, nil
}

// classesOf are the classes of the records in an order: equal labels are one class, counted
// from 0 as they come.
func classesOf(r *engine.Records, order []int32) []int32 {
	classes, known := make([]int32, len(order)), map[float64]int32{}
	for to, from := range order {
		label := r.Label(int(from))
		if _, ok := known[label]; !ok {
			known[label] = int32(len(known))
		}
		classes[to] = known[label]
	}
	return classes
}

// drawn pairs individuals by the order of their ids, or by that of the file without ids.
func (s pairSource) drawn(d *pairData, f pairFlags) error {
	r := d.records.Records
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
	d.classes = make([]int32, r.Len())
	for v := range d.classes {
		if r.Label(v) > 0 {
			d.classes[v] = 1
		}
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

// engineData are the data in the norm of a plan.
func (d *pairData) engineData(p *pairs.Plan) (*pairgraph.Data, error) {
	return individuals(d.records.Records, d.order, p.Spec.Norm(), p.Spec.Bound, d.graph, d.labels)
}

// individuals are records in an order, with pairs and their labels.
func individuals(r *engine.Records, order []int32, norm pairgraph.Norm, bound float64, g *pairgraph.Graph, labels []bool) (*pairgraph.Data, error) {
	x := make([]float64, len(order)*r.Dim())
	for to, from := range order {
		r.Row(int(from), x[to*r.Dim():(to+1)*r.Dim()])
	}
	data, err := pairgraph.NewData(x, r.Dim(), norm, bound, g, labels)
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
