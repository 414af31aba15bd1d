package dyad

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
	"dyad/engine"
	"dyad/engine/embedding"
	"dyad/internal/input"
	"dyad/internal/memory"
	"dyad/privacy"
)

// mlp is the kind of a Network.
const mlp = "mlp"

// The values of Network.Compare.
const (
	cosine      = "cosine"      // phi(y y' cos(f, f'))
	distance    = "distance"    // phi(y y' (1 - ||f - f'||^2)), ||f|| <= 1
	contrastive = "contrastive" // ||f - f'||^2/2 for equal labels, else max(0, 1 - ||f - f'||)^2/2, ||f|| <= 1
)

// Network makes a model nonlinear: a multilayer perceptron f of the encoded features x, whose output is
// a score or an embedding (docs/networks.md). Zero fields are public defaults; a model file has none.
type Network struct {
	Kind string `json:"kind"` // "mlp", or "" for it
	// Features are those of a record; they are filled in.
	Features int `json:"features"`
	// Hidden are the units of the hidden layers, at most two; nil means one layer of 32. An empty slice
	// is a linear map, of low rank for a metric.
	Hidden []int `json:"hidden"`
	// Dim is the dimension of the embedding of a metric; 0 means 16. A score has 1.
	Dim int `json:"dim"`
	// Activation is that of hidden layers, "tanh" or "softplus"; "" means tanh.
	Activation string `json:"activation"`
	// Compare says how the embeddings of a metric are compared: "cosine" (also ""), "distance" or
	// "contrastive". A score has none.
	Compare string `json:"compare,omitempty"`
	// Clip is the norm to which the Jacobian of every record is clipped; 0 means sqrt(h/2) for h units
	// in the last hidden layer, and 1 without one.
	Clip float64 `json:"clip"`
	// Gain is the standard deviation of the weights that the first hidden layer starts with; records
	// have a norm of at most 1. 0 means 2. The balls of the layers allow twice the norms of the start.
	Gain float64 `json:"gain"`
	// Seed is that of the start, which is public.
	Seed uint64 `json:"seed"`
	// Init is a model of the same architecture whose weights are the start: one that was trained on
	// public data, or that a guarantee covers. It must not have been chosen by looking at the records.
	Init *Model `json:"-"`
}

// Defaults of Network.
const (
	defaultHidden = 32
	defaultDim    = 16
	defaultGain   = 2
)

// filled is the network with its defaults, for d features.
func (n Network) filled(task string, d int) (Network, error) {
	n.Kind, n.Features = cmp.Or(n.Kind, mlp), d
	if n.Hidden == nil {
		n.Hidden = []int{defaultHidden}
	}
	n.Activation, n.Clip, n.Gain = cmp.Or(n.Activation, embedding.Tanh.String()), cmp.Or(n.Clip, embedding.UsualClip(n.Hidden)), cmp.Or(n.Gain, defaultGain)
	if task == Metric {
		n.Dim, n.Compare = cmp.Or(n.Dim, min(defaultDim, d)), cmp.Or(n.Compare, cosine)
	} else {
		n.Dim = cmp.Or(n.Dim, 1)
	}
	switch {
	case n.Kind != mlp:
		return n, input.Errorf("dyad: the kind of model %q is unknown; it is linear (no network) or %q", n.Kind, mlp)
	case task == AUC && (n.Dim != 1 || n.Compare != ""):
		return n, input.Errorf("dyad: a network for task %q gives one score; an embedding (--dim, --similarity) is for task %q (--task metric)", AUC, Metric)
	case task == Metric && !slices.Contains([]string{cosine, distance, contrastive}, n.Compare):
		return n, input.Errorf("dyad: embeddings are compared by %s, %s or %s, not %q", cosine, distance, contrastive, n.Compare)
	case !(n.Clip > 0x1p-100 && n.Clip < 0x1p100) || !(n.Gain > 0x1p-100 && n.Gain < 0x1p100):
		return n, input.Errorf("dyad: the clipping norm %v and the gain %v of a network must be positive numbers", n.Clip, n.Gain)
	}
	return n, nil
}

// model is the function of a network that is filled.
func (n Network) model() (embedding.Model, error) {
	activation, err := embedding.ParseActivation(n.Activation)
	if err != nil {
		return embedding.Model{}, input.As(err)
	}
	mlp := embedding.MLP{In: n.Features, Hidden: n.Hidden, Out: n.Dim, Activation: activation}
	mlp.Radii = mlp.RadiiFor(n.Gain)
	if mlp, err = embedding.NewMLP(mlp); err != nil {
		return embedding.Model{}, input.As(err)
	}
	m := embedding.Model{Network: mlp}
	switch n.Compare {
	case cosine:
		m.Output.Unit = true
	case distance, contrastive:
		m.Output.Within = 1
	}
	return m, nil
}

// start is the public start of a network that is filled.
func (n Network) start(m embedding.Model) []float64 {
	if n.Init != nil {
		return n.Init.Weights
	}
	return m.Network.(embedding.MLP).StartWith(n.Gain, n.Seed)
}

// loss is the pair loss of a network that is filled.
func (n Network) loss(of Loss) (embedding.Loss, error) {
	model, err := n.model()
	if err != nil {
		return embedding.Loss{}, err
	}
	l := embedding.Loss{Model: model, Clip: n.Clip, Seed: n.Seed, Start: n.start(model)}
	if n.Compare == contrastive {
		l.Pair = embedding.Contrastive{Margin: 1}
		return l, nil
	}
	var phi engine.Scalar = engine.Logistic{}
	if of.Name != "" && of.Name != logistic || of.Clip != 0 {
		if phi, err = of.Scalar(); err != nil {
			return l, err
		}
	}
	switch n.Compare {
	case cosine:
		l.Pair = embedding.Bilinear{Of: phi}
	case distance:
		l.Pair = embedding.Distance{Of: phi}
	default:
		l.Pair = embedding.Score{Of: phi}
	}
	return l, nil
}

// PairLoss is the loss of pairs of records that a network of a task is trained by, for engine.Problem.
func (n Network) PairLoss(task string, features int, of Loss) (embedding.Loss, error) {
	n, err := n.filled(task, features)
	if err != nil {
		return embedding.Loss{}, err
	}
	model, err := n.model()
	if err == nil {
		err = memory.Check(embedding.Parameters(model.Network), 0) // before a start is drawn
	}
	if err != nil {
		return embedding.Loss{}, err
	}
	return n.loss(of)
}

// same says that two networks compute the same functions of their weights.
func (n Network) same(m *Network) bool {
	return m != nil && n.Kind == m.Kind && n.Features == m.Features && slices.Equal(n.Hidden, m.Hidden) && n.Dim == m.Dim && n.Activation == m.Activation && n.Compare == m.Compare
}

// checkInit refuses a start that depends on more than public numbers and released models.
func (n Network) checkInit() error {
	switch m := n.Init; {
	case m == nil:
		return nil
	case !n.same(m.Network):
		return input.Errorf("dyad: the model to start from (--init) is not a network of the same shape: features, hidden layers, dimension, activation and comparison must be those of this training")
	}
	return n.Init.carries("the model to start from (--init)")
}

// carries refuses a model of private records without a guarantee, named by what it is, as a part of another release.
func (m *Model) carries(what string) error {
	switch g := m.Guarantee; g.Kind {
	case privacy.Public:
		return nil
	case privacy.ApproxDP, privacy.PureDP, privacy.LocalDP:
		if g.Epsilon > 0 && !math.IsInf(g.Epsilon, 1) {
			return nil
		}
	}
	return input.Errorf("dyad: %s was trained on private data without a guarantee, and would carry its records into this one; train it on public data (--public-data) or with a budget", what)
}

// checkPublic refuses a start that a model of public data, whose guarantee says so and no more, would hide.
func (n *Network) checkPublic() error {
	if n == nil || n.Init == nil || n.Init.Guarantee.Kind == privacy.Public {
		return nil
	}
	return input.Errorf("dyad: the model to start from (--init) was trained on private data %q, and the model of a run on public data would not say so; train on the public data first and start the private run there", n.Init.DataID)
}

// origin says where the start of a network comes from, for the guarantee and for checkpoints.
func (n Network) origin() string {
	if n.Init == nil {
		return fmt.Sprintf("public start of seed %d", n.Seed)
	}
	text, _ := json.Marshal(n.Init.Weights)
	sum := sha256.Sum256(text)
	from := "public data"
	if n.Init.Guarantee.Kind != privacy.Public {
		from = fmt.Sprintf("data %q that has a guarantee of its own, epsilon %s at delta %s", n.Init.DataID, privacy.FormatUp(n.Init.Guarantee.Epsilon), privacy.FormatUp(n.Init.Guarantee.Delta))
	}
	return fmt.Sprintf("the start is a model of %s (weights %s), which was not chosen by looking at these records; what it cost is not in this guarantee", from, hex.EncodeToString(sum[:8]))
}

// networkChoice is the algorithm of a network unless one is named.
func networkChoice() algorithms.Choice {
	return algorithms.Choice{
		Algorithm: algorithms.GradientPerturbation{Optimizer: algorithms.NetworkOptimizer()},
		Reason:    "a network: its loss is not convex, so every gradient gets noise; the steps are those of Adam",
	}
}

// takesNetworks refuses algorithms whose guarantee is not one of single gradients.
func takesNetworks(a algorithms.Algorithm) error {
	switch a.(type) {
	case algorithms.GradientPerturbation, algorithms.SubsampledDescent, algorithms.DPGDC2:
		return nil
	}
	return input.Errorf("dyad: %s does not train networks: they are trained by noisy gradients, with gradient-perturbation, dpgdc2 or, on secret batches of records, subsampled-descent", a.Info().Name)
}

// fillNetwork checks and completes the network of the options for an algorithm.
func (o *Options) fillNetwork(c algorithms.Choice, s Shape) error {
	switch {
	case o.Mode != algorithms.Certified:
		return input.Errorf("dyad: networks are trained in certified mode, not %s: no paper states noise for them, and without privacy use a library for that; on public data a large epsilon (1000) leaves noise that does not matter", o.Mode)
	case o.Radius != 0:
		return input.Errorf("dyad: a network takes no radius (--radius): every layer has a public ball of its own, set by its size and the gain")
	case o.asserts():
		return input.Errorf("dyad: a network takes no asserted constants (--G, --L, --Dg): clipping enforces them")
	case o.On.Precise():
		return input.Errorf("dyad: a network takes no precision (--precision): pairs are summed in float64, and a GPU (--device cuda:N) computes Jacobians in float32, which changes no guarantee (docs/theory.md#networks-on-a-gpu)")
	}
	if err := takesNetworks(c.Algorithm); err != nil {
		return err
	}
	net, err := o.Network.filled(cmp.Or(o.Task, AUC), s.Features)
	if err != nil {
		return err
	}
	if net.Compare == contrastive && o.Loss.Named() {
		return input.Errorf("dyad: contrastive embeddings have a loss of their own; leave the loss (--loss) out")
	}
	o.Network = &net
	return net.checkInit()
}

// describe adds the network to what a plan says.
func (n Network) describe(p *algorithms.Plan) {
	said := &p.Guarantee.Assumptions
	if n.Init != nil && n.Init.Guarantee.Kind != privacy.Public { // every report says it, the short one too
		said = &p.Guarantee.Warnings
	}
	*said = append(slices.Clone(*said), n.origin())
	pr := p.Spec.Kernel.Problem()
	p.Objective = strings.Join([]string{pr.Loss.Name(), pr.Loss.Definition(), n.origin()}, "; ")
}

// embedded are the records as a network maps them, and the linear model of those; the records
// and the model itself without a network.
func (m *Model) embedded(r *engine.Records) (*engine.Records, *Model, error) {
	if m.Network == nil {
		return r, m, nil
	}
	linear := &Model{Task: m.Task, Loss: m.Loss, PairLoss: &pairs.Stated{}} // distances of embeddings have no objective
	var err error
	if m.Task == AUC {
		linear.PairLoss = nil
		if linear.Weights, _, err = m.Readout(); err != nil {
			return nil, nil, err
		}
	}
	r, err = m.Embed(r)
	return r, linear, err
}

// Embed maps records by the network of the model, divided by the public bound of its outputs. A row
// depends on its own record alone, and stays one of its person. Distances are those of Transform over that bound.
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

// reach is the public bound of the outputs of the network.
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

// Readout is the linear model that gives the records of Embed the scores of a network, and its loss; nil
// for a metric, which compares them as they are.
func (m *Model) Readout() (weights []float64, loss engine.Loss, err error) {
	reach, err := m.reach()
	if err != nil || m.Task != AUC {
		return nil, nil, err
	}
	loss, err = (&Model{Task: AUC, Loss: m.Loss}).loss()
	return []float64{reach}, loss, err
}

// embeddings are f(x) of the records, row-major; a row depends on its own record alone.
func (m *Model) embeddings(r *engine.Records) (rows []float64, dim int, err error) {
	net, err := m.Network.model()
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

// ofTuples is the network with its defaults, for tuples or similar pairs of records of d features; nil without one.
func (n *Network) ofTuples(d int) (*Network, error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Clip != 0:
		return nil, input.Errorf("dyad: the gradient of a tuple, or of a cosine, is clipped as a whole (--clip), and its Jacobians are not")
	case n.Compare == contrastive:
		return nil, input.Errorf("dyad: the loss of tuples or batches says how embeddings are compared; choose --similarity %s or %s", cosine, distance)
	}
	net, err := n.filled(Metric, d)
	if err != nil {
		return nil, err
	}
	net.Clip = 0
	return &net, net.checkInit()
}

// describeTuples adds the network, which is filled, to a specification.
func (n Network) describeTuples(s *pairs.Spec) error {
	model, err := n.model()
	if err != nil {
		return err
	}
	s.Network = &pairs.Network{Model: model, Start: n.start(model), Origin: n.origin(), Optimizer: algorithms.NetworkOptimizer()}
	return nil
}
