package command

import (
	"reflect"
	"slices"
	"strings"
)

// grammar is what kong reads a command line into: c without the flags and arguments of commands that args do not name, or c
// itself if they name none. Kong spends most of the start of the program on its some thousand flags. settle copies what was
// read into c.
func grammar(c *cli, args []string) (into any, settle func()) {
	whole := reflect.TypeFor[cli]()
	fields, named := make([]reflect.StructField, whole.NumField()), false
	for i := range fields {
		f := whole.Field(i)
		fields[i] = reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag}
		if _, command := f.Tag.Lookup("cmd"); command && !slices.Contains(args, strings.ToLower(f.Name)) {
			fields[i].Type = reflect.TypeFor[struct{}]()
		} else if command {
			named = true
		}
	}
	if !named {
		return c, func() {}
	}
	part := reflect.New(reflect.StructOf(fields))
	for i, f := range fields {
		if f.Type == whole.Field(i).Type { // with the flags of With
			part.Elem().Field(i).Set(reflect.ValueOf(c).Elem().Field(i))
		}
	}
	return part.Interface(), func() {
		for i, f := range fields {
			if f.Type == whole.Field(i).Type {
				reflect.ValueOf(c).Elem().Field(i).Set(part.Elem().Field(i))
			}
		}
	}
}
