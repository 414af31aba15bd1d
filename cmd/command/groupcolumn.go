package command

import "dyad/engine/dataset"

// setGroupColumn gives the named column the role group. If name is "", it changes nothing.
func setGroupColumn(s *dataset.Schema, name string) error {
	if name == "" {
		return nil
	}
	found := false
	for i, c := range s.Columns {
		if c.Name == name {
			s.Columns[i], found = dataset.Column{Name: c.Name, Position: c.Position, Role: dataset.RoleGroup}, true
		} else if c.Role == dataset.RoleGroup {
			s.Columns[i].Role = dataset.RoleIgnore
		}
	}
	if !found {
		return badInput("--group-column %s is not a column of the schema", name)
	}
	return asInput(s.Validate())
}
