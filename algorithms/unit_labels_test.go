package algorithms

import (
	"slices"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
)

// Units of labels, and no others, have a relation by which the ledger keeps them apart from records.
func TestUnitsOfLabelsAreTold(t *testing.T) {
	for _, u := range []Unit{PairLabelsUnit(0), PairLabelsUnit(1), PairLabelsUnit(3), UserUnit(true), UserUnit(false), PairsUnit(0), PairsUnit(3), IndividualUnit(2), IdentifiedUnit()} {
		must.Equal(t, privacy.LabelsOnly(u.Relation), slices.Contains(u.Warnings, publicInputs), "%s (%s): about labels alone", u.Name, u.Relation)
	}
}
