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
)

// recipeCommands lists the commands that can share a recipe.
var recipeCommands = []string{"plan train", "plan compare", "train", "baseline", "search", "lab audit records",
	"lab curve", "pairs plan", "pairs train", "lab audit pairs"}

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

// placeFlags lists flags that name files and machines of a run, or its seed. A model can be published, so its
// file contains none of them.
const placeFlags = "config with track report log-format data labels schema out ledger resume seed dir state plot " +
	"server listen cert key ca token tokens memory plan models candidates recipe users records pairs reference " +
	"neighbours part-out merge init metric protocol compare figures on pages answers out-schema held-out held-out-schema " +
	"peers curves witness signature approved"

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
