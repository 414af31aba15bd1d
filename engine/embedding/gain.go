package embedding

import "math"

// UsualClip returns a public clipping norm for networks with these hidden layers. It is about the norm of the
// Jacobian in the last layer if the units are in their linear range, neither small nor saturated.
func UsualClip(hidden []int) float64 {
	if len(hidden) == 0 {
		return 1
	}
	return math.Sqrt(float64(hidden[len(hidden)-1]) / 2)
}

// NewMLPWith returns an MLP with an activation given by name. Its radii are the radii that RadiiFor
// returns for the gain.
func NewMLPWith(in int, hidden []int, out int, activation string, gain float64) (n MLP, err error) {
	n = MLP{In: in, Hidden: hidden, Out: out}
	if n.Activation, err = parseActivation(activation); err != nil {
		return n, err
	}
	n.Radii = n.RadiiFor(gain)
	return NewMLP(n)
}

// scaling is the factor of the weights of the first hidden layer for a gain. Records have norm at most 1, so weights of
// variance 1/In give numbers of size 1/sqrt(In). The gain is the wanted size of these numbers.
func (n MLP) scaling(gain float64) float64 {
	if len(n.Hidden) == 0 {
		return 1
	}
	return gain * math.Sqrt(float64(n.In))
}

// RadiiFor returns twice the average norm of each layer that StartWith draws.
func (n MLP) RadiiFor(gain float64) (radii []float64) {
	for _, l := range n.Layers() {
		radii = append(radii, 2*math.Sqrt(float64(l.Rows)))
	}
	radii[0] *= n.scaling(gain)
	return radii
}

// StartWith returns the weights of Start with the first hidden layer rescaled. The size
// of the outputs of this layer is then about equal to the gain.
func (n MLP) StartWith(gain float64, seed uint64) []float64 {
	theta, scale := n.Start(seed), n.scaling(gain)
	for k := range theta[:n.Layers()[0].Len()] {
		theta[k] *= scale
	}
	return theta
}

// StartWith returns the initial weights of the network, drawn with the seed. For an MLP, see MLP.StartWith. Other
// networks ignore the gain.
func (m Model) StartWith(gain float64, seed uint64) []float64 {
	if n, ok := m.Network.(MLP); ok {
		return n.StartWith(gain, seed)
	}
	return m.Network.Start(seed)
}
