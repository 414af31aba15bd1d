package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// otherNames are what other programs call the commands.
var otherNames = map[string]string{
	"fit": "train", "learn": "train", "run": "train", "score": "predict", "transform": "predict", "infer": "predict",
	"test": "evaluate", "eval": "evaluate", "budget": "ledger", "schema": "data schema", "inspect": "data inspect", "convert": "data convert", "epsilon": "account",
}

var (
	notNumber  = regexp.MustCompile(`^(--[\w-]+): expected (?:a |an )?(?:valid \d+ bit )?(float|int|uint)(?: value)? but got "([^"]*)"`)
	unexpected = regexp.MustCompile(`^unexpected argument (.+?)(, did you mean .*)?$`)
	manyNear   = regexp.MustCompile(`^unknown flag (--[\w-]+), did you mean one of (.*)\?$`)
	noFlag     = regexp.MustCompile(`^unknown flag (--[\w-]+)`)
	wanted     = regexp.MustCompile(`^expected "<([\w-]+)>`)
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

// usage says what is wrong with a command line, and which command line prints help on it.
func usage(err error, args []string) (text, help string) {
	command := "dyad"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		command = "dyad " + parse.Context.Command()
	}
	if k := strings.Index(command, " <"); k >= 0 {
		command = command[:k]
	}
	return slip(err.Error(), command, parse, args), command + " --help"
}

// inPlainNumbers is how a number is written that was typed with a comma or a percent sign, or "".
func inPlainNumbers(text string) string {
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

// valueOfFlag is the flag with its value in front of an argument, or "".
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

// notFlags are what others say by a flag, and Dyad elsewhere.
var notFlags = map[string]string{
	"--person": "persons are named by the schema, as a column with role: person (docs/data.md), so that all of their rows are protected together",
	"--unit":   "the unit is that of the schema: a column with role: person protects persons, without one a record is protected",
	"--target": "the outcome is named by the schema, as the column with role: label; dyad data schema --label COLUMN drafts it",
	"--range":  "what a column can be is in the schema (range, categories); dyad start FILE asks for it",
}

// slip says what to write instead, where the text of the parser does not.
func slip(text, command string, parse *kong.ParseError, args []string) string {
	switch {
	case notNumber.MatchString(text):
		m := notNumber.FindStringSubmatch(text)
		if m[3] == "EOL" { // kong's name for the end of the line
			return m[1] + " needs a value"
		}
		what := map[string]string{"float": "a number", "int": "a whole number", "uint": "a whole number that is not negative"}[m[2]]
		if strings.HasPrefix(m[3], "-") {
			if f := flagOf(parse, m[1]); f != nil && (f.Tag.Has("positive") || strings.Contains(f.Name, "epsilon")) {
				name := m[1]
				if f.Short != 0 {
					name = "-" + string(f.Short)
				}
				return fmt.Sprintf("%s is %s, want %s above 0", name, m[3], what)
			}
			return fmt.Sprintf("%s is %s, want %s that is not negative (a negative one is written %s=%s)", m[1], m[3], strings.TrimSuffix(what, " that is not negative"), m[1], m[3])
		}
		return fmt.Sprintf("%s is %q, want %s%s", m[1], m[3], what, inPlainNumbers(m[3]))
	case unexpected.MatchString(text):
		m := unexpected.FindStringSubmatch(text)
		name, known := otherNames[strings.ToLower(m[1])]
		first := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
		switch info, err := os.Stat(m[1]); {
		case m[2] != "":
		case known && first >= 0 && args[first] == m[1]:
			return fmt.Sprintf("there is no command %s; dyad %s does that", m[1], name)
		case err == nil && !info.IsDir() && slices.Contains(args, "--data"):
			return fmt.Sprintf("%s is a second file after --data; write a pattern in quotes, such as --data 'part-*.csv', so that the shell leaves it alone, or --data before each file", m[1])
		case err == nil && !info.IsDir() && command != "dyad":
			return fmt.Sprintf("%s does not take the file %s by its place; name what it is, such as --data %s", command, m[1], m[1])
		case err == nil && !info.IsDir():
			return fmt.Sprintf("there is no command %s; a file of your own begins with: dyad start %s", m[1], m[1])
		case command != "dyad" && valueOfFlag(args, m[1]) != "":
			return fmt.Sprintf("unexpected argument %s: %s before it takes one value", m[1], valueOfFlag(args, m[1]))
		case command == "dyad":
			return fmt.Sprintf("there is no command %s", m[1])
		}
	case noFlag.MatchString(text) && notFlags[noFlag.FindStringSubmatch(text)[1]] != "":
		name := noFlag.FindStringSubmatch(text)[1]
		return fmt.Sprintf("%s has no flag %s: %s", command, name, notFlags[name])
	case manyNear.MatchString(text):
		// The parser offers every flag that is a few letters away; one that begins alike is meant.
		m := manyNear.FindStringSubmatch(text)
		for near := range strings.SplitSeq(m[2], ", ") {
			if strings.HasPrefix(strings.Trim(near, `"`), m[1]) {
				return fmt.Sprintf("unknown flag %s, did you mean %s?", m[1], near)
			}
		}
	case wanted.MatchString(text):
		what := wanted.FindStringSubmatch(text)[1]
		return fmt.Sprintf("%s needs %s: write it after the command, %s %s", command, what, command, strings.ToUpper(what))
	}
	return text
}
