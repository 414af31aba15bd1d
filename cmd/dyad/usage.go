package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// otherNames are what other programs call the commands.
var otherNames = map[string]string{
	"fit": "train", "learn": "train", "run": "train", "score": "predict", "transform": "predict", "infer": "predict",
	"test": "evaluate", "eval": "evaluate", "budget": "ledger", "schema": "data schema", "inspect": "data inspect", "convert": "data convert", "epsilon": "account",
}

var (
	notNumber  = regexp.MustCompile(`^(--[\w-]+): expected (?:a |an )?(float|int|uint)(?: value)? but got "([^"]*)"`)
	unexpected = regexp.MustCompile(`^unexpected argument (.+?)(, did you mean .*)?$`)
	manyNear   = regexp.MustCompile(`^unknown flag (--[\w-]+), did you mean one of (.*)\?$`)
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
		return fmt.Sprintf("%s is %q, want %s", m[1], m[3], what)
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
		case command == "dyad":
			return fmt.Sprintf("there is no command %s", m[1])
		}
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
