package command

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// formulaType is the kong type of flags whose value is a formula. A formula can begin with a minus sign, as in
// --loss=-u and --loss -u.
const formulaType = "formula"

// longFlag matches texts that begin like a long flag and are not plausible formulas.
var longFlag = regexp.MustCompile(`^--[A-Za-z]`)

// decodeFormula takes the next word without interpreting it.
func decodeFormula(ctx *kong.DecodeContext, target reflect.Value) error {
	word := ctx.Scan.Pop()
	text, ok := word.Value.(string)
	if !ok || text == "" || word.Type == kong.UntypedToken && longFlag.MatchString(text) {
		return fmt.Errorf("expected a name or a formula")
	}
	target.SetString(text)
	return nil
}

// checkShortFlags matches the short flags of "lab losses check". A value can follow one of them.
var checkShortFlags = regexp.MustCompile(`^-[qh]*([qh]|[nd](=?[0-9]+)?)$`)

// minusFormula moves a formula with a leading minus sign after "--" if it is the argument of "lab losses
// check". The formula is then not taken for flags.
func minusFormula(args []string) []string {
	words := 0 // number of words of "lab losses check" found
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
