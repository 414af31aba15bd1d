package command

import (
	"fmt"
	"math"
	"reflect"

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

// checkNeeds refuses a flag that was given without the flag that its tag "needs" names. Flags that exclude each other have the tag
// "xor" of the parser.
func checkNeeds(command *kong.Context) error {
	given := func(f *kong.Flag) bool { return f.Set && !(f.HasDefault && fmt.Sprint(f.Target) == f.Default) }
	for _, f := range command.Flags() {
		for _, other := range command.Flags() {
			if f.Tag.Get("needs") == other.Name && given(f) && !given(other) {
				name := "--" + f.Name
				if len(f.Name) == 1 {
					name = "-" + f.Name
				}
				return badInput("%s is for --%s, which is not there", name, other.Name)
			}
		}
	}
	return nil
}
