package privacy

import "dyad/privacy/account"

// Account completes g, in which the caller has set the release, the protected unit and the derivation. It
// computes the epsilon of all events together at the delta of b, and sets Kind, Epsilon and Delta. It sets
// Mu if delta > 0 and if neither a batch nor a number of runs is secret. If g has a Claim, Account compares
// the claim with this epsilon. At delta = 0, epsilon is +Inf unless every event is pure.
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
		if !total.Sampled() { // with secret batches, mu would hold for known batches and be weaker than epsilon and delta
			g.Mu = total.Mu()
		}
	}
	if g.Claim != nil {
		g.Claim.Holds = g.Epsilon <= g.Claim.Epsilon
	}
	return g, nil
}
