package command

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
	"dyad/internal/sizes"
)

// An explicit zero must never pass for "not given".
func TestExplicitZeroIsAnError(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 60)
	train := []string{"train", "--data", "patients.csv", "--schema", "patients.yaml", "--public-data"}
	plan := []string{"plan", "-n", "60", "-d", "3"}
	online := []string{"online", "--data", "patients.csv", "--schema", "patients.yaml", "--state", "s", "--public-data", "-n", "60"}
	audit := []string{"lab", "audit", "dpgdsc", "--runs", "40"}
	for _, c := range []struct {
		args []string
		flag string
	}{
		{plan, "--steps"}, {plan, "--radius"}, {plan, "--workers"}, {plan, "--step-size"}, {plan, "--total-step"}, {plan, "-d"}, {plan, "-n"},
		{train, "--steps"}, {train, "--radius"}, {train, "--workers"}, {train, "--step-size"}, {train, "--total-step"},
		{online, "--every"}, {online, "--burn-in"}, {online, "--radius"},
		{audit, "-n"}, {audit, "-d"}, {audit, "--runs"}, {audit, "--radius"}, {audit, "--workers"}, {audit, "--canaries"},
		{[]string{"account", "--sigma", "1"}, "--steps"},
	} {
		for _, value := range []string{"0", "-1"} {
			args := append(append([]string(nil), c.args...), c.flag+"="+value)
			if len(c.flag) == 2 {
				args = append(append([]string(nil), c.args...), c.flag+value)
			}
			ran(t, dir, args...).exits(exitInput).warns("must be positive").printsOnly("")
		}
	}
	for _, value := range []string{"NaN", "Inf"} {
		ran(t, dir, "plan", "-n", "60", "-d", "3", "--radius", value).exits(exitInput)
	}
	// Control: the same commands without the flag are fine.
	mustRun(t, dir, plan...)
	// Zero has a meaning of its own for these.
	ran(t, dir, "train", "--holdout", "0").exits(exitOK).lacks("held out")
	ends(t, dir, exitOK, "held out", "train")
}

// Every flag that is a plain number says that it is positive, or stands here because
// its zero is not "not given": a pointer says so by itself.
func TestNumericFlagsSayWhetherZeroIsAValue(t *testing.T) {
	zeroIsAValue := map[string]bool{
		"plan delta": true, "plan train buffer": true, "baseline checkpoint-every": true, "baseline team-deadline": true, "baseline epsilon": true, // which is not used
		"online buffer": true, "lab audit records buffer": true, "train checkpoint-every": true, "train team-deadline": true, "pairs train checkpoint-every": true, "online l2": true, "lab influence l2": true, "account delta": true,
		"evaluate private threshold": true, "evaluate exact threshold": true, "search holdout": true,
		"train epsilon": true, "plan train epsilon": true, "plan compare epsilon": true, "online epsilon": true, "lab audit records epsilon": true, "lab audit pairs epsilon": true, // refused by Budget.Validate
		"pairs plan epsilon": true, "pairs train epsilon": true, "ledger init epsilon": true, "ledger init delta": true, "ledger show delta": true,
	}
	var c cli
	parser := must.Get(newParser(&c, io.Discard, io.Discard))(t)
	tagged := 0
	err := kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		n, ok := node.(*kong.Node)
		if !ok {
			return next(nil)
		}
		for _, f := range n.Flags {
			v := f.Target
			name := strings.TrimPrefix(n.FullPath()+" "+f.Name, "dyad ")
			switch {
			case !v.CanInt() && !v.CanFloat():
			case f.Tag.Has("positive"), f.Tag.Has("within"):
				tagged++
			case !zeroIsAValue[name]:
				t.Errorf("flag %q: is zero a value? Tag it positive:\"\", make it a pointer, or list it here", name)
			}
		}
		return next(nil)
	})
	if err != nil || tagged < 20 {
		t.Errorf("%v, %d flags are tagged", err, tagged)
	}
}
