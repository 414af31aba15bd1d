package command

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
)

// ownFlags are the flags that With adds to a command.
type ownFlags struct {
	Options kong.Plugins `embed:""` // a struct with a field for each option of the algorithms

	with With
}

var wordStart = regexp.MustCompile(`(.)([A-Z][a-z])|([a-z0-9])([A-Z])`)

// ownFlag returns the name of the flag of a field.
func ownFlag(field string) string {
	return strings.ToLower(wordStart.ReplaceAllString(field, "$1$3-$2$4"))
}

// described is an algorithm or a kind.
type described interface{ Info() algorithms.Info }

// optionsFrom returns flags for the options of structs, except for the options in known.
func optionsFrom[T described](all []T, known []algorithms.Option) (f ownFlags, err error) {
	taken := map[string]reflect.Type{}
	for _, o := range known {
		taken[o.Field] = nil
	}
	var fields []reflect.StructField
	for _, a := range all {
		t := reflect.TypeOf(a)
		if t.Kind() != reflect.Struct {
			return f, fmt.Errorf("dyad: With takes structs only, but %s is a %v", a.Info().Name, t)
		}
		for i := range t.NumField() {
			field := t.Field(i)
			switch field.Type.Kind() {
			case reflect.Bool, reflect.Int, reflect.Float64, reflect.String:
			default:
				continue
			}
			have, twice := taken[field.Name]
			switch {
			case !field.IsExported() || twice && have == nil || field.Tag.Get("flag") == "-": // an option that only Go programs can set
				continue
			case twice && have != field.Type:
				return f, fmt.Errorf("dyad: option %s of %s has type %v, but another algorithm has this option "+
					"with type %v", field.Name, a.Info().Name, field.Type, have)
			case twice:
				continue
			}
			taken[field.Name] = field.Type
			help := fmt.Sprintf(`name:%q help:"Option of %s."`, ownFlag(field.Name), a.Info().Name)
			fields = append(fields, reflect.StructField{Name: field.Name, Type: field.Type, Tag: reflect.StructTag(help)})
		}
	}
	if len(fields) > 0 {
		f.Options = kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
	}
	return f, nil
}

// ownOptions returns the options that were set by flags.
func (f ownFlags) ownOptions() (set []algorithms.Option) {
	for _, one := range f.Options {
		v := reflect.ValueOf(one).Elem()
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !v.Field(i).IsZero() {
				set = append(set, algorithms.Option{Name: "--" + ownFlag(name), Field: name, Value: v.Field(i).Interface()})
			}
		}
	}
	return set
}

// algorithm returns the algorithm with the given name, from With or from the catalogue.
func (f ownFlags) algorithm(name string) (algorithms.Algorithm, error) {
	for _, a := range f.with.Algorithms {
		if a.Info().Name == name {
			return a, nil
		}
	}
	a, err := algorithms.ByName(name)
	return a, asInput(err)
}

// ownLoss returns the loss of With with the given name, or otherwise the loss described by the flags.
func (f ownFlags) ownLoss(flags lossFlags) (lib.Loss, error) {
	for _, l := range f.with.Losses {
		if l.Name != flags.Loss {
			continue
		}
		made, err := lossFlags{l.Formula, flags.LossParam, flags.LossClip}.definition()
		if made.Params == nil {
			made.Params = l.Params
		}
		made.Name = l.Name
		return made, err
	}
	return flags.definition()
}
