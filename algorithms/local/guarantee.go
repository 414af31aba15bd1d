package local

import (
	"fmt"
	"math"

	"dyad/algorithms"
	"dyad/privacy"
	"dyad/privacy/local"
)

// guarantee returns the guarantee of a protocol (docs/theory.md#local-protocols, docs/theory.md#local-messages).
//
// Proof. Prestige and DJW: the message of a visit is one private sample. It is Epsilon locally private for any
// two records, whatever their gradients, including a gradient that is zero because of a threshold or an
// unusable record. State is post-processing of messages, and the visits of a user compose to Epochs Epsilon.
// The gradient may be any function of the record and of State, so the proof covers a network
// (docs/theory.md#local-networks). PrestigeParticipation: local.DirectionChannel.ParticipationEpsilon is at
// most Epsilon if the gradient 0 is sent whenever the answer should be no. PrestigeLabel: with public x, the
// only message that depends on y is one response. For another label the response to a fair coin is a mixture of
// the responses to both labels. PrestigePrinted: a record with |w.x + b| below the threshold never sends, and a
// record above it sends with positive probability, so no finite epsilon holds. If x is public, the message of
// an epoch, and whether it is sent, are post-processing of one response of y. The private sampling of a
// function of this response adds no cost. QED
func (p *Plan) guarantee() privacy.Guarantee {
	g := algorithms.UserUnit(p.Method == PrestigeLabel).Guarantee(fmt.Sprintf("the user's messages of %d epochs, and "+
		"with them every published model", p.Epochs), "",
		fmt.Sprintf("public: %d users, each visited once an epoch in an order that does not depend on records, %d epochs, d "+
			"= %d, norm bound %g, %s, all options", p.Users, p.Epochs, p.Dim, p.FeatureNorm, p.shape()))
	g.Kind = privacy.LocalDP
	if p.Method.protects() {
		g.Assumptions = append(g.Assumptions,
			"the server sees messages, that they come and when; participation is public. A record that cannot be used (a "+
				"missing value, an unknown category, another label) sends one, too, which contributes nothing; what the user's "+
				"own computer shows is the user's")
	}
	// As decimals, 5 visits of 0.2 are 1. The randomisers have slightly smaller epsilons, which cover the roundings.
	all := privacy.DecimalTimes(p.Epochs, p.Epsilon)
	switch p.Method {
	case Prestige, DJW:
		g.Epsilon = all
		g.Derivation = fmt.Sprintf("private sampling on the sphere, %g-LDP for any vector sent "+
			"(docs/theory.md#local-direction), %d times", p.Epsilon, p.Epochs)
	case PrestigeParticipation:
		g.Epsilon = all
		sampling, up := p.channel.Mechanism().Epsilon, privacy.FormatUp
		g.Derivation = fmt.Sprintf("randomised response whether the record takes part (%s) and, if it says yes, private "+
			"sampling (%s), of gradient 0 if the record does not: together %s-LDP, max(%s, %s + %s) "+
			"(docs/theory.md#local-messages), %d times",
			up(p.response.Epsilon), up(sampling), up(p.channel.ParticipationEpsilon(p.response.Epsilon)), up(sampling),
			up(p.response.Epsilon), up(p.channel.EpsilonAgainstZero()), p.Epochs)
	case PrestigeLabel:
		g.Kind, g.Epsilon = privacy.LabelLDP, p.Epsilon
		g.Released = "the user's features, in clear, and one randomised label, used in every epoch"
		g.Derivation = fmt.Sprintf("one memoised randomised response of the label, %g-LDP (docs/theory.md#local-protocols)",
			p.Epsilon)
	case PrestigePrinted:
		g.Kind, g.Epsilon = privacy.None, 0
		g.Claim = &privacy.Claim{Source: "[Han19] Algorithm 1", Epsilon: p.Epsilon}
		g.Warnings = []string{
			"NO GUARANTEE: whether a user sends at all is decided by the raw features, so no finite epsilon holds for them " +
				"(docs/theory.md#local-participation)",
			fmt.Sprintf("if all features were public, the labels would have %g-LDP: one fresh response of epsilon %g in each "+
				"of %d epochs", privacy.DecimalTimes(p.Epochs, p.response.Epsilon), p.response.Epsilon, p.Epochs),
		}
	case Curriculum, SGD:
		return algorithms.NoGuarantee("exact gradients", "the server sees every gradient")
	}
	reach, raise := p.Radius*p.FeatureNorm+math.Abs(p.Bias), "a larger radius"
	if p.Network != nil {
		reach, raise = p.model.Reach(p.FeatureNorm)+math.Abs(p.Bias), "more hidden units"
	}
	if p.Method.gradual() && p.Threshold > reach {
		wasted, threshold := 0, p.Threshold
		for wasted < p.Epochs && threshold > reach {
			wasted++
			threshold -= p.ThresholdStep * math.Sqrt(float64(wasted))
		}
		g.Warnings = append(g.Warnings, fmt.Sprintf("no record can reach the threshold in the first %d epochs: margins are "+
			"at most %.3g; choose %s or a smaller threshold", wasted, reach, raise))
	}
	if enough := p.EnoughUsers(); float64(p.Users) < enough {
		g.Warnings = append(g.Warnings, fmt.Sprintf("%d users are few for the %d parameters of the network: the noise of "+
			"the mean of all messages is more than %g of the largest possible gradient, up to %.0f users; choose fewer hidden "+
			"units or features, a larger epsilon, or a linear model", p.Users, p.Parameters, enoughShare, enough))
	}
	return g
}

// shape describes the public properties of the model.
func (p *Plan) shape() string {
	if n := p.Network; n != nil {
		return fmt.Sprintf("network %s with %d parameters, start of seed %d, clipping norm %.6g", p.NetworkName(),
			p.Parameters, n.Seed, n.Clip)
	}
	return fmt.Sprintf("radius %g, lambda = %g", p.Radius, p.L2)
}

// Shuffled returns the guarantee towards an analyst who sees only the messages and does not know their
// senders. In every epoch the messages must be in a fresh random order that is kept secret. It uses
// local.ShuffleEpsilon of package privacy/local, composed over the epochs by addition. delta is for all
// epochs together. The error wraps ErrProtocol if the theorem does not apply.
func (p *Plan) Shuffled(delta float64) (privacy.Guarantee, error) {
	if p.Method != Prestige && p.Method != DJW || p.Batch != 1 {
		return privacy.Guarantee{}, fmt.Errorf("%w: shuffle amplification needs one message of every user in each "+
			"epoch (methods prestige and djw, batch 1)", ErrProtocol)
	}
	share := delta / float64(p.Epochs)
	epsilon, err := local.ShuffleEpsilon(p.Epsilon, p.Users, share*(1-0x1p-50))
	if err != nil {
		return privacy.Guarantee{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	g := p.Guarantee
	g.Kind, g.Epsilon, g.Delta = privacy.ApproxDP, epsilon*float64(p.Epochs)*(1+0x1p-50), delta
	g.Relation = algorithms.ShuffledUsers
	g.Derivation = fmt.Sprintf("shuffling of %d messages of epsilon %g (Feldman, McMillan and Talwar 2021, Theorem 3.1, "+
		"cited; docs/theory.md#local-shuffling), %d epochs added up", p.Users, p.Epsilon, p.Epochs)
	g.Assumptions = append(append([]string(nil), g.Assumptions...),
		"messages reach the analyst in a secret, uniformly random order, fresh in every epoch, and without their senders: a "+
			"trusted shuffler stands between")
	return g, nil
}
