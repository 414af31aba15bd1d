package layers

import (
	"fmt"
	"io"
	"os"
	"slices"

	"dyad/engine/embedding"
)

// Kinds of networks in model files: the multilayer perceptron, which has formulas of its own, and what a Spec describes.
const (
	MLP  = "mlp"
	Kind = "layers"
)

// ID is the digest of a Spec, "" for nil.
func (s *Spec) ID() string {
	if s == nil {
		return ""
	}
	return s.Digest()
}

// maxFile is the most that is read of a file.
const maxFile = 1 << 20

// Read reads the Spec of a file.
func Read(file string) (*Spec, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("layers: cannot read the network: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(text) > maxFile {
		return nil, fmt.Errorf("layers: cannot read the network of %s, which may have %d bytes: %v", file, maxFile, err)
	}
	s, err := Parse(text)
	return &s, err
}

// Own is a network that has no formulas of its own in a program: of a Spec, or what a program of one's own builds.
type Own struct {
	Kind  string            // its name
	Spec  *Spec             // of a file, else nil
	In    int               // features
	Out   int               // the dimension of the output
	Parts []embedding.Layer // its weights as a model file states them, nil for a new one
	// Build makes it with a Jacobian; nil where that is not known. Then it maps records if it has a Spec.
	Build func() (embedding.Network, error)
}

// Network is the network, which is refused where it is not the one of Parts.
func (o Own) Network() (net embedding.Network, err error) {
	switch read := (embedding.Shape{Title: o.Kind, In: o.In, Out: o.Out, Parts: o.Parts}); {
	case (o.Kind == Kind) != (o.Spec != nil):
		err = fmt.Errorf("layers: a network of kind %q, and no other, has layers; Network.Read reads them from a file", Kind)
	case o.Build != nil:
		net, err = o.Build()
	case o.Spec != nil:
		net, err = o.Spec.Network(o.In, o.Out)
	case o.Parts != nil:
		net, err = read, read.Validate()
	default:
		err = fmt.Errorf("layers: the kind of model %q is unknown; it is linear (no network), mlp, or what a program of one's own builds", o.Kind)
	}
	if err != nil {
		return nil, err
	}
	if _, proved := net.(embedding.MLP); proved { // a model file with another name does not prove its range, so that its outputs are projected
		net = struct{ embedding.Network }{net}
	}
	if d, m := net.Dims(); d != o.In || m != o.Out || o.Parts != nil && !slices.Equal(o.Parts, net.Layers()) {
		return nil, fmt.Errorf("layers: network %q of this program maps %d features to %d numbers, by weights of other shapes or balls than asked for, or than the model has", o.Kind, d, m)
	}
	return net, embedding.Model{Network: net, Output: embedding.Output{Unit: true}}.Validate()
}

// Known refuses a network whose function, or Jacobian, the program does not have.
func (o Own) Known(jacobian bool) error {
	switch {
	case o.Kind == MLP || o.Build != nil || o.Spec != nil && !jacobian:
		return nil
	case o.Spec != nil:
		return fmt.Errorf("layers: this program scores with networks of files and does not train them; set Network.Build, by autodiff/gorgonia.NewLayers")
	}
	return fmt.Errorf("layers: this program does not have the network %q of the model; use the program that trained it, or set Model.Network.Build", o.Kind)
}
