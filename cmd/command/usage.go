package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// otherNames maps names in other programs to the commands of this program.
var otherNames = map[string]string{
	"fit": "train", "learn": "train", "run": "train", "score": "predict", "transform": "predict", "infer": "predict",
	"test": "evaluate", "eval": "evaluate", "budget": "ledger", "schema": "data schema", "inspect": "data inspect",
	"convert": "data convert", "epsilon": "account", "compare": "evaluate compare MODEL --with OTHER",
	"config": "train --config FILE", "settings": "train --config FILE",
}

var (
	notNumber    = regexp.MustCompile(`^(--[\w-]+): expected (?:a |an )?(?:valid \d+ bit )?(float|int|uint)(?: value)? but got "([^"]*)"`)
	unexpected   = regexp.MustCompile(`^unexpected argument (.+?)(, did you mean .*)?$`)
	manyNear     = regexp.MustCompile(`^unknown flag (--[\w-]+), did you mean one of (.*)\?$`)
	noFlag       = regexp.MustCompile(`^unknown flag (--?[\w-]+)`)
	missingShort = regexp.MustCompile(`--([a-z])=`)
	noValue      = regexp.MustCompile(`^(--[\w-]+): expected .* but got "EOL"`)
	together     = regexp.MustCompile(`^(--[\w-]+) and (--[\w-]+) can't be used together`)
	wanted       = regexp.MustCompile(`^expected "<([\w-]+)>`)
)

// flagOf returns the flag that an error names, or nil if no flag has that name.
func flagOf(err *kong.ParseError, name string) *kong.Flag {
	if err == nil {
		return nil
	}
	flags := err.Context.Flags()
	if i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return "--"+f.Name == name }); i >= 0 {
		return flags[i]
	}
	return nil
}

// usage describes the error of a command line, and names the command line that prints help on it.
func usage(err error, args []string) (text, help string) {
	command := "dyad"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		name, _, _ := strings.Cut(parse.Context.Command(), " <")
		command = "dyad " + shortName(name)
	}
	return slip(err.Error(), command, parse, args), command + " --help"
}

// thousands matches a whole number with separators between groups of three digits.
var thousands = regexp.MustCompile(`^\d{1,3}([.,'_ ]\d{3})+$`)

// inPlainNumbers returns the plain form of a number that was typed with a comma, with a percent sign or as a fraction,
// or "". If whole is set, a whole number is required; then separators of thousands, an exponent and a letter for
// thousands are converted, too.
func inPlainNumbers(text string, whole bool) string {
	if whole {
		v, err := strconv.ParseFloat(strings.TrimSuffix(strings.ToLower(text), "k"), 64)
		if strings.HasSuffix(strings.ToLower(text), "k") {
			v *= 1000
		}
		switch {
		case thousands.MatchString(text):
			return " without signs between thousands: " +
				strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }), "")
		case err == nil && v == math.Trunc(v) && math.Abs(v) < 1e15:
			return fmt.Sprintf(" written out: %.0f", v)
		}
		return ""
	}
	if over, under, ok := strings.Cut(text, "/"); ok {
		a, errA := strconv.ParseFloat(over, 64)
		b, errB := strconv.ParseFloat(under, 64)
		if errA != nil || errB != nil || !(b > 0) {
			return ""
		}
		return fmt.Sprintf(" written out: %s", strconv.FormatFloat(a/b, 'g', 12, 64))
	}
	plain, isShare := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(plain), ",", ".", 1), 64)
	switch {
	case err != nil:
		return ""
	case isShare:
		return fmt.Sprintf(" without a percent sign: %s", strconv.FormatFloat(v/100, 'g', 12, 64))
	case strings.Contains(text, ","):
		return fmt.Sprintf(" with a decimal point: %s", strconv.FormatFloat(v, 'g', -1, 64))
	}
	return ""
}

// valueOfFlag returns the flag and its value that precede an argument, or "".
func valueOfFlag(args []string, argument string) string {
	k := slices.Index(args, argument)
	switch {
	case k >= 2 && strings.HasPrefix(args[k-2], "-") && !strings.HasPrefix(args[k-1], "-"):
		return args[k-2] + " " + args[k-1]
	case k >= 1 && strings.HasPrefix(args[k-1], "-") && strings.Contains(args[k-1], "="):
		return args[k-1]
	}
	return ""
}

// otherRows tells how a model is measured on records that did not train it.
const otherRows = "to evaluate, keep records back with --holdout F, or run dyad evaluate MODEL --data FILE"

// notFlags maps flags of other programs to the way in which Dyad provides their function.
var notFlags = map[string]string{
	"--person": "to protect all rows of a person together, give a column of the schema role: person (docs/data.md)",
	"--unit":   "the schema sets the unit: persons if a column has role: person, otherwise records",
	"--label": "the outcome is the column with role: label in the schema; dyad data schema FILE --label COLUMN " +
		"drafts this schema",
	"--target": "the column with role: label is the outcome; dyad data schema --label COLUMN drafts such a schema",
	"--test":   otherRows, "--test-data": otherRows, "--valid": otherRows, "--validation": otherRows, "--split": otherRows,
	"--range": "the schema gives the range or the categories of each column; dyad start FILE asks for them",

	"dyad plan --data":     "a plan reads no records; give the schema with --schema and the number of records with -n",
	"dyad export --format": "each format has its own flag: --onnx, --sql duckdb, --python, --go, --npz, --safetensors",

	"dyad evaluate --metric":       "it prints the AUC, ROC, accuracies and precisions together",
	"dyad evaluate exact --metric": "it prints the AUC, ROC, accuracies and precisions together",
}

// elsewhere returns, for a flag that a command lacks, a hint where the command provides the flag's function.
func elsewhere(command, flag string) string {
	switch command {
	case "dyad predict", "dyad evaluate", "dyad evaluate exact", "dyad evaluate compare", "dyad report", "dyad verify",
		"dyad export", "dyad transform", "dyad threshold", "dyad lab influence":
		if flag == "--model" {
			return "the model stands first: " + command + " MODEL"
		}
	}
	if why := cmp.Or(notFlags[command+" "+flag],
		absence(strings.TrimPrefix(command, "dyad "), strings.TrimPrefix(flag, "--"))); why != "" {
		return why
	}
	// A mode that excludes other modes is a command of its own.
	if _, err := wholeGrammar(); err == nil {
		group, _, _ := strings.Cut(strings.TrimPrefix(command, "dyad "), " ")
		for _, o := range whole.options {
			for _, other := range o.commands {
				if in, _, sub := strings.Cut(other, " "); ("--"+o.flag.Name == flag || "-"+string(o.flag.Short) == flag) && sub &&
					in == group && (group == "evaluate" || group == "plan") {
					return "dyad " + other + " has it"
				}
			}
		}
	}
	return notFlags[flag]
}

// arguments suggests what to write for a missing argument.
func arguments(command, argument string) string {
	switch command {
	case "dyad data schema", "dyad start":
		return fmt.Sprintf("unexpected argument %s; is it the outcome? Then %s FILE --label %s", argument, command, argument)
	case "dyad export":
		return fmt.Sprintf("unexpected argument %s; write -o %s, and name the format with a flag such as --onnx",
			argument, argument)
	case "dyad ledger":
		switch argument {
		case "list", "ls", "print":
			return "there is no dyad ledger " + argument + "; dyad ledger show lists what was spent"
		case "reset", "delete", "clear", "remove":
			return "a charge stays, because a release cannot be undone (docs/ledger.md); for other people's data, " +
				"use another --data-id"
		}
	case "dyad data":
		if info, err := os.Stat(argument); err == nil && !info.IsDir() {
			return fmt.Sprintf("dyad data needs a command before %s, such as dyad data schema %s", argument, argument)
		}
	case "dyad verify":
		return fmt.Sprintf("unexpected argument %s; dyad verify takes one model at a time", argument)
	}
	return ""
}

// modelFirst reports whether the first argument of a command is a model.
func modelFirst(parse *kong.ParseError) bool {
	if parse == nil || parse.Context.Selected() == nil {
		return false
	}
	p := parse.Context.Selected().Positional
	return len(p) > 0 && p[0].Name == "model"
}

// slip suggests a correction for errors for which the parser suggests none.
func slip(text, command string, parse *kong.ParseError, args []string) string {
	var m []string
	is := func(kind *regexp.Regexp) bool { m = kind.FindStringSubmatch(text); return m != nil }
	switch {
	case strings.HasPrefix(text, "missing flags: "):
		return missingShort.ReplaceAllString(text, "-$1 ")
	case is(notNumber):
		if m[3] == "EOL" { // name that kong uses for the end of the line
			return m[1] + " needs a value"
		}
		what := map[string]string{"float": "a number", "int": "a whole number",
			"uint": "a whole number that is not negative"}[m[2]]
		if strings.HasPrefix(m[3], "-") {
			if f := flagOf(parse, m[1]); f != nil && (f.Tag.Has("positive") || strings.Contains(f.Name, "epsilon")) {
				return fmt.Sprintf("%s is %s, want %s above 0", pick(f.Short != 0, "-"+string(f.Short), m[1]), m[3], what)
			}
			return fmt.Sprintf("%s is %s, want %s of at least 0; write a negative value with =, as in %s=%s", m[1], m[3],
				strings.TrimSuffix(what, " that is not negative"), m[1], m[3])
		}
		return fmt.Sprintf("%s is %q, want %s%s", m[1], m[3], what, inPlainNumbers(m[3], m[2] != "float"))
	case is(unexpected):
		name, known := otherNames[strings.ToLower(m[1])]
		first := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
		switch info, err := os.Stat(m[1]); {
		case slices.Contains(args, "--help"): // the same as "dyad help NAME"
			return fmt.Sprintf(`there is no help on %s; see "dyad --help", "dyad help words" or "dyad help choosing"`, m[1])
		case m[2] != "":
		case known && first >= 0 && args[first] == m[1]:
			return fmt.Sprintf("there is no command %s; dyad %s does that", m[1], name)
		case err == nil && !info.IsDir() && slices.Contains(args, "--data"):
			return fmt.Sprintf("--data takes one file, but %s is a second one; quote a pattern (--data "+
				"'part-*.csv'), or write --data before each file", m[1])
		case arguments(command, m[1]) != "":
			return arguments(command, m[1])
		case err == nil && !info.IsDir() && command != "dyad" && (parse == nil || flagOf(parse, "--data") == nil):
			return fmt.Sprintf("%s does not take the file %s; %s --help shows what it takes", command, m[1], command)
		case err == nil && !info.IsDir() && command != "dyad" && strings.HasSuffix(m[1], ".json") && modelFirst(parse):
			return fmt.Sprintf("%s takes the model first, then --data: %s MODEL --data FILE", command, command)
		case err == nil && !info.IsDir() && command != "dyad":
			return fmt.Sprintf("%s needs a flag before the file %s, such as --data %s", command, m[1], m[1])
		case err == nil && !info.IsDir():
			return fmt.Sprintf("there is no command %s; to begin with a data file of your own, run dyad start %s", m[1], m[1])
		case command != "dyad" && valueOfFlag(args, m[1]) != "":
			return fmt.Sprintf("unexpected argument %s after %s; a flag takes only one value", m[1],
				valueOfFlag(args, m[1]))
		case command == "dyad":
			return fmt.Sprintf("there is no command %s", m[1])
		default:
			return fmt.Sprintf("%s does not take the argument %s", command, m[1])
		}
	case is(together):
		return fmt.Sprintf("%s and %s exclude each other; leave one out", m[1], m[2])
	case is(noValue):
		return m[1] + " needs a value"
	case is(noFlag) && elsewhere(command, m[1]) != "":
		return fmt.Sprintf("%s has no flag %s: %s", command, m[1], elsewhere(command, m[1]))
	case is(manyNear):
		// The parser suggests every flag that differs by a few letters. A flag with the same beginning is preferred.
		for near := range strings.SplitSeq(m[2], ", ") {
			if strings.HasPrefix(strings.Trim(near, `"`), m[1]) {
				return fmt.Sprintf("unknown flag %s, did you mean %s?", m[1], near)
			}
		}
	case is(wanted):
		return fmt.Sprintf("%s needs %s; write this argument after the command, as in %s %s", command, m[1], command,
			strings.ToUpper(m[1]))
	}
	return text
}
