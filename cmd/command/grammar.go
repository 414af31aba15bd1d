package command

import (
	"reflect"
	"slices"
	"strings"
)

// grammar returns the value into which kong parses a command line. It is c without the flags and arguments of commands
// that args do not name, or c itself if args name no command. The reason is that kong needs most of the program's
// start-up time for its thousand flags. settle copies the parsed values to c.
func grammar(c *cli, args []string) (into any, settle func()) {
	t := pruned(reflect.TypeFor[cli](), args)
	if t == nil {
		return c, func() {}
	}
	part := reflect.New(t)
	whole := reflect.ValueOf(c).Elem()
	share(part.Elem(), whole) // includes the flags of With
	return part.Interface(), func() { share(whole, part.Elem()) }
}

// pruned returns a struct type of commands in which commands that args do not name have no contents. It returns nil if
// args name no command. A default command is kept.
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

// share copies the fields that are present in both structs of commands.
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
