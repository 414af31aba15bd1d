package dyad

import (
	"dyad/algorithms/pairs"
	"dyad/internal/input"
)

// ofTuples is the network with its defaults, for tuples or similar pairs of records of d features; nil without one.
func (n *Network) ofTuples(d int) (*Network, error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Clip != 0:
		return nil, input.Errorf("dyad: the gradient of a tuple, or of a cosine, is clipped as a whole (--clip), and its Jacobians are not")
	case n.Compare == Contrastive:
		return nil, input.Errorf("dyad: the loss of tuples or batches says how embeddings are compared; choose --similarity %s or %s", Cosine, Distance)
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
	s.Network = &pairs.Network{Model: model, Start: n.start(model), Origin: n.origin(), Optimizer: NetworkOptimizer()}
	return nil
}
