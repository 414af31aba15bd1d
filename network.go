package dyad

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/engine/layers"
	"dyad/internal/input"
	"dyad/internal/memory"
	"dyad/privacy"
)

// The kind of the Network whose formulas are written out, and the defaults of a Network.
const (
	mlp           = layers.MLP
	defaultHidden = 32
	defaultDim    = 16
	defaultGain   = 2
)

// Network makes a model nonlinear: a function f of the encoded features x, whose output is a score or an embedding
// (docs/networks.md). A zero field means a public default. In a model file every default is filled in.
type Network struct {
	Kind     string `json:"kind"`     // "mlp" (also ""), "layers" for a network of a file (Read), or another name for a network that Build makes
	Features int    `json:"features"` // number of features of a record; it is filled in
	// Hidden holds the numbers of units of the hidden layers, at most two layers; nil means one layer of 32 units. An
	// empty slice is a linear map, which has low rank for a metric.
	Hidden     []int  `json:"hidden"`
	Dim        int    `json:"dim"`        // dimension of the embedding of a metric; 0 means 16, or the number of features if that is smaller. A score has 1.
	Activation string `json:"activation"` // activation of the hidden layers: "tanh" (also "") or "softplus"
	// Compare selects how the embeddings of a metric are compared: "cosine" (also ""), "distance" or "contrastive". For
	// a score it is "".
	Compare string `json:"compare,omitempty"`
	// Clip is the clipping norm of the Jacobian of every record; 0 means sqrt(h/2) for h inputs of the last layer.
	Clip float64 `json:"clip"`
	// Gain is the standard deviation of the initial weights of the first hidden layer, for records of norm at most 1;
	// 0 means 2. The ball of a layer allows twice the average norm of its initial weights.
	Gain float64 `json:"gain"`
	Seed uint64  `json:"seed"` // seed of the initial weights, which are public
	// Init is a model of the same architecture whose weights are the initial weights. It was trained on public data, or
	// a guarantee covers it. It must not have been chosen by looking at the records.
	Init   *Model            `json:"-"`
	Layers *layers.Spec      `json:"layers,omitempty"` // description of a network of kind "layers"
	Parts  []embedding.Layer `json:"parts,omitempty"`  // the layers and their balls, of a network of another kind than "mlp"; they are filled in
	// Build makes a network of a kind that is not "mlp" from Features, Dim and Layers. Hidden, Activation and Gain
	// must be zero for such a kind. A model file does not contain Build. The reader of a model file sets
	// Model.Network.Build to continue training, or to score with a network that has no Layers.
	Build func(Network) (embedding.Network, error) `json:"-"`
	made  embedding.Network                        // result of Build, which is called once
}

// filled returns the network with its defaults, for d features.
func (n Network) filled(task string, d int) (Network, error) {
	n.Kind, n.Features = cmp.Or(n.Kind, mlp), d
	if task == Metric {
		n.Dim, n.Compare = cmp.Or(n.Dim, min(defaultDim, d)), cmp.Or(n.Compare, embedding.ByCosine)
	} else {
		n.Dim = cmp.Or(n.Dim, 1)
	}
	if err := n.fill(); err != nil {
		return n, err
	}
	switch {
	case task == AUC && (n.Dim != 1 || n.Compare != ""):
		return n, input.Errorf("dyad: a network for task %q gives one score; --dim and --similarity describe an "+
			"embedding, which needs task %q (--task metric)", AUC, Metric)
	case task == Metric && n.Compare != embedding.ByCosine && n.Compare != embedding.ByDistance &&
		n.Compare != embedding.ByContrastive:
		return n, input.Errorf("dyad: embeddings are compared by %s, %s or %s, not %q", embedding.ByCosine,
			embedding.ByDistance, embedding.ByContrastive, n.Compare)
	case slices.ContainsFunc(n.Hidden, func(units int) bool { return units < 1 }):
		return n, input.Errorf("dyad: the hidden layers have %v units; want at least 1 unit in each layer", n.Hidden)
	case !(n.Clip > 0x1p-100 && n.Clip < 0x1p100) || !(n.Gain > 0x1p-100 && n.Gain < 0x1p100) && n.Kind == mlp:
		return n, input.Errorf("dyad: the clipping norm %v and the gain %v of the network must be from 2^-100 to "+
			"2^100", n.Clip, n.Gain)
	}
	return n, nil
}

// fill fills in the fields that depend on the kind.
func (n *Network) fill() (err error) {
	if n.Kind == mlp {
		if n.Hidden == nil {
			n.Hidden = []int{defaultHidden}
		}
		n.Activation, n.Clip, n.Gain = cmp.Or(n.Activation, embedding.Tanh.String()),
			cmp.Or(n.Clip, embedding.UsualClip(n.Hidden)), cmp.Or(n.Gain, defaultGain)
		return nil
	}
	if n.Hidden != nil || n.Activation != "" || n.Gain != 0 {
		return input.Errorf("dyad: hidden units, activation and gain are only for --model %s; leave them out for "+
			"network %q",
			mlp, n.Kind)
	}
	if n.made == nil {
		if n.made, err = n.own().Network(); err != nil {
			return input.As(err)
		}
	}
	n.Parts = n.made.Layers()
	n.Clip = cmp.Or(n.Clip, embedding.UsualClip([]int{n.Parts[len(n.Parts)-1].Cols}))
	return nil
}

// own returns the description of a network of another kind than mlp.
func (n Network) own() layers.Own {
	o := layers.Own{Kind: n.Kind, Spec: n.Layers, In: n.Features, Out: n.Dim, Parts: n.Parts}
	if n.Build != nil {
		o.Build = func() (embedding.Network, error) { return n.Build(n) }
	}
	return o
}

// Read sets n to the network that a file describes (docs/networks.md).
func (n *Network) Read(file string) (err error) {
	n.Kind = layers.Kind
	n.Layers, err = layers.Read(file)
	return input.As(err)
}

// model returns the function of a filled network.
func (n Network) model() (m embedding.Model, err error) {
	switch {
	case n.Kind == mlp:
		m.Network, err = embedding.NewMLPWith(n.Features, n.Hidden, n.Dim, n.Activation, n.Gain)
	case n.made != nil:
		m.Network = n.made
	default:
		m.Network, err = n.own().Network()
	}
	if err == nil {
		m.Output = embedding.OutputOf(m.Network, n.Compare)
	}
	return m, input.As(err)
}

// start returns the public initial weights of a filled network.
func (n Network) start(m embedding.Model) []float64 {
	if n.Init != nil {
		return n.Init.Weights
	}
	return m.StartWith(n.Gain, n.Seed)
}

// loss returns the pair loss of a filled network.
func (n Network) loss(of Loss) (l embedding.Loss, err error) {
	var phi engine.Scalar = engine.Logistic{}
	if of, err = of.Defined(); err == nil && n.Compare != embedding.ByContrastive &&
		(of.Name != logistic || of.Clip != 0) {
		phi, err = of.Scalar()
	}
	if err != nil {
		return l, err
	}
	model, err := n.model()
	if err != nil {
		return l, err
	}
	return embedding.Loss{Model: model, Clip: n.Clip, Seed: n.Seed, Start: n.start(model),
		Pair: embedding.PairLossOf(n.Compare, phi)}, nil
}

// PairLoss returns the pair loss with which a network is trained for a task, in the form that engine.Problem takes.
func (n Network) PairLoss(task string, features int, of Loss) (embedding.Loss, error) {
	n, err := n.filled(task, features)
	if err == nil {
		err = input.As(n.own().Known(true))
	}
	var model embedding.Model
	if err == nil {
		model, err = n.model()
	}
	if err == nil {
		err = memory.Check(embedding.Parameters(model.Network), 0) // before initial weights are drawn
	}
	if err != nil {
		return embedding.Loss{}, err
	}
	return n.loss(of)
}

// identity returns the text that identifies a network in plans and in files of figures.
func (n Network) identity() string {
	text := fmt.Sprintf("{%s %d %v %d %s %s %v %v %d <nil>}", n.Kind, n.Features, n.Hidden, n.Dim, n.Activation, n.Compare,
		n.Clip, n.Gain, n.Seed)
	if n.Kind != mlp {
		text += fmt.Sprint(n.Parts, n.Layers.ID())
	}
	return text
}

// same reports whether two networks are the same function of their weights and their input.
func (n Network) same(m *Network) bool {
	return m != nil && n.Kind == m.Kind && n.Features == m.Features && slices.Equal(n.Hidden, m.Hidden) &&
		n.Dim == m.Dim && n.Activation == m.Activation && n.Compare == m.Compare && slices.Equal(n.Parts, m.Parts) &&
		n.Layers.ID() == m.Layers.ID()
}

// checkInit refuses initial weights that depend on more than public numbers and released models.
func (n Network) checkInit() error {
	switch m := n.Init; {
	case m == nil:
		return nil
	case !n.same(m.Network):
		return input.Errorf("dyad: the model of --init must be a network with the same features, layers and " +
			"comparison")
	}
	return n.Init.carries("the model to start from (--init)")
}

// carries refuses a model of private records without a guarantee as a part, described by what, of another release.
func (m *Model) carries(what string) error {
	switch g := m.Guarantee; g.Kind {
	case privacy.Public:
		return nil
	case privacy.ApproxDP, privacy.PureDP, privacy.LocalDP:
		if g.Epsilon > 0 && !math.IsInf(g.Epsilon, 1) {
			return nil
		}
	}
	return input.Errorf("dyad: %s was trained on private data without a guarantee; train it on public data "+
		"(--public-data) or with a budget", what)
}

// checkPublic refuses initial weights from a model of private data for a run on public data: the guarantee of the new
// model would not mention the private data.
func (n *Network) checkPublic() error {
	if n == nil || n.Init == nil || n.Init.Guarantee.Kind == privacy.Public {
		return nil
	}
	return input.Errorf("dyad: a run on public data cannot start (--init) from a model of private data %q; train "+
		"on the public data first",
		n.Init.DataID)
}

// origin states the origin of the initial weights of a network, for the guarantee and for checkpoints.
func (n Network) origin() string {
	from := cmp.Or(n.Init, &Model{})
	return algorithms.StartOf(n.Seed, from.Weights, from.DataID, from.Guarantee)
}

// fillNetwork checks and completes the network of the options for an algorithm.
func (o *Options) fillNetwork(c algorithms.Choice, s Shape) error {
	switch {
	case o.Mode != algorithms.Certified:
		return input.Errorf("dyad: networks are trained only in certified mode, not %s; on public data, use "+
			"epsilon 1000 for negligible noise", o.Mode)
	case o.Radius != 0:
		return input.Errorf("dyad: a network takes no radius; leave --radius out, because layer sizes and --gain " +
			"bound its weights")
	case o.asserts():
		return input.Errorf("dyad: a network takes no asserted constants (--G, --L, --Dg); clipping sets them")
	case o.On.Precise():
		return input.Errorf("dyad: a network takes no precision; leave --precision out")
	}
	if err := algorithms.TakesNetworks(c.Algorithm); err != nil {
		return input.As(prefixed(err))
	}
	net, err := o.Network.filled(cmp.Or(o.Task, AUC), s.Features)
	if err != nil {
		return err
	}
	if net.Compare == embedding.ByContrastive && o.Loss.Named() {
		return input.Errorf("dyad: contrastive embeddings have their own loss; leave the loss (--loss) out")
	}
	o.Network = &net
	return net.checkInit()
}

// describe adds the network to the assumptions or warnings of a plan, and to its objective.
func (n Network) describe(p *algorithms.Plan) {
	said := &p.Guarantee.Assumptions
	if n.Init != nil && n.Init.Guarantee.Kind != privacy.Public { // every report shows warnings, even the short one
		said = &p.Guarantee.Warnings
	}
	*said = append(slices.Clone(*said), n.origin())
	pr := p.Spec.Kernel.Problem()
	p.Objective = strings.Join([]string{pr.Loss.Name(), pr.Loss.Definition(), n.origin()}, "; ")
}

// embedded returns the records as the network maps them, and the linear model of the mapped records. Without a network
// it returns the records and the model itself.
func (m *Model) embedded(r *engine.Records) (*engine.Records, *Model, error) {
	if m.Network == nil {
		return r, m, nil
	}
	w, _, err := m.Readout()
	if err != nil {
		return nil, nil, err
	}
	linear := &Model{Task: m.Task, Loss: m.Loss, Weights: w}
	if m.Task == Metric { // distances of embeddings have no objective
		linear.PairLoss = &pairs.Stated{}
	}
	r, err = m.Embed(r)
	return r, linear, err
}

// Embed maps records by the network of the model and divides the outputs by the public bound of their norms. Distances
// of the result are distances of Transform's outputs divided by this bound. Each row of the result depends on one
// record alone and belongs to the same person as the record.
func (m *Model) Embed(r *engine.Records) (*engine.Records, error) {
	reach, err := m.reach()
	if err != nil {
		return nil, err
	}
	out, dim, err := m.embeddings(r)
	if err != nil {
		return nil, err
	}
	for k := range out {
		out[k] /= reach
	}
	mapped, err := engine.AdoptRecords(out, slices.Clone(r.Labels()), dim, r.Bounds())
	if err != nil {
		return nil, err
	}
	return mapped.PersonsOf(r)
}

// reach returns the public bound of the outputs of the network.
func (m *Model) reach() (float64, error) {
	if m.Network == nil {
		return 0, input.Errorf("dyad: the model is linear; only a network embeds records")
	}
	net, err := m.Network.model()
	if err != nil {
		return 0, err
	}
	return net.Reach(engine.UnitBounds().FeatureNorm), nil
}

// Readout returns the weights of a linear model that computes the network's scores from the records of Embed, and
// the loss of this model. For a metric both are nil, because it compares the records of Embed directly.
func (m *Model) Readout() (weights []float64, loss engine.Loss, err error) {
	reach, err := m.reach()
	if err != nil || m.Task != AUC {
		return nil, nil, err
	}
	loss, err = (&Model{Task: AUC, Loss: m.Loss}).loss()
	return []float64{reach}, loss, err
}

// plain returns the function of a filled network. If the network has layers, plain computes it in plain Go, which is
// faster than a graph and which exports need.
func (n Network) plain() (embedding.Model, error) {
	if n.Layers != nil {
		n.Build, n.made = nil, nil
	}
	m, err := n.model()
	return m, errors.Join(input.As(n.own().Known(false)), err)
}

// embeddings returns f(x) of the records, row-major. Each row depends on its own record alone.
func (m *Model) embeddings(r *engine.Records) (rows []float64, dim int, err error) {
	net, err := m.Network.plain()
	if err != nil {
		return nil, 0, err
	}
	n, d, dim := r.Len(), r.Dim(), m.Network.Dim
	out := make([]float64, n*dim)
	block := make([]float64, embedding.BlockRows*d)
	for from := 0; from < n; from += embedding.BlockRows {
		count := min(embedding.BlockRows, n-from)
		for i := range count {
			r.Row(from+i, block[i*d:][:d])
		}
		if err := net.Embed(out[from*dim:][:count*dim], m.Weights, block, count); err != nil {
			return nil, 0, prefixed(err)
		}
	}
	return out, dim, nil
}

// ofTuples returns the network with its defaults, for tuples or similar pairs of records of d features. It returns nil
// if n is nil.
func (n *Network) ofTuples(d int) (*Network, error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Clip != 0:
		return nil, input.Errorf("dyad: leave Network.Clip out; here --clip bounds the whole gradient")
	case n.Compare == embedding.ByContrastive:
		return nil, input.Errorf("dyad: this loss does not take this comparison of embeddings; choose "+
			"--similarity=%s or --similarity=%s", embedding.ByCosine, embedding.ByDistance)
	}
	net, err := n.filled(Metric, d)
	if err != nil {
		return nil, err
	}
	net.Clip = 0
	return &net, net.checkInit()
}

// describeTuples adds the filled network to a specification.
func (n Network) describeTuples(s *pairs.Spec) error {
	model, err := n.model()
	if err != nil {
		return err
	}
	s.Network = &pairs.Network{Model: model, Start: n.start(model), Origin: n.origin(),
		Warn: n.Init != nil && n.Init.Guarantee.Kind != privacy.Public, Optimizer: algorithms.NetworkOptimizer()}
	return nil
}
