package layers

import (
	"fmt"
	"os"
	"slices"

	"dyad/engine/dataset/strictyaml"
	"dyad/engine/embedding"
)

// Kinds of networks in model files. MLP is the multilayer perceptron, whose formulas package embedding has. Kind is a
// network that a Spec describes.
const (
	MLP  = "mlp"
	Kind = "layers"
)

// ID returns the digest of a Spec, or "" if s is nil.
func (s *Spec) ID() string {
	if s == nil {
		return ""
	}
	return s.Digest()
}

// Read reads a Spec from a file.
func Read(file string) (*Spec, error) {
	text, err := strictyaml.Read(os.Open(file))
	if err != nil {
		return nil, fmt.Errorf("layers: cannot read the network: %w", err)
	}
	s, err := Parse(text)
	s.file = file
	return &s, s.named(err)
}

// Own is a network without built-in formulas. It comes from a Spec or from the Build function of a user's program.
type Own struct {
	// Kind is the name of the kind of network.
	Kind string
	// Spec is the description from a file, or nil.
	Spec *Spec
	// In is the number of features.
	In int
	// Out is the dimension of the output.
	Out int
	// Parts are the layers that a model file lists for the weights. They are nil for a new network.
	Parts []embedding.Layer
	// Build makes a network that can also compute its Jacobian. If Build is nil, the Jacobian is unknown, and
	// the network can map records only if it has a Spec.
	Build func() (embedding.Network, error)
}

// Network returns the network. It returns an error if the layers of the network differ from Parts.
func (o Own) Network() (net embedding.Network, err error) {
	switch read := (embedding.Shape{Title: o.Kind, In: o.In, Out: o.Out, Parts: o.Parts}); {
	case (o.Kind == Kind) != (o.Spec != nil):
		err = fmt.Errorf("layers: kind %q needs layers, and other kinds have none; Network.Read reads layers from "+
			"a file", Kind)
	case o.Build != nil:
		net, err = o.Build()
	case o.Spec != nil:
		net, err = o.Spec.Network(o.In, o.Out)
	case o.Parts != nil:
		net, err = read, read.Validate()
	default:
		err = fmt.Errorf("layers: model kind %q is unknown; want linear (no network), mlp or a kind of your own "+
			"program", o.Kind)
	}
	if err != nil {
		return nil, err
	}
	// a model file with another name does not prove its range, so its outputs are projected
	if _, proved := net.(embedding.MLP); proved {
		net = struct{ embedding.Network }{net}
	}
	if d, m := net.Dims(); d != o.In || m != o.Out || o.Parts != nil && !slices.Equal(o.Parts, net.Layers()) {
		return nil, fmt.Errorf("layers: network %q of this program maps %d features to %d numbers, but the model "+
			"or request needs another shape", o.Kind, d, m)
	}
	return net, embedding.Model{Network: net, Output: embedding.Output{Unit: true}}.Validate()
}

// Known returns an error if the program does not have the function of the network. If jacobian is true, it also
// returns an error if the program does not have the Jacobian.
func (o Own) Known(jacobian bool) error {
	switch {
	case o.Kind == MLP || o.Build != nil || o.Spec != nil && !jacobian:
		return nil
	case o.Spec != nil:
		return fmt.Errorf("layers: this program cannot train a network with layers; set Network.Build with " +
			"autodiff/gorgonia.NewLayers")
	}
	return fmt.Errorf("layers: this program does not have the network %q of the model; use the program that trained it, "+
		"or set Model.Network.Build", o.Kind)
}
