package command

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// checkPositive refuses a flag tagged "positive" that was given a value that is zero,
// negative or not finite. In the flag structs zero means "not given", so an explicit
// zero would otherwise pass for the default.
func checkPositive(command *kong.Context) error {
	for _, f := range command.Flags() {
		if !f.Set || !f.Tag.Has("positive") {
			continue
		}
		v := f.Target
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		ok := true
		switch {
		case v.CanInt():
			ok = v.Int() > 0
		case v.CanFloat():
			ok = v.Float() > 0 && !math.IsInf(v.Float(), 0)
		}
		if !ok {
			remedy := ""
			if !f.Required {
				remedy = ", or left out"
			}
			return badInput("--%s is %v, must be positive and finite%s", f.Name, v.Interface(), remedy)
		}
	}
	return nil
}

// checkTags refuses what the tags of flags exclude, and tells why by the tag "why":
//
//	within:"[0,1)"   the interval of its values
//	needs:"a|b=x"    a flag that it needs, or one of several, or a value of it
//	values:"2"       how many values it has
//	not:"a b=x"      flags that it excludes; flags that all exclude each other have the tag "xor" of the parser
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
			return is == value || value == "FILE" && is != "" && is != "mlp" && is != flags[other].Default // the name of a network that is not built in
		}
		return given(flags[other])
	}
	for _, f := range command.Flags() {
		if f.Set && f.Required && (blank(f.Target) || fmt.Sprint(f.Target) == "[]") { // the parser counts it as given
			return badInput("--%s is %s, which is as if it were left out", f.Name, map[bool]string{true: "false", false: "empty"}[f.IsBool()])
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
			for v := range numbersOf(f.Target) {
				if !within(in, v) {
					return badInput("%s is %v, want %s%s", name, reflect.Indirect(f.Target), inWords(in), why)
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

// blank reports whether a value is false or empty, as an unset variable of a script is.
func blank(v reflect.Value) bool {
	if files, ok := v.Interface().(dataFiles); ok {
		return !files.given()
	}
	return v.Kind() == reflect.Bool && !v.Bool() || v.Kind() == reflect.String && v.Len() == 0
}

// numbersOf are the numbers of a flag, in seconds if they are durations.
func numbersOf(v reflect.Value) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		v = reflect.Indirect(v)
		switch d, timed := v.Interface().(time.Duration); {
		case timed:
			yield(d.Seconds())
		case v.CanInt():
			yield(float64(v.Int()))
		case v.CanFloat():
			yield(v.Float())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				for x := range numbersOf(v.Index(i)) {
					if !yield(x) {
						return
					}
				}
			}
		}
	}
}

// ends are the ends of an interval such as "(0,1]"; an end that is not there is infinite and left out.
func ends(interval string) (low, high float64) {
	l, h, _ := strings.Cut(interval[1:len(interval)-1], ",")
	low, high = math.Inf(-1), math.Inf(1)
	if l != "" {
		low, _ = strconv.ParseFloat(l, 64)
	}
	if h != "" {
		high, _ = strconv.ParseFloat(h, 64)
	}
	return low, high
}

func within(interval string, v float64) bool {
	low, high := ends(interval)
	return (v > low || v == low && interval[0] == '[') && (v < high || v == high && strings.HasSuffix(interval, "]"))
}

// inWords says an interval.
func inWords(interval string) string {
	low, high := ends(interval)
	var all []string
	if !math.IsInf(low, 0) {
		all = append(all, fmt.Sprintf("%s %g", map[bool]string{true: "at least", false: "above"}[interval[0] == '['], low))
	}
	if !math.IsInf(high, 0) {
		all = append(all, fmt.Sprintf("%s %g", map[bool]string{true: "at most", false: "below"}[strings.HasSuffix(interval, "]")], high))
	}
	return strings.Join(append(all, "finite")[:max(len(all), 1)], " and ")
}
