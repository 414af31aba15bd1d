package command

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/engine/dataset/strictyaml"
)

// recipeCommands lists the commands that can share a recipe.
var recipeCommands = []string{"plan train", "plan compare", "train", "baseline", "search", "lab audit records",
	"lab curve", "pairs plan", "pairs train", "lab audit pairs"}

// recipeParts maps the keys of a file of --config under which the options of a part can be grouped.
var recipeParts = map[string]string{"guarantee": guaranteed, "compute": computed}

// partOf returns the part of a recipe to which an option belongs.
func partOf(name string) string {
	s, _ := sectionOf(name)
	return sections[s].part
}

// option returns the option of a recipe with the given name, or nil if none of recipeCommands has it.
func option(name string) *kong.Flag {
	if _, err := wholeGrammar(); err != nil {
		return nil
	}
	for _, o := range whole.options {
		if o.flag.Name == name && slices.ContainsFunc(o.commands,
			func(c string) bool { return slices.Contains(recipeCommands, c) }) {
			return o.flag
		}
	}
	return nil
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
		return badInput("%s: dyad %s has no flag --%s, and it changes what is guaranteed: the run would not be the one of "+
			"this recipe", c.place(s), command, s.flag)
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

// recipeOf returns epsilon and the options of a command that determine the guarantee and differ from their defaults.
// None of them names a file.
func recipeOf(command *kong.Context) map[string]any {
	all := map[string]any{}
	for _, f := range command.Flags() {
		value := reflect.ValueOf(command.FlagValue(f))
		if partOf(f.Name) != guaranteed || slices.Contains(words(placeFlags), f.Name) || value.IsZero() && f.Default == "" {
			continue
		}
		value = reflect.Indirect(value)
		if d, ok := value.Interface().(time.Duration); ok {
			value = reflect.ValueOf(d.String())
		}
		if text := fmt.Sprint(value); f.Name == "epsilon" || text != f.Default && text != algorithms.AutoName {
			all[f.Name] = value.Interface()
		}
	}
	return all
}

// recipeText returns the lines of a file of --config with the given options.
func recipeText(options map[string]any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value := reflect.ValueOf(options[name])
		var items []string
		switch value.Kind() {
		case reflect.Slice:
			for i := range value.Len() {
				items = append(items, fmt.Sprint(value.Index(i)))
			}
		case reflect.Map:
			for _, key := range value.MapKeys() {
				items = append(items, fmt.Sprintf("%q", fmt.Sprintf("%v=%v", key, value.MapIndex(key))))
			}
			slices.Sort(items)
		case reflect.String:
			lines = append(lines, fmt.Sprintf("%s: %q", name, value))
			continue
		default:
			lines = append(lines, fmt.Sprintf("%s: %v", name, value))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: [%s]", name, strings.Join(items, ", ")))
	}
	return lines
}
