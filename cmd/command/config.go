package command

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml/ast"

	"dyad/engine/dataset/strictyaml"
	"dyad/internal/files"
)

// setting is a line of a file of --config, or a --set, which has no line number.
type setting struct {
	flag   string
	line   int
	values []string
	list   bool
	bare   bool // a --set without "="
}

// config holds the settings of --set and of the file of --config. It is nil without them.
type config struct {
	path     string
	settings []setting // settings of --set first
}

var givesSettings = regexp.MustCompile(`^--(config|set)(=|$)`)

// set adds the settings of --set.
func (c *config) set(all []string) {
	for _, text := range all {
		name, value, valued := strings.Cut(text, "=")
		if !valued {
			value = "true"
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "--")
		if i := slices.IndexFunc(c.settings, func(s setting) bool { return s.flag == name }); i >= 0 {
			c.settings[i].values, c.settings[i].list = append(c.settings[i].values, value), true
			continue
		}
		c.settings = append(c.settings, setting{flag: name, bare: !valued, values: []string{value}})
	}
}

// place returns the position of a setting.
func (c *config) place(s setting) string {
	if s.line == 0 {
		return "--set " + s.flag
	}
	return fmt.Sprintf("%s:%d", c.path, s.line)
}

// twice returns the error for a setting with several values that takes only one.
func (c *config) twice(s setting) error {
	why := pick(s.line > 0, ": --"+s.flag+" takes one value, not a list",
		" takes one value, but is given more than once (by --set or its flag)")
	return badInput("%s%s", c.place(s), why)
}

// notSet returns the error for a --set that is not KEY=VALUE, with an example.
func notSet(text, example string) error {
	return badInput("--set is %q, want KEY=VALUE, such as --set %s", text, shell(example))
}

// valueAfter returns the argument after the one that is key, or else if there is none or it is a flag.
func valueAfter(args []string, key, or string) string {
	if i := slices.Index(args, key) + 1; i > 0 && i < len(args) && !strings.HasPrefix(args[i], "-") {
		return args[i]
	}
	return or
}

// withConfig appends flags to the arguments: first the settings of --set, then those of the file of --config. Flags
// that the command line has already are not changed.
func withConfig(parser *kong.Kong, args []string) ([]string, *config, error) {
	if !slices.ContainsFunc(args, givesSettings.MatchString) {
		return args, nil, nil
	}
	trace, err := kong.Trace(parser, args)
	if err != nil {
		return nil, nil, err
	}
	given, flags := map[string]bool{}, map[string]*kong.Flag{}
	give := func(f *kong.Flag) {
		given[f.Name] = true
		for _, x := range f.Xor {
			given["xor "+x] = true
		}
	}
	c := &config{}
	for _, p := range trace.Path {
		if p.Flag == nil {
			given["argument"] = given["argument"] || p.Positional != nil
			continue
		}
		give(p.Flag)
		if p.Flag.Name == "config" {
			c.path, _ = trace.FlagValue(p.Flag).(string)
		}
		if p.Flag.Name == "set" {
			all, _ := trace.FlagValue(p.Flag).([]string)
			c.settings = nil
			c.set(all)
		}
	}
	command := trace.Selected()
	if c.path == "" && c.settings == nil || command == nil {
		return args, nil, nil // the parser reports the error
	}
	if c.path != "" {
		if err := c.read(); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range trace.Flags() {
		flags[f.Name] = f
		for _, alias := range f.Aliases {
			flags[alias] = f
		}
	}
	var more []string
	lines := map[string]int{}
	for _, s := range c.settings {
		f := flags[s.flag]
		if f != nil {
			s.flag = f.Name
		}
		switch {
		case s.flag == "" && s.line == 0:
			return nil, nil, notSet("="+s.values[0], "steps=5")
		case s.bare && f != nil && !f.IsBool():
			return nil, nil, notSet(s.flag, s.flag+"="+valueAfter(args, s.flag, f.FormatPlaceHolder()))
		case strings.HasPrefix(command.Path(), "plan ") && s.flag == "report" && s.line > 0: // flags of the training
			continue
		case f == nil && s.flag == "algorithm" && len(command.Positional) > 0 && command.Positional[0].Name == s.flag:
			if !given["argument"] {
				more = append(more, s.values...)
			} else if s.line == 0 {
				return nil, nil, c.twice(s)
			}
			continue
		case f == nil && leavesOut(command.Path(), s):
			continue
		case f == nil || s.flag == "help" || s.flag == "config" || s.flag == "set":
			return nil, nil, c.unknown(shortName(command.Path()), s, flags)
		case (s.list || s.line == 0 && given[s.flag]) && !f.IsCumulative() && f.Target.Type() != reflect.TypeFor[dataFiles]():
			return nil, nil, c.twice(s)
		case s.line > 0 && (given[s.flag] || slices.ContainsFunc(f.Xor, func(x string) bool { return given["xor "+x] })):
			continue
		}
		if s.line > 0 && lines[s.flag] > 0 {
			return nil, nil, badInput("%s: %s is already in line %d", c.place(s), s.flag, lines[s.flag])
		}
		lines[s.flag] = s.line
		if s.line == 0 {
			give(f)
		}
		for _, v := range s.values {
			more = append(more, "--"+s.flag+"="+v)
		}
	}
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	var rest []string // arguments without --set, whose settings have become flags
	for i := 0; i < at; i++ {
		if args[i] == "--set" {
			i++
		} else if !strings.HasPrefix(args[i], "--set=") {
			rest = append(rest, args[i])
		}
	}
	return slices.Concat(rest, more, args[at:]), c, nil
}

// read reads the file: a mapping from the names of flags to values or lists of values.
func (c *config) read() error {
	text, err := files.ReadStart(c.path, strictyaml.MaxBytes+1)
	if err != nil {
		return err
	}
	body, err := strictyaml.Parse(text)
	if err != nil {
		return badInput("%s: %s; want lines such as \"epsilon: 1\"", c.path, strictyaml.Describe(err))
	}
	before := len(c.settings)
	if err := c.add(mapping(body), ""); err != nil || len(c.settings) > before {
		return err
	}
	return badInput(`%s has no settings; want lines such as "epsilon: 1"`, c.path)
}

// add adds the settings of a mapping. If part is not "", the settings belong to this part of a recipe.
func (c *config) add(pairs []*ast.MappingValueNode, part string) error {
	for _, p := range pairs {
		key := p.Key.GetToken()
		s := setting{flag: key.Value, line: key.Position.Line}
		if under := recipeParts[key.Value]; under != "" && part == "" {
			if _, empty := p.Value.(*ast.NullNode); mapping(p.Value) == nil && !empty {
				return badInput("%s:%d: %s: want options below this line, such as \"epsilon: 1\"", c.path, s.line, s.flag)
			}
			if err := c.add(mapping(p.Value), under); err != nil {
				return err
			}
			continue
		}
		if o := option(s.flag); part != "" && o != nil && partOf(s.flag) != part {
			return badInput(`%s:%d: move %s from "%s" to "%s"`, c.path, s.line, s.flag, part, partOf(s.flag))
		}
		items := []ast.Node{p.Value}
		if list, ok := p.Value.(*ast.SequenceNode); ok {
			items, s.list = list.Values, true
		}
		for _, n := range items {
			value, ok := scalar(n)
			if !ok {
				return badInput("%s:%d: %s: want a value, or a list of values", c.path, s.line, s.flag)
			}
			s.values = append(s.values, value)
		}
		c.settings = append(c.settings, s)
	}
	return nil
}

// mapping returns the lines of a mapping, or nil for a value of another kind.
func mapping(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// scalar returns the text of a value in the form that it would have on the command line.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode:
		return n.GetToken().Value, true
	}
	return "", false
}

var flagInMessage = regexp.MustCompile(`--([\w-]+)(?: (\d\S*|[A-Z]+\b))?`)

// spelled restores, in a message, the spelling in which --set was given. If all is false, it restores only keys,
// because keys are never flags.
func (c *config) spelled(message string, all bool) string {
	if c == nil {
		return message
	}
	return flagInMessage.ReplaceAllStringFunc(message, func(flag string) string {
		m := flagInMessage.FindStringSubmatch(flag)
		if !slices.ContainsFunc(c.settings, func(s setting) bool {
			return s.flag == m[1] && s.line == 0 &&
				(all || isKey("-", s.flag))
		}) {
			return flag
		}
		return "--set " + m[1] + strings.Replace(flag[len("--"+m[1]):], " ", "=", 1)
	})
}

// explain adds the line of the file to a message about a flag that came from the file.
func (c *config) explain(message string) string {
	m := flagInMessage.FindStringSubmatch(message)
	if c == nil || m == nil {
		return message
	}
	i := slices.IndexFunc(c.settings, func(s setting) bool { return s.flag == m[1] })
	if i < 0 || c.settings[i].line == 0 {
		return c.spelled(message, true)
	}
	return fmt.Sprintf("%s (set in %s, line %d, or on the command line)",
		c.spelled(message, true), c.path,
		c.settings[i].line)
}

// used returns the flags of a command line and of its file, with their values.
func used(command *kong.Context) map[string]any {
	all := map[string]any{}
	for _, p := range command.Path {
		if p.Flag == nil {
			continue
		}
		value := command.FlagValue(p.Flag)
		switch v := value.(type) {
		case dataFiles:
			value = v.asked
		case time.Duration:
			value = v.String()
		}
		all[p.Flag.Name] = value
	}
	return all
}

// leavesOut reports whether a command ignores a setting of a recipe. Such a setting names data or results of another
// run, states how results are computed, or equals the default.
func leavesOut(command string, s setting) bool {
	o := option(s.flag)
	if command == "plan compare" && s.flag == "compare" { // the command itself implies the option
		return true
	}
	if o == nil || !slices.Contains(recipeCommands, command) {
		return false
	}
	switch part := partOf(s.flag); {
	case part == computed, part == guaranteed && command == "baseline": // baseline has no guarantee
		return true
	case part == guaranteed:
		return slices.Equal(s.values, []string{o.Default})
	}
	return slices.Contains(words(placeFlags), s.flag) || s.flag == "yes" || s.flag == "force" ||
		strings.HasPrefix(command, "lab audit")
}

// unknown returns the error for a setting without a flag of the command.
func (c *config) unknown(command string, s setting, flags map[string]*kong.Flag) error {
	if o := option(s.flag); o != nil && partOf(s.flag) == guaranteed &&
		slices.ContainsFunc(recipeCommands, func(c string) bool { return shortName(c) == command }) {
		return badInput("%s: dyad %s has no flag --%s, but the guarantee of the recipe depends on it", c.place(s),
			command, s.flag)
	}
	near := ""
	if why := absence(command, s.flag); why != "" {
		near = " (" + why + ")"
	} else if hint := strictyaml.Near(s.flag, slices.Sorted(maps.Keys(flags))); hint != "" && flags[s.flag] == nil {
		near = "; " + hint
	}
	return badInput("%s: dyad %s has no flag --%s%s; \"dyad %s --help all\" shows all", c.place(s), command,
		s.flag, near, command)
}
