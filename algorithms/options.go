package algorithms

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dyad/engine"
)

// Option is the value of one option of an algorithm.
type Option struct {
	// Field is the exported field of the algorithm, such as "Steps".
	Field string
	// Value is the option's value. It has the field's type.
	Value any
	// Name is the option's name in messages, such as "--steps". If it is "", messages use Field.
	Name string
}

// With returns an algorithm with the given options in place of its own. It returns an error for an option that
// the algorithm does not have; no option is ignored. It does not know any algorithm by name, so algorithms of
// other packages are configured in the same way. The options are the exported fields of a struct. A field that
// is a struct with the tag `options:"NAMES"` adds its fields with these names.
func With(a Algorithm, options ...Option) (Algorithm, error) { return configured(a, options) }

// StreamWith is With for an online algorithm.
func StreamWith(s Stream, options ...Option) (Stream, error) { return configured(s, options) }

// KindWith is With for a kind of run.
func KindWith(k Kind, options ...Option) (Kind, error) { return configured(k, options) }

func configured[A interface{ Info() Info }](a A, options []Option) (none A, err error) {
	v := reflect.New(reflect.TypeOf(a)).Elem()
	v.Set(reflect.ValueOf(a))
	for _, o := range options {
		field := optionField(v, o.Field)
		if !field.IsValid() {
			return none, &Refusal{a.Info().Name,
				fmt.Errorf(" does not take %s%s", cmp.Or(o.Name, o.Field), takers(o.Field)), errOption}
		}
		value := reflect.ValueOf(o.Value)
		if !value.IsValid() || value.Type() != field.Type() {
			return none, fmt.Errorf("algorithms: option %s of %s is a %v, not a %T", o.Field, a.Info().Name,
				field.Type(), o.Value)
		}
		field.Set(value)
	}
	return v.Interface().(A), nil
}

// optionField returns the field of an option. The value is invalid if there is no such field.
func optionField(v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		switch names, nested := f.Tag.Lookup("options"); {
		case !f.IsExported():
		case nested && slices.Contains(strings.Fields(names), name):
			return v.Field(i).FieldByName(name)
		case !nested && f.Name == name:
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// takers returns the names of the catalogues' algorithms that have an option.
func takers(field string) string {
	var all []Planner
	for _, a := range Catalog() {
		all = append(all, a)
	}
	for _, s := range StreamCatalog() {
		all = append(all, s)
	}
	var names []string
	for _, a := range all {
		if optionField(reflect.ValueOf(a), field).IsValid() {
			names = append(names, a.Info().Name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; " + names[0] + " does"
	}
	return "; " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " do"
}

// With returns the choice with the options that the user set. The rule may have chosen a number of steps along
// with the algorithm. If the user does not set Steps, With sets this number to 0 in two cases: the user sets
// StepSize or TotalStep, or the user selects no second moments, which steps need.
func (c Choice) With(options ...Option) (Choice, error) {
	set := func(field string) (value any) {
		for _, o := range options {
			if o.Field == field {
				value = o.Value
			}
		}
		return value
	}
	chosen := 0
	if f := optionField(reflect.ValueOf(c.Algorithm), "Steps"); f.IsValid() && c.Reason != "" {
		chosen = int(f.Int())
	}
	if chosen > 0 && (set("StepSize") != nil || set("TotalStep") != nil || set("Second") == engine.NoSecond.String()) &&
		set("Steps") == nil {
		options = append(slices.Clone(options), Option{Field: "Steps", Value: 0})
	}
	a, err := With(c.Algorithm, options...)
	if err != nil {
		if c.Reason != "" {
			err = fmt.Errorf("%w; %s was chosen by auto: %s. Leave the option out, or choose another --algorithm "+
				`(list: "dyad lab algorithms")`, err, c.Algorithm.Info().Name, c.Reason)
		}
		return c, err
	}
	if m, ok := a.(Moments); ok && c.Reason != "" && m.Steps != chosen {
		c.Reason += fmt.Sprintf("; the flags change the number of steps to %d", m.Steps)
	}
	c.Algorithm = a
	return c, nil
}
