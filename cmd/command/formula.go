package command

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// formulaType is the kong type of flags whose value is a formula: it may begin with a minus
// sign, in --loss=-u and in --loss -u.
const formulaType = "formula"

// longFlag is what starts like a flag and is not a formula that anybody writes.
var longFlag = regexp.MustCompile(`^--[A-Za-z]`)

// decodeFormula takes the next word as it stands.
func decodeFormula(ctx *kong.DecodeContext, target reflect.Value) error {
	word := ctx.Scan.Pop()
	text, ok := word.Value.(string)
	if !ok || text == "" || word.Type == kong.UntypedToken && longFlag.MatchString(text) {
		return fmt.Errorf("expected a name or a formula")
	}
	target.SetString(text)
	return nil
}

// checkShortFlags are the short flags of "lab losses check", and a value may follow one of them.
var checkShortFlags = regexp.MustCompile(`^-[qh]*([qh]|[nd](=?[0-9]+)?)$`)

// minusFormula moves a formula with a leading minus behind "--" if it is the argument of
// "lab losses check", so that it is not taken for flags.
func minusFormula(args []string) []string {
	words := 0 // of "lab losses check" found
	for i, a := range args {
		switch {
		case a == "--":
			return args
		case words < 3 && strings.HasPrefix(a, "-"):
		case words < 3 && a != [3]string{"lab", "losses", "check"}[words]:
			return args
		case words < 3:
			words++
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && !checkShortFlags.MatchString(a):
			moved := append(append([]string{}, args[:i]...), args[i+1:]...)
			return append(moved, "--", a)
		}
	}
	return args
}
