package schema

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"dyad/engine/dataset/strictyaml"
)

var unknownKey = regexp.MustCompile(`unknown field "([^"]*)"`)

// nearKey returns a hint about the valid key that was probably meant if err is about an unknown key of type t. It
// returns "" if err is about something else or no valid key is similar.
func nearKey(err error, t reflect.Type) string {
	m := unknownKey.FindStringSubmatch(strictyaml.Describe(err))
	if m == nil {
		return ""
	}
	return strictyaml.Near(m[1], keysOf(t))
}

// keysOf returns the YAML keys of a type and of its component types, in a fixed order.
func keysOf(t reflect.Type) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(append(keys, name), keysOf(t.Field(i).Type)...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
