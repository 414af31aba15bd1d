package command

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/internal/tasks"
)

// stopped is the value that kong's exit function panics with, so that run can return the code.
type stopped struct{ code int }

// run executes the whole program, for main and for tests.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return runHooked(ctx, args, stdin, stdout, stderr, hooks{})
}

func runHooked(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, h hooks) (code int) {
	noCores()
	var c cli
	// A model records the start time of its command. The end time would reveal the duration of the training.
	began := time.Now().UTC().Truncate(time.Second)
	a := &app{ctx: ctx, began: began, stdin: stdin, stdout: stdout, stderr: stderr, hooks: h, state: &atomic.Int32{}}
	a.logIfAsked(args)
	defer func() { a.team.leave(code) }() // runs after everything is written
	defer func() {
		p := tasks.Caught(recover())
		if p == nil {
			return
		}
		switch end, ok := p.Value.(stopped); {
		case ok:
			code = end.code
		default:
			if p.IsFault() {
				fail(a.stderr, "dyad: a pack or another mapped file shrank during use, or its disk failed; restore "+
					"the file")
			} else {
				fail(a.stderr, "dyad: internal error, please report it: %v", p)
			}
			if a.run != "" {
				fail(a.stderr, "dyad: run %s is charged; the same command with --resume %s continues it at no "+
					"further cost", a.run, a.run)
			}
			code = exitFailure
		}
	}()
	args, all := allHelp(args)
	args, note := currentNames(args)
	a.args = args
	kinds, err := h.with.commands()
	if err = cmp.Or(c.add(h.with), err); err != nil {
		fail(a.stderr, "%v", err)
		return exitFailure
	}
	into, settle := grammar(&c, args)
	parser, err := newParser(into, stdout, a.stderr, append(kinds, kong.Help(printHelp(all)))...)
	if err != nil {
		fail(a.stderr, "dyad: %v", err)
		return exitFailure
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help" && len(args) == 2 && helpTopic(stdout, args[1]):
		return exitOK
	case args[0] == "help": // dyad help NAME, as in other programs
		args = append(args[1:len(args):len(args)], "--help")
	case args[0] == "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	var config *config
	typed := args
	err, cancelled := tasks.Await(ctx, func() (err error) { args, config, err = withConfig(parser, minusFormula(args)); return err }) // reading a pipe waits for its writer
	if cancelled != nil {
		fail(a.stderr, "dyad: cancelled")
		return exitCancelled
	}
	if err != nil {
		fail(a.stderr, "%s", message(err))
		return exitInput
	}
	a.logIfAsked(args) // in the file of --config
	command, err := parser.Parse(args)
	if err != nil {
		text, help := usage(err, args)
		text = config.explain(text)
		fail(a.stderr, "dyad: %s\nRun \"%s\" for usage and examples.", text, help)
		return exitInput
	}
	if err := cmp.Or(checkPositive(command), checkTags(command), checkEndings(command)); err != nil {
		fail(a.stderr, "%s", config.explain(message(err)))
		return exitInput
	}
	if config != nil && config.path != "" {
		a.options = used(command)
	}
	a.recipe = recipeOf(command)
	settle()
	a.json, a.quiet, a.verbose, a.interactive = c.JSON, c.Quiet, c.Verbose, !c.Quiet && isTerminal(a.stderr)
	if isTerminal(a.stderr) {
		a.screen = &screen{Writer: a.stderr}
		a.stderr = a.screen
	}
	for _, note := range []string{note, typedKeys(command, typed)} {
		if note != "" {
			a.note("dyad: %s", note)
		}
	}
	a.warnOfReaders(command)
	err = a.perform(command)
	if err != nil {
		if errors.Is(err, context.Canceled) && a.saved != "" {
			fail(a.stderr, "dyad: the command was cancelled, but the result is complete and is saved as %s", a.saved)
		} else if errors.Is(err, context.Canceled) {
			fail(a.stderr, "dyad: cancelled")
		} else if !errors.Is(err, errCheckFailed) && !errors.Is(err, errTold) {
			failAt(a.stderr, err, "%s", a.team.prefix()+config.spelled(message(err), false))
		}
	}
	return exitCode(err)
}

// logIfAsked makes standard error a log if a command line asks for it.
func (a *app) logIfAsked(args []string) {
	if a.logs == nil && asksForJSON(args) {
		a.logs = &jsonLog{to: a.stderr, began: a.began}
		a.stderr = a.logs
	}
}

// newParser returns a parser of the command line into c, which is a *cli or a part of it (grammar).
func newParser(c any, stdout, stderr io.Writer, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append(options,
		kong.Name("dyad"),
		kong.NamedMapper(formulaType, kong.MapperFunc(decodeFormula)),
		kong.Description("Train pairwise models (AUC, ranking, metrics, labelled pairs, your own losses) with differential privacy, centrally or at the users.\n\n"+topicList()),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(stopped{code}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.UsageOnError(),
		kong.PostBuild(details),
	)...)
}

// Run runs the program dyad, extended by w, with the command line args. It returns the exit code.
func (w With) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runHooked(ctx, args, stdin, stdout, stderr, hooks{with: w, stage: w.Trace})
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
