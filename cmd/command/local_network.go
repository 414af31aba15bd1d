package command

import lib "dyad"

// localNetworkFlags are the flags for a network as the model of a local protocol.
type localNetworkFlags struct {
	ModelKind string  `name:"model" enum:"linear,mlp" default:"linear" placeholder:"KIND" help:"linear, or if there are enough users for its parameters, mlp: a network with one hidden layer of tanh units (docs/local-networks.md)."`
	Hidden    int     `needs:"model=mlp" positive:"" placeholder:"N" help:"Units of the hidden layer of --model mlp; the noise of a message grows with the root of N (d + 2). Default: 8."`
	Clip      float64 `needs:"model=mlp" name:"clip" aliases:"gradient-clip" positive:"" placeholder:"C" help:"Norm to which a user's gradient is clipped with --model mlp; public. Default: sqrt(N/8) times the largest slope of the loss."`
	Gain      float64 `needs:"model=mlp" positive:"" placeholder:"S"`
	InitSeed  uint64  `needs:"model=mlp" placeholder:"SEED" help:"Public seed of the start of a network. Default: 0."`
	StepSize  float64 `needs:"model=mlp" aliases:"rate" positive:"" placeholder:"A" help:"Step length of --model mlp: the noise of update t moves the model by about A/sqrt t. Default: 2."`
}

// network returns the network described by the flags, or nil for a linear model.
func (f localNetworkFlags) network() *lib.Network {
	if f.ModelKind == "mlp" {
		return &lib.Network{Hidden: []int{f.Hidden}, Clip: f.Clip, Gain: f.Gain, Seed: f.InitSeed}
	}
	return nil
}
