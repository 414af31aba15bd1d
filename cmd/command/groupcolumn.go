package command

import "dyad/engine/dataset"

// setGroupColumn gives the named column the role group. If name is "", it changes nothing.
func setGroupColumn(s *dataset.Schema, name string) error {
	if name == "" {
		return nil
	}
	found := false
	for i := range s.Columns {
		c := &s.Columns[i]
		switch {
		case c.Name == name:
			*c = dataset.Column{Name: c.Name, Position: c.Position, Role: dataset.RoleGroup}
			found = true
		case c.Role == dataset.RoleGroup:
			c.Role = dataset.RoleIgnore
		}
	}
	if !found {
		return badInput("--group-column %s is not a column of the schema", name)
	}
	return asInput(s.Validate())
}
