package command

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// oldName is a command line of an older version: a command, or a flag that is now a command of its own. It is still
// accepted, with a note. A short name is accepted without a note.
type oldName struct {
	command string
	flags   string // flags that select the other command; if "", any command line does
	unless  string // a flag with which the old command is kept
	drop    bool   // the flag is dropped because the new command implies it
	short   bool
	now     string
}

var renamed = []oldName{
	{command: "audit", now: "lab audit"}, {command: "curve", now: "lab curve"}, {command: "bench", now: "lab bench"},
	{command: "reproduce", now: "lab reproduce"},
	{command: "algorithms", now: "lab algorithms"}, {command: "losses", now: "lab losses"},
	{command: "influence", now: "lab influence"},
	{command: "evaluate", flags: "--compare", now: "evaluate compare"},
	{command: "evaluate", flags: "--public-data --exact-figures", unless: "--epsilon", now: "evaluate exact"},
	{command: "plan", flags: "--compare", drop: true, now: "plan compare"},
	{command: "train", flags: "--mode=nonprivate", drop: true, now: "baseline"},
	{command: "evaluate", short: true, now: "evaluate private"}, {command: "plan", short: true, now: "plan train"},
}

// currentNames returns the arguments with the current name of their command, and a note if the name differs.
func currentNames(args []string) (current []string, note string) {
	at := 0
	for ; at < len(args); at++ {
		if a := args[at]; a == "--config" || a == "--log-format" || a == "--set" {
			at++ // its value
		} else if a != "help" && !strings.HasPrefix(a, "-") {
			break
		}
	}
	if at >= len(args) {
		return args, ""
	}
	var given map[string]int
	named := at+1 < len(args) && slices.ContainsFunc(renamed,
		func(old oldName) bool { return old.now == args[at]+" "+args[at+1] })
	for _, old := range renamed {
		if old.command != args[at] || named {
			continue
		}
		rest, from := slices.Clone(args[at+1:]), ""
		if old.flags != "" {
			if given == nil {
				given = flagsOf(args)
			}
			if _, stays := given[old.unless]; stays {
				continue
			}
			i := slices.IndexFunc(words(old.flags), func(f string) bool { _, ok := given[f]; return ok })
			if i < 0 {
				continue
			}
			from = words(old.flags)[i]
			if k := given[from] - at - 1; old.drop && k >= 0 {
				end := k + 1
				if strings.Contains(from, "=") && rest[k] != from {
					end++ // its value
				}
				rest = slices.Delete(rest, k, end)
			}
			from = " " + strings.Replace(from, "=", " ", 1)
		}
		if !old.short {
			note = "dyad " + old.command + from + " is now dyad " + old.now + "; the old name works, too"
		}
		return slices.Concat(args[:at], strings.Fields(old.now), rest), note
	}
	return args, ""
}

// typedKeys returns a note about keys that the command line gives as flags, and about old names of flags, as in
// older versions.
func typedKeys(command *kong.Context, args []string) string {
	var now []string
	for _, p := range command.Path {
		if p.Flag == nil {
			continue
		}
		key := isKey(command.Selected().Path(), p.Flag.Name)
		for i, a := range args {
			name, value, valued := strings.Cut(a, "=")
			typed, long := strings.CutPrefix(name, "--")
			if !long || !slices.Contains(p.Flag.Aliases, typed) && (!key || typed != p.Flag.Name) {
				continue
			}
			if !valued && !p.Flag.IsBool() && i+1 < len(args) {
				value, valued = args[i+1], true
			}
			set := p.Flag.Name
			if valued {
				set += "=" + value
			}
			if set = shell(set); key {
				set = "set " + set
			}
			if !slices.Contains(now, " --"+set) {
				now = append(now, " --"+set)
			}
		}
	}
	if now == nil {
		return ""
	}
	return "some flags are keys now, or have another name:" + strings.Join(now, "") + "; the old flags work, too"
}

// shortName returns the name of a command as it is typed, such as plan for plan train.
func shortName(command string) string {
	for _, old := range renamed {
		if old.short && old.now == command {
			return old.command
		}
	}
	return command
}

// flagsOf maps the flags of a command line to their positions. A flag with a value also appears as --flag=value. Flags
// that only the file of --config sets have position -1.
func flagsOf(args []string) map[string]int {
	given, file := map[string]int{}, ""
	add := func(name, value string, at int) {
		if !slices.Contains(words("false no 0"), strings.ToLower(value)) { // the same rule as in the parser
			given[name], given[name+"="+value] = at, at
		}
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		name, value, has := strings.Cut(a, "=")
		if !has && i+1 < len(args) {
			value = args[i+1]
		}
		if strings.HasPrefix(a, "--") {
			add(name, value, i)
		}
		switch name {
		case "--config":
			file = value
		case "--set":
			key, value, _ := strings.Cut(value, "=")
			add("--"+key, value, -1)
		}
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() { // a pipe can be read only once
		return given
	}
	if c := (config{path: file}); c.read() == nil { // otherwise the parser reports the error
		typed := maps.Clone(given)
		for _, s := range c.settings {
			if _, has := typed["--"+s.flag]; !has && len(s.values) == 1 {
				add("--"+s.flag, s.values[0], -1)
			}
		}
	}
	return given
}
