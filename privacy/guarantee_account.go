package privacy

import "dyad/privacy/account"

// Account completes a guarantee that already states the release, the protected unit and
// the reason. It sets kind, epsilon and delta from the composition of the events at the
// budget's delta, and mu where no batch is secret. A claim in g is judged by this
// epsilon. On delta = 0 epsilon is +Inf unless every event is pure.
func Account(events []account.Event, b Budget, g Guarantee) (Guarantee, error) {
	var total account.Total
	for _, event := range events {
		if err := total.Compose(event); err != nil {
			return Guarantee{}, err
		}
	}
	g.Kind, g.Epsilon, g.Delta, g.Mu = PureDP, total.Epsilon(b.Delta), b.Delta, 0
	if b.Delta > 0 {
		g.Kind = ApproxDP
		if !total.Sampled() { // else mu, which holds for known batches, is weaker than epsilon and delta
			g.Mu = total.Mu()
		}
	}
	if g.Claim != nil {
		g.Claim.Holds = g.Epsilon <= g.Claim.Epsilon
	}
	return g, nil
}
