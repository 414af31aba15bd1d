package account

import "fmt"

// Relation determines which pairs of data sets are neighbours. The zero value is invalid.
type Relation string

const (
	// ReplaceOne means that both data sets have the same public number of records and one record is replaced.
	ReplaceOne Relation = "replace-one"
	// AddRemove means that one of the two data sets is the other data set without one record. The number of
	// records is protected.
	AddRemove Relation = "add/remove"
)

// Validate returns an error unless r is ReplaceOne or AddRemove.
func (r Relation) Validate() error {
	if r == ReplaceOne || r == AddRemove {
		return nil
	}
	return fmt.Errorf("account: relation is %q, must be %q or %q", string(r), ReplaceOne, AddRemove)
}
