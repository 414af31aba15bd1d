package algorithms

import (
	"slices"
	"testing"

	"dyad/privacy"
)

// Units of labels, and no others, have a relation by which the ledger keeps them apart from records.
func TestUnitsOfLabelsAreTold(t *testing.T) {
	for _, u := range []Unit{PairLabelsUnit(0), PairLabelsUnit(1), PairLabelsUnit(3), UserUnit(true), UserUnit(false), PairsUnit(0), PairsUnit(3), IndividualUnit(2), IdentifiedUnit()} {
		if got, want := privacy.LabelsOnly(u.Relation), slices.Contains(u.Warnings, publicInputs); got != want {
			t.Errorf("%s (%s): about labels alone: %v, want %v", u.Name, u.Relation, got, want)
		}
	}
}
