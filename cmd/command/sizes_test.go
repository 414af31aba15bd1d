package command

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
)

// everySize are, for each command that releases something about private records, the packages whose tests attack it at every
// size and place (package internal/sizes).
var everySize = map[string]string{
	"dyad train":            "algorithms/attack privacy",
	"dyad online":           "algorithms/attack privacy",
	"dyad search":           "algorithms/attack/kinds algorithms/attack privacy",
	"dyad pairs train":      "algorithms/pairs privacy",
	"dyad cluster":          "algorithms/attack/kinds privacy",
	"dyad local client":     "privacy/local",
	"dyad local simulate":   "privacy/local",
	"dyad evaluate private": "algorithms/attack/kinds privacy",
	"dyad evaluate compare": "algorithms/attack/kinds privacy",
	"dyad baseline":         "algorithms/attack privacy",
	"dyad threshold":        "algorithms/attack/kinds privacy",
	"dyad lab curve":        "algorithms/attack/kinds privacy",
}

// noSize are the commands that release nothing about private records, by the reason.
var noSize = map[string]string{
	"they read no records": `plan train, plan compare, pairs plan, local plan, local token, account, lab reproduce, lab algorithms, lab losses list, lab losses check, ledger init,
		ledger show, ledger verify, ledger compact, ledger key, ledger sign, data list, data fetch, data verify, lab bench, devices, doctor, completion, man, version, docs`,
	"they read what was released":                 "local server, local model, export, report, verify",
	"what they print is for the records' owner":   "start, pairs inspect, predict, transform, data schema, data check, data inspect, data convert, data pack",
	"what they print has no noise, and they warn": "lab influence, evaluate exact",
	"the records are made up":                     "lab audit records, lab audit pairs, local audit, data synth",
}

// Every command has its row, and no row is of a command that is gone. A command with records and an epsilon is one that releases.
// Every package that a row names has tests of every size.
func TestEveryCommandIsAttackedAtEverySize(t *testing.T) {
	parser := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	rows := map[string]bool{} // whether the command releases
	for command := range everySize {
		rows[command] = true
	}
	for _, commands := range noSize {
		for command := range strings.SplitSeq(commands, ",") {
			rows["dyad "+strings.TrimSpace(command)] = false
		}
	}
	for _, leaf := range parser.Model.Leaves(false) {
		command := leaf.FullPath()
		releases, ok := rows[command]
		if !ok {
			t.Errorf("%s has no row: name the packages with tests of every size of what it releases, or the reason why it releases nothing", command)
		}
		if spends(leaf) && !releases {
			t.Errorf("%s takes records and an epsilon, and its row says that it releases nothing", command)
		}
		delete(rows, command)
	}
	for command := range rows {
		t.Errorf("a row is of the command %s, which is not there", command)
	}
	for command, packages := range everySize {
		for folder := range strings.FieldsSeq(packages) {
			if !attackedAtEverySize(t, folder) {
				t.Errorf("%s: package %s has no test of every size", command, folder)
			}
		}
	}
	if attackedAtEverySize(t, "privacy/ledger") {
		t.Error("a package without such a test has one")
	}
}

// spends reports whether a command has flags of records and of an epsilon.
func spends(leaf *kong.Node) bool {
	records, epsilon := false, false
	for _, level := range leaf.AllFlags(false) {
		for _, f := range level {
			records = records || f.Name == "data"
			epsilon = epsilon || strings.Contains(f.Name, "epsilon")
		}
	}
	return records && epsilon
}

var readsSizes = regexp.MustCompile(`sizes\.(Cells|Dims)\(t, `)

func attackedAtEverySize(t *testing.T, folder string) bool {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("%s: %d tests, %v", folder, len(tests), err)
	}
	return slices.ContainsFunc(tests, func(name string) bool {
		text := must.Get(os.ReadFile(name))(t)
		return readsSizes.Match(text)
	})
}
