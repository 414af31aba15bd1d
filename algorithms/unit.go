package algorithms

import (
	"fmt"

	"dyad/privacy"
)

// Unit is whose data a guarantee protects. Every kind of run takes its unit from the functions below, so that a ledger
// adds up the runs on the same data.
type Unit struct {
	Name     string // as "one record"
	Relation string // of neighbouring data sets
	// Assumption states the facts about units, and about the noise that protects them, on which the guarantee rests.
	Assumption string
	Warnings   []string // about who is not protected
}

// Names of units.
const (
	OneRecord     = "one record"
	OnePerson     = "one person"
	OneIndividual = "one individual"
	onePair       = "one pair"
	OneUser       = "one user"
)

// ShuffledUsers is the relation of neighbours towards an analyst who sees the messages of all users in a hidden order.
const ShuffledUsers = "same users, one user's record replaced" + withLabel

const (
	secretBits   = "the noise bits are secret"
	withLabel    = ", features and label"
	replaced     = "same n, one record replaced"
	publicInputs = "features are public in this form: nothing hides them"
)

// Rows is the unit of records that are single rows without labels.
func (p Provenance) Rows() Unit {
	return Unit{Name: OneRecord, Relation: replaced, Assumption: p.Contribution() + "; " + secretBits}
}

// Records is the unit of labelled records: rows, or persons with up to personRows rows if that is not 0
// (docs/theory.md#persons).
func (p Provenance) Records(personRows int) Unit {
	u := p.Rows()
	u.Relation += withLabel
	if personRows > 0 {
		u = Unit{Name: OnePerson, Relation: "same number n of persons, all rows of one person replaced: how many they are, features and labels"}
		u.Assumption = fmt.Sprintf("n counts persons, each with at least one row; of a person the first %d rows count; rows of one human under two ids count as two persons; the person that replaces another takes its place in the order of persons, which is that of their first rows in the data if ids are private; how long the run takes, which depends on the number of rows, is not seen (docs/theory.md#persons); %s", personRows, secretBits)
	}
	return u
}

// StreamUnit is the unit of records that arrive one by one.
func (p Provenance) StreamUnit() Unit {
	return Unit{Name: OneRecord, Relation: "same stream, one record replaced" + withLabel,
		Assumption: p.Contribution() + "; records may be chosen after seeing earlier releases; " + secretBits + "; a release leaves only after the state that counts it is durable"}
}

// IdentifiedUnit is the unit of labelled records whose ids are all compared.
func IdentifiedUnit() Unit { // named as for other runs on the same records
	return Unit{Name: OneRecord, Relation: "same n and ids, one record replaced" + withLabel, Assumption: secretBits}
}

// IndividualUnit is the unit of individuals in at most kappa pairs each.
func IndividualUnit(kappa int) Unit {
	return Unit{Name: OneIndividual, Assumption: secretBits,
		Relation: fmt.Sprintf("same ids and pairs, at most %d of an individual, one individual's record replaced: features and the labels of its pairs", kappa)}
}

// MappedUnit is the unit of records that a metric of pairs maps: individuals, so that a ledger adds both runs up.
func (p Provenance) MappedUnit() Unit {
	u := p.Rows()
	u.Name, u.Relation = OneIndividual, "same ids, one individual's record replaced: features, and labels of its pairs, which clusters do not read"
	return u
}

// PairsUnit is the unit of up to kappa pairs; 0 is one pair, as nothing but a kappa was stated.
func PairsUnit(kappa int) Unit {
	if kappa == 0 {
		return Unit{Name: onePair, Relation: "same ids and pairs, one pair's record replaced", Assumption: secretBits,
			Warnings: []string{"this is not privacy of an individual: one in k pairs has a loss of up to k times epsilon"}}
	}
	return Unit{Name: pairsName(kappa), Relation: "same ids and pairs, the records of at most kappa pairs replaced", Assumption: secretBits,
		Warnings: []string{fmt.Sprintf("this is not privacy of an individual: one in k > %d pairs has a loss of up to k/%d times epsilon", kappa, kappa)}}
}

func pairsName(kappa int) string { return fmt.Sprintf("a group of %d pairs", kappa) }

// PairLabelsUnit is the unit of the labels of up to kappa pairs, whose features are public.
func PairLabelsUnit(kappa int) Unit {
	u := Unit{Name: onePair, Relation: "same features, ids and pairs, one pair's label replaced", Assumption: secretBits, Warnings: []string{publicInputs}}
	if kappa > 1 {
		u.Name, u.Relation = pairsName(kappa), "same features, ids and pairs, the labels of at most kappa pairs replaced"
	}
	return u
}

// UserUnit is the unit of users who send messages about their record, or, if features are public, about its label.
func UserUnit(labelOnly bool) Unit {
	u := Unit{Name: OneUser, Relation: "any two records of that user" + withLabel, Assumption: "each user has one record and draws the noise at home; the server need not be trusted"}
	if labelOnly {
		u.Relation, u.Warnings = "the two labels of that user", []string{publicInputs}
	}
	return u
}

// Guarantee is a guarantee for the unit without numbers: what is released and why that is enough. The assumption of the
// unit is the last of the given ones. Every guarantee starts here.
func (u Unit) Guarantee(released, derivation string, assumptions ...string) privacy.Guarantee {
	if u.Assumption != "" {
		assumptions = append(assumptions, u.Assumption)
	}
	return privacy.Guarantee{Unit: u.Name, Relation: u.Relation, Released: released, Derivation: derivation, Assumptions: assumptions, Warnings: u.Warnings}
}

// NoGuarantee is the guarantee of a release without noise: none. reveals describes what it may reveal.
func NoGuarantee(released, reveals string) privacy.Guarantee {
	g := Unit{Name: "nobody", Warnings: []string{"non-private baseline: " + reveals}}.Guarantee(released, "")
	g.Kind = privacy.None
	return g
}

// PublicData is the guarantee of what is released from data that are public: none is needed.
func PublicData(released string) privacy.Guarantee {
	g := Unit{}.Guarantee(released, "")
	g.Kind = privacy.Public
	return g
}

// Stated is a guarantee for the unit of that name by its numbers alone, as a ledger or an audit states it.
func Stated(unit string, epsilon, delta, mu float64) privacy.Guarantee {
	g := Unit{Name: unit}.Guarantee("", "")
	g.Kind, g.Epsilon, g.Delta, g.Mu = privacy.PureDP, epsilon, delta, mu
	if delta > 0 {
		g.Kind = privacy.ApproxDP
	}
	return g
}
