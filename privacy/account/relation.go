package account

import "fmt"

// Relation says which pairs of data sets are neighbours. The zero value is not a
// relation.
type Relation string

const (
	// ReplaceOne: the same public number of records, one of them replaced.
	ReplaceOne Relation = "replace-one"
	// AddRemove: one data set is the other without one record. The number of
	// records is protected.
	AddRemove Relation = "add/remove"
)

// Validate returns an error unless r is one of the relations.
func (r Relation) Validate() error {
	if r == ReplaceOne || r == AddRemove {
		return nil
	}
	return fmt.Errorf("account: relation is %q, must be %q or %q", string(r), ReplaceOne, AddRemove)
}

// relationOf is the relation of a leaf event, "" if it holds for both.
func relationOf(e Event) Relation {
	switch e := e.(type) {
	case PoissonEvent:
		return e.Relation
	case NonPrivateEvent:
		return ""
	}
	return ReplaceOne
}

// joinRelation returns the relation of a composition that had relation r when e
// is added: neighbours of one relation are not neighbours of the other, so the
// costs of different relations do not add up.
func joinRelation(r Relation, e Event) (Relation, error) {
	switch other := relationOf(e); {
	case other == "" || other == r:
		return r, nil
	case r == "":
		return other, nil
	default:
		return r, fmt.Errorf("%w: it is %s, what was composed before is %s", ErrUnsupported, other, r)
	}
}
