package input

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Ranges returns an error if a number in a struct is outside the interval in the tag of its field, such as
// within:"[0,1)". The error calls the number by the tag "called" or else by the name of the field.
func Ranges(options any) error {
	v := reflect.ValueOf(options)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		in := f.Tag.Get("within")
		if in == "" {
			continue
		}
		for x := range Numbers(v.Field(i)) {
			if !Within(in, x) {
				name := f.Tag.Get("called")
				if name == "" {
					name = f.Name
				}
				return fmt.Errorf("the %s is %v, want %s", name, x, IntervalWords(in))
			}
		}
	}
	return nil
}

// Numbers returns the numbers that a value contains. Durations are returned in seconds.
func Numbers(v reflect.Value) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		v = reflect.Indirect(v)
		switch {
		case v.Type() == reflect.TypeFor[time.Duration]():
			yield(time.Duration(v.Int()).Seconds())
		case v.CanInt():
			yield(float64(v.Int()))
		case v.CanFloat():
			yield(v.Float())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				for x := range Numbers(v.Index(i)) {
					if !yield(x) {
						return
					}
				}
			}
		}
	}
}

// Ends returns the ends of an interval such as "(0,1]". An end that is left out is infinite.
func Ends(interval string) (low, high float64) {
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

// Within reports whether v is in an interval such as "(0,1]".
func Within(interval string, v float64) bool {
	low, high := Ends(interval)
	return (v > low || v == low && interval[0] == '[') && (v < high || v == high && strings.HasSuffix(interval, "]"))
}

// IntervalWords describes an interval in words.
func IntervalWords(interval string) string {
	low, high := Ends(interval)
	var all []string
	if !math.IsInf(low, 0) {
		all = append(all, fmt.Sprintf("%s %g", map[bool]string{true: "at least", false: "above"}[interval[0] == '['], low))
	}
	if !math.IsInf(high, 0) {
		all = append(all, fmt.Sprintf("%s %g", map[bool]string{true: "at most",
			false: "below"}[strings.HasSuffix(interval, "]")], high))
	}
	return strings.Join(append(all, "finite")[:max(len(all), 1)], " and ")
}
