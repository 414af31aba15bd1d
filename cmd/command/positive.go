package command

import (
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
