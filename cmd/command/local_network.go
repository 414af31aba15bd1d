package command

import lib "dyad"

// localNetworkFlags are the flags for a network as the model of a local protocol.
type localNetworkFlags struct {
	ModelKind string  `name:"model" enum:"linear,mlp" default:"linear" placeholder:"KIND" help:"linear, or mlp: a network with one hidden tanh layer, which needs many users (docs/local-networks.md)."`
	Hidden    int     `needs:"model=mlp" positive:"" placeholder:"N" help:"Hidden units of --model mlp; more units mean more noise. Default: 8."`
	Clip      float64 `needs:"model=mlp" name:"clip" aliases:"gradient-clip" positive:"" placeholder:"C" help:"With --model mlp: public clipping norm of gradients. Default: G sqrt(N/8); G = largest slope of the loss, N = hidden units."`
	Gain      float64 `needs:"model=mlp" positive:"" placeholder:"S"`
	InitSeed  uint64  `needs:"model=mlp" placeholder:"SEED" help:"Public seed of the initial weights. Default: 0."`
	StepSize  float64 `needs:"model=mlp" aliases:"rate" positive:"" placeholder:"A" help:"Step length A of --model mlp. Noise moves the model by about A/sqrt(t) in update t. Default: 2."`
}

// network returns the network described by the flags, or nil for a linear model.
func (f localNetworkFlags) network() *lib.Network {
	if f.ModelKind == "mlp" {
		return &lib.Network{Hidden: []int{f.Hidden}, Clip: f.Clip, Gain: f.Gain, Seed: f.InitSeed}
	}
	return nil
}
