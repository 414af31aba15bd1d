package command

import (
	"slices"
	"strings"

	lib "dyad"
	"dyad/algorithms"
)

// networkFlags are the flags that choose a nonlinear model and the rule by which noisy gradients become steps.
type networkFlags struct {
	ModelKind  string  `name:"model" default:"linear" placeholder:"KIND" help:"linear, mlp (a network with up to two hidden layers) or FILE.yaml (a network, docs/networks.md). A network outputs a score; with --task metric, an embedding."`
	Hidden     []int   `needs:"model=mlp" placeholder:"N" help:"Units of the hidden layers of --model mlp: one or two numbers; 0: no layer. Default: 32."`
	Dim        int     `needs:"model=mlp|model=FILE" positive:"" placeholder:"M" help:"Dimension of the embedding of a network with --task metric. Default: 16."`
	Activation string  `needs:"model=mlp" enum:",tanh,softplus" default:"" placeholder:"A" help:"Activation of the hidden layers of --model mlp: tanh or softplus. Default: tanh."`
	Compare    string  `needs:"model=mlp|model=FILE" name:"similarity" enum:",cosine,distance,contrastive" default:"" placeholder:"HOW" help:"How embeddings are compared: cosine, distance, or contrastive (with its own loss). Default: cosine."`
	Clip       float64 `needs:"model=mlp|model=FILE" name:"jacobian-clip" positive:"" placeholder:"C" help:"Public clipping norm of the Jacobian at each record. Default: sqrt(H/2), H = number of inputs of the last layer."`
	Gain       float64 `needs:"model=mlp" positive:"" placeholder:"S" help:"Standard deviation of the initial weights of the first hidden layer. Default: 2."`
	InitSeed   uint64  `needs:"model=mlp|model=FILE" placeholder:"SEED" help:"Public seed of the initial weights. Default: 0."`
	Init       string  `needs:"model=mlp|model=FILE" placeholder:"MODEL" help:"Model file with the initial weights of a network. It must come from public data or have a guarantee."`

	Update   string  `enum:",plain,momentum,adam" default:"" placeholder:"RULE" help:"Step rule of gradient-perturbation and subsampled-descent: plain, momentum or adam (corrected for noise). Default: plain; adam with a network."`
	Momentum float64 `positive:"" placeholder:"B" help:"Weight of earlier gradients, below 1, for --update momentum or adam. Default: 0.9."`
	Decay    string  `enum:",constant,linear,cosine,root,step" default:"" placeholder:"HOW" help:"Decay of the step size: constant, linear, cosine, root (1/sqrt t) or step (halved three times). Default: constant; linear with a network."`
	Tail     float64 `name:"tail-average" positive:"" placeholder:"F" help:"The model is the mean of the last fraction F < 1 of the iterates. Default: only the last iterate."`
}

// nonlinear reports whether the flags ask for a network.
func (f networkFlags) nonlinear() bool { return f.ModelKind != "" && f.ModelKind != "linear" }

// network returns the network described by the flags, or nil for a linear model.
func (f networkFlags) network(w With) (*lib.Network, error) {
	if !f.nonlinear() {
		return nil, nil
	}
	n := &lib.Network{Hidden: f.Hidden, Dim: f.Dim, Activation: f.Activation, Compare: f.Compare, Clip: f.Clip,
		Gain: f.Gain, Seed: f.InitSeed}
	if f.ModelKind != "mlp" {
		if n.Kind = f.ModelKind; !w.builds(n) {
			if !strings.ContainsAny(f.ModelKind, "./\\") {
				return nil, badInput("--model is %q, want linear, mlp, %sor FILE.yaml", f.ModelKind, w.networkNames())
			}
			if err := n.Read(f.ModelKind); err != nil {
				return nil, err
			}
			w.builds(n)
		}
	}
	if len(f.Hidden) == 1 && f.Hidden[0] == 0 {
		n.Hidden = []int{}
	}
	if f.Init != "" {
		m, err := readModel(f.Init)
		if err != nil {
			return nil, err
		}
		n.Init = m
	}
	return n, nil
}

// optimizerOptions returns the options of the step rule, with their defaults for a network.
func (f networkFlags) optimizerOptions(algorithm string) []algorithms.Option {
	takes := algorithm == "" || algorithm == algorithms.AutoName ||
		algorithm == algorithms.SubsampledDescent{}.Info().Name || algorithm == algorithms.GradientPerturbation{}.Info().Name
	if usual := algorithms.NetworkOptimizer(); f.nonlinear() && takes && f.Update == "" && f.Decay == "" {
		f.Update, f.Decay = usual.Update, usual.Decay
	}
	return []algorithms.Option{
		{Name: "--update", Field: "Update", Value: f.Update}, {Name: "--momentum", Field: "Momentum", Value: f.Momentum},
		{Name: "--decay", Field: "Decay", Value: f.Decay}, {Name: "--tail-average", Field: "Tail", Value: f.Tail},
	}
}

// builds sets the function that builds a network of the kind and reports whether With has this kind.
func (w With) builds(n *lib.Network) bool {
	i := slices.IndexFunc(w.Networks, func(own lib.Network) bool { return own.Kind == n.Kind })
	if i < 0 {
		return false
	}
	n.Build = w.Networks[i].Build
	return true
}

// networkNames returns a text with the additional values of --model.
func (w With) networkNames() (text string) {
	for _, n := range w.Networks {
		if n.Kind != "layers" {
			text += n.Kind + ", "
		}
	}
	return text
}
