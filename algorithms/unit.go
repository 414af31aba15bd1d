package algorithms

import (
	"fmt"
	"slices"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
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

// IdentifiedUnit returns the unit of labelled records that are compared with each other and that all have ids.
func IdentifiedUnit() Unit { // the unit has the same name as in other runs on the same records
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

// Guarantee returns a guarantee for the unit. It does not set the privacy parameters. released describes the release,
// and derivation is the reason why the guarantee holds. The unit's own assumption is added after the given assumptions.
// Every guarantee is created by this function.
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

// Provenance holds public facts about the origin of records that weaken a guarantee.
type Provenance struct {
	// BoundsFromData is true if the bounds were taken from the data. The guarantee then carries a warning that
	// voids the guarantee.
	BoundsFromData bool
	// DraftAway is true if the schema was drafted from the data and the draft is missing, so that the ranges of schema
	// and draft cannot be compared. The guarantee then carries the warning DraftAway.
	DraftAway bool
	// SelectedByLabel is true if the records are the rows of a file that have one of two labels. The guarantee
	// then states that it does not hide whose rows were selected.
	SelectedByLabel bool
	// RowsPerPerson is the largest number of rows that a person may have, if a record is a row. A guarantee for
	// one record then also states its value for a person. 0 means that the number is not known.
	RowsPerPerson int
}

// Qualify adds assumptions and warnings to a guarantee. The assumptions state which records the data can contain. The
// warnings void the guarantee. A guarantee composed of other guarantees already has these assumptions.
func (p Provenance) Qualify(g *privacy.Guarantee) {
	for _, text := range []string{wellFormed, SelectedByLabel} {
		if (text != SelectedByLabel || p.SelectedByLabel) && !slices.Contains(g.Assumptions, text) {
			g.Assumptions = append(g.Assumptions, text)
		}
	}
	g.Warnings = append(g.Warnings, p.Ranges()...)
}

// OfUsers returns g, the guarantee of a run on private data, with the assumption and warnings that follow from the
// schema. A message is private for every fixed schema. But if the ranges of the schema came from records, the schema
// itself is a release without noise.
func (p Provenance) OfUsers(g privacy.Guarantee) privacy.Guarantee {
	if g.Kind == privacy.None {
		return g
	}
	if p.SelectedByLabel {
		g.Assumptions = append(slices.Clone(g.Assumptions), SelectedByLabel)
	}
	g.Warnings = append(slices.Clone(g.Warnings), p.Ranges()...)
	return g
}

// Ranges returns the warning about the origin of the bounds, or nil if there is none.
func (p Provenance) Ranges() []string {
	switch {
	case p.BoundsFromData:
		return []string{BoundsFromData}
	case p.DraftAway:
		return []string{DraftAway}
	}
	return nil
}

// Contribution returns the assumption that a guarantee for one record makes about the number of records of a person.
func (p Provenance) Contribution() string {
	if p.RowsPerPerson > 1 {
		return fmt.Sprintf("a person contributes up to %d records", p.RowsPerPerson)
	}
	return "each person contributes one record"
}

// Persons adds to the guarantee of one record a warning that states the guarantee for all rows of one person
// (docs/theory.md#groups). The warning replaces an earlier one of this kind, which was for another epsilon.
func (p Provenance) Persons(g *privacy.Guarantee) {
	g.Warnings = slices.DeleteFunc(slices.Clone(g.Warnings), func(w string) bool { return strings.HasPrefix(w, oneRow) })
	if p.RowsPerPerson < 2 || g.Unit != OneRecord || g.Kind != privacy.ApproxDP && g.Kind != privacy.PureDP {
		return
	}
	group, err := privacy.GroupBudget(privacy.Budget{Epsilon: g.Epsilon, Delta: g.Delta}, p.RowsPerPerson)
	if mu, e := privacy.GroupMu(g.Mu, p.RowsPerPerson); e == nil && mu > 0 {
		group, err = privacy.Budget{Epsilon: account.GDPEpsilon(mu, g.Delta), Delta: g.Delta}, nil
	}
	gives := fmt.Sprintf("the run is (%s, %s)-differentially private",
		privacy.FormatUp(group.Epsilon), privacy.FormatUp(group.Delta))
	if err != nil {
		gives = "the run has no guarantee"
	}
	g.Warnings = append(g.Warnings, fmt.Sprintf(oneRow+
		"%d rows; for all rows of one person, %s; to protect persons, give the column of the persons the role "+
		"person in the schema", p.RowsPerPerson, gives))
}

// oneRow is the beginning of the warning that Persons adds.
const oneRow = "one row is protected, and a person may have up to "

// wellFormed is an assumption of every guarantee. The neighbour relation is between data sets without records
// that the schema refuses. A run never ends because of what well-formed records have in common
// (docs/theory.md#silence).
const wellFormed = "every record is one that the schema accepts, and so is a record that replaces it: a run ends with " +
	"an error at a record that the schema refuses, which others can see"

// SelectedByLabel is an assumption of the guarantee if the records are the rows of a file that have one of two
// labels.
const SelectedByLabel = "public: which rows of the data have a label of one of the two classes; the others were left " +
	"out, so a record is replaced by one of these classes, and whether somebody's label is among them is not protected"

// BoundsFromData is the warning of a guarantee if its bounds were taken from the data.
const BoundsFromData = "BOUNDS NOT PRIVATE: ranges were taken from the data, so this guarantee does not hold; declare " +
	"public ranges in the schema"

// DraftAway is the warning of a guarantee if its bounds may have been taken from the data.
const DraftAway = "RANGES NOT COMPARED: the schema was made from the data and its draft is not here, so it is not " +
	"known whether its ranges were replaced, nor whether this guarantee holds; put the file of the draft (.drafted) next " +
	"to the schema, or draft it again"
