package algorithms

import (
	"fmt"

	"dyad/privacy"
)

// Unit is the unit of privacy of a guarantee. Every kind of run takes its unit from the functions below, so that a
// ledger adds up the runs on the same data.
type Unit struct {
	Name     string // the name, such as "one record"
	Relation string // the relation of neighbouring data sets
	// Assumption states the facts about the units and about the noise on which the guarantee rests.
	Assumption string
	Warnings   []string // warnings about people who are not protected
}

// These are the names of units.
const (
	OneRecord     = "one record"
	OnePerson     = "one person"
	OneIndividual = "one individual"
	onePair       = "one pair"
	OneUser       = "one user"
)

// ShuffledUsers is the neighbour relation of a guarantee against an analyst who sees the messages of all users in a
// hidden order.
const ShuffledUsers = "same users, one user's record replaced" + withLabel

const (
	secretBits   = "the noise bits are secret"
	withLabel    = ", features and label"
	replaced     = "same n, one record replaced"
	publicInputs = "features are public in this form: nothing hides them"
)

// Rows returns the unit of records that are single rows without labels.
func (p Provenance) Rows() Unit {
	return Unit{Name: OneRecord, Relation: replaced, Assumption: p.Contribution() + "; " + secretBits}
}

// Records returns the unit of labelled records. If personRows is 0 the records are rows. Otherwise they are
// persons with up to personRows rows (docs/theory.md#persons).
func (p Provenance) Records(personRows int) Unit {
	u := p.Rows()
	u.Relation += withLabel
	if personRows > 0 {
		u = Unit{Name: OnePerson, Relation: "same number n of persons, all rows of one person replaced: how many they are, " +
			"features and labels"}
		u.Assumption = fmt.Sprintf("n counts persons, each with at least one row; of a person the first %d rows count; rows "+
			"of one human under two ids count as two persons; the person that replaces another takes its place in the order of "+
			"persons, which is that of their first rows in the data if ids are private; how long the run takes, which depends "+
			"on the number of rows, is not seen (docs/theory.md#persons); %s", personRows, secretBits)
	}
	return u
}

// StreamUnit returns the unit of records that arrive one by one.
func (p Provenance) StreamUnit() Unit {
	return Unit{Name: OneRecord, Relation: "same stream, one record replaced" + withLabel,
		Assumption: p.Contribution() + "; records may be chosen after seeing earlier releases; " + secretBits +
			"; a release leaves only after the state that counts it is durable"}
}

// IdentifiedUnit returns the unit of labelled records that all have ids, which are compared.
func IdentifiedUnit() Unit { // it has the name that other runs on the same records use
	return Unit{Name: OneRecord, Relation: "same n and ids, one record replaced" + withLabel, Assumption: secretBits}
}

// IndividualUnit returns the unit of individuals who are in at most kappa pairs each.
func IndividualUnit(kappa int) Unit {
	return Unit{Name: OneIndividual, Assumption: secretBits,
		Relation: fmt.Sprintf("same ids and pairs, at most %d of an individual, one individual's record replaced: features "+
			"and the labels of its pairs", kappa)}
}

// MappedUnit returns the unit of records that are mapped by a metric of pairs. The unit is one individual, so
// that a ledger adds up the run of the metric and the run on the mapped records.
func (p Provenance) MappedUnit() Unit {
	u := p.Rows()
	u.Name, u.Relation = OneIndividual,
		"same ids, one individual's record replaced: features, and labels of its pairs, which clusters do not read"
	return u
}

// PairsUnit returns the unit of up to kappa pairs. If kappa is 0 the unit is one pair.
func PairsUnit(kappa int) Unit {
	if kappa == 0 {
		return Unit{Name: onePair, Relation: "same ids and pairs, one pair's record replaced", Assumption: secretBits,
			Warnings: []string{"this is not privacy of an individual: one in k pairs has a loss of up to k times epsilon"}}
	}
	return Unit{Name: pairsName(kappa), Relation: "same ids and pairs, the records of at most kappa pairs replaced",
		Assumption: secretBits,
		Warnings: []string{fmt.Sprintf("this is not privacy of an individual: one in k > %d pairs has a loss of up to k/%d "+
			"times epsilon", kappa, kappa)}}
}

func pairsName(kappa int) string { return fmt.Sprintf("a group of %d pairs", kappa) }

// PairLabelsUnit returns the unit of the labels of up to kappa pairs with public features.
func PairLabelsUnit(kappa int) Unit {
	u := Unit{Name: onePair, Relation: "same features, ids and pairs, one pair's label replaced", Assumption: secretBits,
		Warnings: []string{publicInputs}}
	if kappa > 1 {
		u.Name, u.Relation = pairsName(kappa), "same features, ids and pairs, the labels of at most kappa pairs replaced"
	}
	return u
}

// UserUnit returns the unit of users who send messages about their record. If labelOnly is true, features are
// public and the messages are about the label only.
func UserUnit(labelOnly bool) Unit {
	u := Unit{Name: OneUser, Relation: "any two records of that user" + withLabel,
		Assumption: "each user has one record and draws the noise at home; the server need not be trusted"}
	if labelOnly {
		u.Relation, u.Warnings = "the two labels of that user", []string{publicInputs}
	}
	return u
}

// Guarantee returns a guarantee for the unit without privacy parameters. released describes the release, and derivation
// is the reason why the guarantee holds. The unit's own assumption is added after the given assumptions. Every
// guarantee is created by this function.
func (u Unit) Guarantee(released, derivation string, assumptions ...string) privacy.Guarantee {
	if u.Assumption != "" {
		assumptions = append(assumptions, u.Assumption)
	}
	return privacy.Guarantee{Unit: u.Name, Relation: u.Relation, Released: released, Derivation: derivation,
		Assumptions: assumptions, Warnings: u.Warnings}
}

// NoGuarantee returns the empty guarantee of a release without noise. reveals describes the information that
// the release may reveal.
func NoGuarantee(released, reveals string) privacy.Guarantee {
	g := Unit{Name: "nobody", Warnings: []string{"non-private baseline: " + reveals}}.Guarantee(released, "")
	g.Kind = privacy.None
	return g
}

// PublicData returns the guarantee of a release from public data, which states that the data need no protection.
func PublicData(released string) privacy.Guarantee {
	g := Unit{}.Guarantee(released, "")
	g.Kind = privacy.Public
	return g
}

// Stated returns a guarantee that consists of the unit's name and the privacy parameters only, as a ledger or
// an audit states it.
func Stated(unit string, epsilon, delta, mu float64) privacy.Guarantee {
	g := Unit{Name: unit}.Guarantee("", "")
	g.Kind, g.Epsilon, g.Delta, g.Mu = privacy.PureDP, epsilon, delta, mu
	if delta > 0 {
		g.Kind = privacy.ApproxDP
	}
	return g
}
