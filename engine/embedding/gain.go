package embedding

import "math"

// UsualClip is a public clipping norm for networks with these hidden layers: about the norm of the Jacobian in the last layer
// where units are in their linear range, neither small nor saturated.
func UsualClip(hidden []int) float64 {
	if len(hidden) == 0 {
		return 1
	}
	return math.Sqrt(float64(hidden[len(hidden)-1]) / 2)
}

// NewMLPWith is NewMLP of an activation by its name, with the balls of a gain.
func NewMLPWith(in int, hidden []int, out int, activation string, gain float64) (n MLP, err error) {
	n = MLP{In: in, Hidden: hidden, Out: out}
	if n.Activation, err = ParseActivation(activation); err != nil {
		return n, err
	}
	n.Radii = n.RadiiFor(gain)
	return NewMLP(n)
}

// scaling is the factor of the first hidden layer for a gain: records have norm up to 1, so that a weight of variance 1/In gives
// numbers of size 1/sqrt(In), and the gain is the size that is wanted.
func (n MLP) scaling(gain float64) float64 {
	if len(n.Hidden) == 0 {
		return 1
	}
	return gain * math.Sqrt(float64(n.In))
}

// RadiiFor are twice the norms that StartWith's layers have on average.
func (n MLP) RadiiFor(gain float64) (radii []float64) {
	for _, l := range n.Layers() {
		radii = append(radii, 2*math.Sqrt(float64(l.Rows)))
	}
	radii[0] *= n.scaling(gain)
	return radii
}

// StartWith is Start with a first hidden layer whose numbers have about the size gain.
func (n MLP) StartWith(gain float64, seed uint64) []float64 {
	theta, scale := n.Start(seed), n.scaling(gain)
	for k := range theta[:n.Layers()[0].Len()] {
		theta[k] *= scale
	}
	return theta
}

// StartWith is the start of the network, with a gain if it is an MLP.
func (m Model) StartWith(gain float64, seed uint64) []float64 {
	if n, ok := m.Network.(MLP); ok {
		return n.StartWith(gain, seed)
	}
	return m.Network.Start(seed)
}
