package command

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/internal/input"
)

// checkPositive returns an error if a flag tagged "positive" was given a value that is zero, negative or not
// finite. In the structs of flags, zero means "not given". Without this check, an explicit zero would be taken
// for the default.
func checkPositive(command *kong.Context) error {
	for _, f := range command.Flags() {
		if !f.Set || !f.Tag.Has("positive") {
			continue
		}
		for v := range input.Numbers(f.Target) {
			if !(v > 0) || math.IsInf(v, 0) {
				return badInput("--%s is %v, must be positive and finite%s", f.Name, reflect.Indirect(f.Target),
					pick(f.Required, "", ", or left out"))
			}
		}
	}
	return nil
}

// checkTags returns an error if the command line contradicts the tags of its flags. The tag "why" gives the
// reason for the message.
//
//	within:"[0,1)"   the value must be in this interval
//	needs:"a|b=x"    flag a must be set, or flag b must have the value x
//	values:"2"       the flag must have this number of values
//	not:"a b=x"      these flags, or this value of a flag, are excluded; flags that all exclude each other have the tag "xor" of the parser
func checkTags(command *kong.Context) error {
	flags := map[string]*kong.Flag{}
	for _, f := range command.Flags() {
		flags[f.Name] = f
	}
	given := func(f *kong.Flag) bool {
		return f != nil && f.Set && !blank(f.Target) && !(f.HasDefault && fmt.Sprint(f.Target) == f.Default)
	}
	has := func(other string) bool {
		if other, value, valued := strings.Cut(other, "="); valued {
			if flags[other] == nil {
				return false
			}
			is := fmt.Sprint(reflect.Indirect(flags[other].Target))
			// the name of a network from a file
			return is == value || value == "FILE" && is != "" && is != "mlp" && is != flags[other].Default
		}
		return given(flags[other])
	}
	for _, f := range command.Flags() {
		// an empty value, which the parser counts as given
		if f.Set && f.Required && (blank(f.Target) || fmt.Sprint(f.Target) == "[]") {
			return badInput("--%s is %s, which is the same as leaving this flag out", f.Name,
				pick(f.IsBool(), "false", "empty"))
		}
		// otherwise an unset variable of a script would select synthetic data, another ledger or a second run
		if f.Set && f.Name != "set" && !f.IsBool() && f.Tag.Get("default") == "" && f.Enum == "" &&
			(blank(f.Target) || fmt.Sprint(f.Target) == "[]") {
			return badInput("--%s is empty; give it a value, or leave it out", f.Name)
		}
		if !given(f) {
			continue
		}
		why, name := f.Tag.Get("why"), "--"+f.Name
		if why != "" {
			why = ": " + why
		}
		if len(f.Name) == 1 {
			name = "-" + f.Name
		}
		if in := f.Tag.Get("within"); in != "" {
			for v := range input.Numbers(f.Target) {
				if !input.Within(in, v) {
					return badInput("%s is %v, want %s%s", name, reflect.Indirect(f.Target), input.IntervalWords(in), why)
				}
			}
		}
		if all := f.Tag.Get("needs"); all != "" && !slices.ContainsFunc(strings.Split(all, "|"), has) {
			if !strings.Contains(all, "=") && why == "" {
				why = ", which is not there"
			}
			return badInput("%s is for --%s%s", name, strings.NewReplacer("|", " or --", "=", " ").Replace(all), why)
		}
		if many := f.Tag.Get("values"); many != "" && fmt.Sprint(f.Target.Len()) != many {
			return badInput("%s has %d values, want %s", name, f.Target.Len(), many)
		}
		for _, other := range words(f.Tag.Get("not")) {
			if has(other) {
				return badInput("%s and --%s exclude each other%s; leave one out", name, strings.Replace(other, "=", " ", 1), why)
			}
		}
	}
	return nil
}

// blank reports whether a value is false or empty, like an unset variable of a script.
func blank(v reflect.Value) bool {
	if files, ok := v.Interface().(dataFiles); ok {
		return !files.given() || slices.Contains(files.asked, "")
	}
	return v.Kind() == reflect.Bool && !v.Bool() || v.Kind() == reflect.String && v.Len() == 0
}
