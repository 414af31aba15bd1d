package command

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/algorithms"
)

// With holds additions to the program dyad by another Go program. Kinds add commands; the other fields extend
// the commands train and plan. The zero value adds nothing.
type With struct {
	// Algorithms are additional algorithms that can be chosen by --algorithm, like those listed by "dyad lab
	// algorithms". Every exported field of the struct that is a number, a string or a bool is an option. A field
	// Length, for example, has the flag --length and the key length of --config. If the name of a field, such as Steps,
	// is an option of the catalogue, the existing flag sets the field.
	Algorithms []algorithms.Algorithm
	// Losses are additional losses that can be chosen by --loss. A Loss needs a name and a formula in u.
	Losses []lib.Loss
	// Kinds are additional kinds of run. Each is a command named by Info().Name, and its options are flags in the same
	// way as for algorithms. A kind that is also a Reader selects the part of a schema that it reads; other kinds read
	// all features.
	Kinds []algorithms.Kind
	// Networks are additional networks that can be chosen by --model. Each has a Kind, which is its name, and Build.
	// The Kind layers applies to all network files.
	Networks []lib.Network
	// Trace, if not nil, is called at every stage of a run, so that a test can stop the program at a stage.
	Trace func(stage string)
}

// Run runs the program with the additions of w on the command line args and returns the exit code.
func (w With) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runHooked(ctx, args, stdin, stdout, stderr, hooks{with: w, stage: w.Trace})
}

// ownFlags are the flags that With adds to a command.
type ownFlags struct {
	Options kong.Plugins `embed:""` // a struct with a field for each option of the algorithms

	with With
}

var wordStart = regexp.MustCompile(`(.)([A-Z][a-z])|([a-z0-9])([A-Z])`)

// ownFlag returns the name of the flag of a field.
func ownFlag(field string) string {
	return strings.ToLower(wordStart.ReplaceAllString(field, "$1$3-$2$4"))
}

// described is an algorithm or a kind.
type described interface{ Info() algorithms.Info }

// optionsFrom returns flags for the options of structs, except for the options in known.
func optionsFrom[T described](all []T, known []algorithms.Option) (f ownFlags, err error) {
	taken := map[string]reflect.Type{}
	for _, o := range known {
		taken[o.Field] = nil
	}
	var fields []reflect.StructField
	for _, a := range all {
		t := reflect.TypeOf(a)
		if t.Kind() != reflect.Struct {
			return f, fmt.Errorf("dyad: what With has is a struct, and %s is a %v", a.Info().Name, t)
		}
		for i := range t.NumField() {
			field := t.Field(i)
			switch field.Type.Kind() {
			case reflect.Bool, reflect.Int, reflect.Float64, reflect.String:
			default:
				continue
			}
			have, twice := taken[field.Name]
			switch {
			case !field.IsExported() || twice && have == nil || field.Tag.Get("flag") == "-": // an option that only Go programs can set
				continue
			case twice && have != field.Type:
				return f, fmt.Errorf("dyad: option %s of %s is a %v, and that of another algorithm a %v", field.Name, a.Info().Name,
					field.Type, have)
			case twice:
				continue
			}
			taken[field.Name] = field.Type
			help := fmt.Sprintf(`name:%q help:"Option of %s."`, ownFlag(field.Name), a.Info().Name)
			fields = append(fields, reflect.StructField{Name: field.Name, Type: field.Type, Tag: reflect.StructTag(help)})
		}
	}
	if len(fields) > 0 {
		f.Options = kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
	}
	return f, nil
}

// ownOptions returns the options that were set by flags.
func (f ownFlags) ownOptions() (set []algorithms.Option) {
	for _, one := range f.Options {
		v := reflect.ValueOf(one).Elem()
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !v.Field(i).IsZero() {
				set = append(set, algorithms.Option{Name: "--" + ownFlag(name), Field: name, Value: v.Field(i).Interface()})
			}
		}
	}
	return set
}

// algorithm returns the algorithm with the given name, from With or from the catalogue.
func (f ownFlags) algorithm(name string) (algorithms.Algorithm, error) {
	for _, a := range f.with.Algorithms {
		if a.Info().Name == name {
			return a, nil
		}
	}
	a, err := algorithms.ByName(name)
	return a, asInput(err)
}

// ownLoss returns the loss of With with the given name, or otherwise the loss described by the flags.
func (f ownFlags) ownLoss(flags lossFlags) (lib.Loss, error) {
	for _, l := range f.with.Losses {
		if l.Name != flags.Loss {
			continue
		}
		made, err := lossFlags{l.Formula, flags.LossParam, flags.LossClip}.definition()
		if made.Params == nil {
			made.Params = l.Params
		}
		made.Name = l.Name
		return made, err
	}
	return flags.definition()
}

// add adds With to a command line, together with options of the catalogue for which planFlags has no flag.
func (c *cli) add(w With) error {
	known, all := planFlags{}.options(), slices.Concat(algorithms.Catalog(), w.Algorithms)
	for _, to := range []*problemFlags{&c.Train.problemFlags, &c.Plan.Train.problemFlags, &c.Plan.Compare.problemFlags,
		&c.Baseline.problemFlags} {
		var err error
		if to.ownFlags, err = optionsFrom(all, known); err != nil {
			return err
		}
		to.ownFlags.with = w
	}
	c.Lab.Audit.Records.with, c.Lab.Audit.Pairs.with, c.Pairs.Train.with, c.Pairs.Plan.with = w, w, w, w
	return nil
}
