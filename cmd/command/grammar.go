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
	t := pruned(reflect.TypeFor[cli](), args)
	if t == nil {
		return c, func() {}
	}
	part := reflect.New(t)
	whole := reflect.ValueOf(c).Elem()
	share(part.Elem(), whole) // with the flags of With
	return part.Interface(), func() { share(whole, part.Elem()) }
}

// pruned is a struct of commands without what is below those that args do not name, nil if they name none. A default command stays.
func pruned(whole reflect.Type, args []string) reflect.Type {
	fields, any := make([]reflect.StructField, whole.NumField()), false
	for i := range fields {
		f := whole.Field(i)
		fields[i] = reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag}
		if _, command := f.Tag.Lookup("cmd"); !command {
			continue
		}
		if _, stays := f.Tag.Lookup("default"); slices.Contains(args, strings.ToLower(f.Name)) {
			any = true
			if t := pruned(f.Type, args); t != nil {
				fields[i].Type = t
			}
		} else if !stays {
			fields[i].Type = reflect.TypeFor[struct{}]()
		}
	}
	if !any {
		return nil
	}
	return reflect.StructOf(fields)
}

// share copies the fields that two structs of commands have both.
func share(to, from reflect.Value) {
	for i := range to.NumField() {
		a, b := to.Field(i), from.Field(i)
		if a.Type() == b.Type() {
			a.Set(b)
		} else if a.NumField() > 0 && b.NumField() > 0 {
			share(a, b)
		}
	}
}
