package schema

import (
	"fmt"
	"slices"
)

// Restrict returns the schema with only the given features, which are the names of columns in the schema. Other
// feature columns are ignored. If features is empty, Restrict returns the schema itself.
func (s *Schema) Restrict(features []string) (*Schema, error) {
	if len(features) == 0 {
		return s, nil
	}
	out := *s
	out.Columns = slices.Clone(s.Columns)
	found := 0
	for i := range out.Columns {
		switch c := &out.Columns[i]; {
		case c.Role != "" && c.Role != RoleFeature:
		case slices.Contains(features, c.Name):
			found++
		default:
			*c = Column{Name: c.Name, Field: c.Field, Position: c.Position, Role: RoleIgnore}
		}
	}
	if found != len(features) {
		return nil, fmt.Errorf("dataset: only %d of %d names are feature columns of the schema; name each feature "+
			"once, as the schema does", found, len(features))
	}
	return &out, out.Validate()
}
