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
