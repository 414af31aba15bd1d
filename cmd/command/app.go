package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/local/serve"
	"dyad/engine/cuda"
	"dyad/engine/team/mpi"
	"dyad/internal/files"
	"dyad/internal/input"
	"dyad/internal/tasks"
	"dyad/privacy/ledger"
)

// cli is the command line. Flags of all commands come first.
type cli struct {
	JSON  bool `name:"json" help:"Write the result as JSON on standard output."`
	Quiet bool `short:"q" help:"Write nothing but errors (and the result with --json)."`

	Config string `name:"config" placeholder:"FILE" help:"YAML file of flags, such as \"epsilon: 1\"; the command line overrides it. It is written into reports and models."`

	Verbose bool `name:"verbose" short:"v" help:"Write the whole report, with the proof."`

	Set       []string `sep:"none" placeholder:"KEY=VALUE" help:"A key of the recipe, an option that most runs leave as it is; \"dyad help keys\" explains all. May repeat."`
	LogFormat string   `name:"log-format" enum:"text,json" default:"text" placeholder:"text|json" help:"Format of standard error: text, or JSON with one object per line: time (when the command began), level and message."`

	Start startCmd `cmd:"" group:"Prepare data:" help:"Begin with your own file: answer questions to get a schema and a recipe for a training."`
	Data  dataCmd  `cmd:"" group:"Prepare data:" help:"Work with data files."`

	Plan   planCmd   `cmd:"" group:"Decide:" help:"Print the whole privacy report of a training run without reading any data."`
	Ledger ledgerCmd `cmd:"" group:"Decide:" help:"Show, check or cap what has been spent on each data set."`

	Train  trainCmd  `cmd:"" group:"Train:" help:"Train a model. Without --data: on an embedded synthetic clinical data set."`
	Search searchCmd `cmd:"" group:"Train:" help:"Choose among settings or released models privately: training, scoring and choosing in one charge."`

	Evaluate evaluateCmd `cmd:"" group:"Judge and use:" help:"Evaluate a model on a data file."`
	Predict  predictCmd  `cmd:"" group:"Judge and use:" help:"Score records with a model."`
	Report   reportCmd   `cmd:"" group:"Judge and use:" help:"Write the page of a model: guarantee, charges, weights and noise, assumptions."`
	Export   exportCmd   `cmd:"" group:"Judge and use:" help:"Write a model for other programs: ONNX, NumPy, safetensors, SQL, Go, Python."`
	Verify   verifyCmd   `cmd:"" group:"Judge and use:" help:"Recompute the guarantee of a model from its file, independently of the program that planned it."`

	Doctor doctorCmd `cmd:"" group:"This machine:" help:"Check this machine: CPU, GPU, ledger, randomness."`

	Lab   labCmd   `cmd:"" group:"More:" help:"Examine algorithms and losses: attacks, curves, speed, the tables of the papers."`
	Local localCmd `cmd:"" group:"More:" help:"Learn from users who do not trust the server: local differential privacy."`

	// The commands below are listed at the end of "dyad --help".
	Baseline   baselineCmd   `cmd:"" help:"Train without privacy, to compare with."`
	Online     onlineCmd     `cmd:"" help:"Train on a stream of records and release a model after every batch."`
	Pairs      pairsCmd      `cmd:"" help:"Train on labelled pairs: similar or dissimilar, or preferred."`
	Cluster    clusterCmd    `cmd:"" help:"Find cluster centres of records privately, by a metric from pairs if you have one."`
	Threshold  thresholdCmd  `cmd:"" help:"Choose a decision threshold with budget, so that predict prints classes."`
	Transform  transformCmd  `cmd:"" help:"Map records by a learned metric."`
	Account    accountCmd    `cmd:"" help:"Convert between noise and epsilon."`
	Devices    devicesCmd    `cmd:"" help:"List the values of --device."`
	Completion completionCmd `cmd:"" help:"Print a completion script for bash, zsh or fish."`
	Man        manCmd        `cmd:"" help:"Print a manual page, or write all of them."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Docs       docsCmd       `cmd:"" hidden:"" help:"Write the help of all commands as Markdown."`
}

// app holds the resources of a command.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	logs           *jsonLog // log on stderr with --log-format json, else nil
	json, quiet    bool
	verbose        bool
	interactive    bool // progress bars may be shown
	percentOnly    bool // progress shows percentages and no times
	began          time.Time
	args           []string       // arguments of the command line
	state          *atomic.Int32  // state of the command: free, holding or leftBack
	screen         *screen        // standard error if it is a terminal, otherwise nil
	saved          string         // name of the file with a complete result
	run            string         // run that is charged and not released yet, reported after a panic
	told           []string       // warnings that were shown before the charge
	options        map[string]any // flags in use, including --config, with their values
	recipe         map[string]any // options that determine the guarantee
	narrow         bool           // records of a plan are stored in float32
	team           *crew          // nil if this process works alone
	hooks          hooks
}

// hooks let tests stop or disturb the program at a stage. In the program itself all fields except with are
// zero; no flag and no environment variable sets them.
type hooks struct {
	stage    func(name string)
	lockWait time.Duration // time to wait for the ledger's lock, 0 for the default
	memory   float64       // available memory in bytes, 0 for the value of the system
	team     job           // replaces the job of --team
	with     With
}

// at tells the hooks that a stage was reached.
func (a *app) at(stage string) {
	if stage == "locked" { // a ledger is locked for a change
		a.hold()
	}
	if a.hooks.stage != nil {
		a.hooks.stage(stage)
	}
}

// badInput returns an error with exit code exitInput.
func badInput(format string, args ...any) error { return input.Errorf(format, args...) }

// needs returns an error if a model does not have the properties that a command needs.
func needs(m *model, n input.Needs) error {
	s := m.Encoder.Schema()
	return n.Of(input.Lacks{Scores: m.Task != taskAUC, Metric: m.Task != taskMetric, Linear: m.Network != nil, TwoClasses: s.IsGraded(), Rows: s.ByPerson()})
}

// asInput gives err the exit code exitInput. It returns nil if err is nil.
func asInput(err error) error { return input.As(err) }

// errCheckFailed is the error of a failed check; its exit code is exitFailure.
var errCheckFailed = errors.New("dyad: a check did not hold")

// errUnavailable is the error for a server or an address that is not available now; its exit code is
// exitResource.
var errUnavailable = errors.New("dyad: not available")

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var elsewhere *lib.ElsewhereError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &elsewhere):
		return exitElsewhere
	case errors.Is(err, context.Canceled):
		return exitCancelled
	case errors.Is(err, ledger.ErrBudget), errors.Is(err, ledger.ErrUnavailable), errors.Is(err, cuda.ErrUnavailable), errors.Is(err, mpi.ErrUnavailable), errors.Is(err, errUnavailable), errors.Is(err, files.ErrNowhere), errors.Is(err, serve.ErrAway):
		return exitResource
	case errors.Is(err, lib.ErrInput), errors.Is(err, algorithms.ErrAssumption), errors.Is(err, fs.ErrNotExist):
		return exitInput
	}
	return exitFailure
}

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
	a := &app{ctx: ctx, began: began, stdin: stdin, stdout: stdout, hooks: h, state: &atomic.Int32{}}
	if asksForJSON(args) {
		a.logs = &jsonLog{to: stderr, began: began}
		stderr = a.logs
	}
	a.stderr = stderr
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
				fail(stderr, "dyad: a mapped file, such as a pack, was cut short while it was in use, or its disk failed; restore the file")
			} else {
				fail(stderr, "dyad: internal error, please report it: %v", p)
			}
			if a.run != "" {
				fail(stderr, "dyad: run %s is charged; the same command with --resume %s continues it, or saves its model, at no further cost", a.run, a.run)
			}
			code = exitFailure
		}
	}()
	args, all := allHelp(args)
	args, note := currentNames(args)
	a.args = args
	if err := c.add(h.with); err != nil {
		fail(stderr, "%v", err)
		return exitFailure
	}
	into, settle := grammar(&c, args)
	kinds, err := h.with.commands()
	if err != nil {
		fail(stderr, "%v", err)
		return exitFailure
	}
	parser, err := newParser(into, stdout, stderr, append(kinds, kong.Help(printHelp(all)))...)
	if err != nil {
		fail(stderr, "dyad: %v", err)
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
		fail(stderr, "dyad: cancelled")
		return exitCancelled
	}
	if err != nil {
		fail(stderr, "%s", message(err))
		return exitInput
	}
	if a.logs == nil && asksForJSON(args) { // requested in the file of --config
		a.logs = &jsonLog{to: stderr, began: began}
		stderr = a.logs
		a.stderr = stderr
	}
	command, err := parser.Parse(args)
	if err != nil {
		text, help := usage(err, args)
		text = config.explain(text)
		fail(stderr, "dyad: %s\nRun \"%s\" for usage and examples.", text, help)
		return exitInput
	}
	if err := cmp.Or(checkPositive(command), checkTags(command), checkEndings(command)); err != nil {
		fail(stderr, "%s", config.explain(message(err)))
		return exitInput
	}
	if config != nil && config.path != "" {
		a.options = used(command)
	}
	a.recipe = recipeOf(command)
	settle()
	a.json, a.quiet, a.verbose, a.interactive = c.JSON, c.Quiet, c.Verbose, !c.Quiet && isTerminal(stderr)
	if a.logs == nil && isTerminal(stderr) {
		a.screen = &screen{Writer: stderr}
		stderr = a.screen
		a.stderr = stderr
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
			fail(stderr, "dyad: cancelled; the result is complete as %s", a.saved)
		} else if errors.Is(err, context.Canceled) {
			fail(stderr, "dyad: cancelled")
		} else if !errors.Is(err, errCheckFailed) && !errors.Is(err, errTold) {
			failAt(stderr, err, "%s", a.team.prefix()+config.spelled(message(err), false))
		}
	}
	return exitCode(err)
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
	)...)
}

// message returns the text of an error for the user. It starts with "dyad: " and leaves out the prefixes of
// packages.
func message(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		for _, p := range []string{"audit: ", "algorithms: ", "engine: ", "privacy: ", "account: ", "ledger: ", "online: ", "dataset: ", "metrics: ", "catalog: ", "driver: ", "cuda: ", "local: ", "serve: ", "pairs: ", "cluster: ", "pairgraph: ", "terms: ", "team: ", "mpi: ", "export: ", "experiment: ", "influence: ", "layers: ", "gorgonia: ", "autodiff: ", "embedding: ", "dyad: "} {
			l = strings.ReplaceAll(strings.TrimPrefix(l, p), ": "+p, ": ")
		}
		lines[i] = "dyad: " + l
	}
	return forced(strings.Join(lines, "\n"))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// emit writes the result of a command: v as JSON with --json, otherwise text unless --quiet is set.
func (a *app) emit(v any, text string) error {
	a.endLine()
	if a.json {
		var report bytes.Buffer
		e := json.NewEncoder(&report)
		e.SetIndent("", "  ")
		if err := e.Encode(v); err != nil {
			return err
		}
		text, err := withOptions(report.Bytes(), a.options)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(text)
		return unwritten(v, err)
	}
	if a.quiet {
		return nil
	}
	_, err := io.WriteString(a.stdout, text)
	return unwritten(v, err)
}

// note writes a remark for the user to standard error.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// stateDir returns the default folder of the ledger: $XDG_STATE_HOME/dyad, or ~/.local/state/dyad.
func stateDir() (string, error) {
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "dyad"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%w: there is no home folder for the ledger; name a file with --ledger FILE or set XDG_STATE_HOME: %v", ledger.ErrUnavailable, err)
	}
	return filepath.Join(home, ".local", "state", "dyad"), nil
}

// ledgerFlag is the --ledger flag of the commands that use a ledger.
type ledgerFlag struct {
	Ledger string `name:"ledger" private:"default ledger" placeholder:"FILE" help:"Ledger file. Default: $XDG_STATE_HOME/dyad/ledger.jsonl, else ~/.local/state/dyad/ledger.jsonl."`
}

// path returns the file of the flag, or the default file.
func (f ledgerFlag) path() (string, error) {
	if f.Ledger != "" {
		return f.Ledger, nil
	}
	dir, err := stateDir()
	return filepath.Join(dir, "ledger.jsonl"), err
}

// openLedger opens the ledger of a private run. A resumed run needs an existing ledger. For another run, a
// missing ledger is created and this is reported, because a mistyped path would ignore all earlier charges.
func (a *app) openLedger(f ledgerFlag, resume bool) (*ledger.Ledger, string, error) {
	a.at("opening ledger")
	o := ledger.Options{LockWait: a.hooks.lockWait, Trace: a.at}
	if resume {
		return f.openExisting(o)
	}
	path, err := f.path()
	isNew := err == nil && !exists(path)
	l, path, err := f.open(o)
	if err == nil && isNew {
		a.note("dyad: a new ledger was made: %s; it has no earlier charge and no cap", path)
	}
	return l, path, err
}

// open opens the ledger or creates it. It also creates the default folder if the ledger belongs there.
func (f ledgerFlag) open(o ledger.Options) (*ledger.Ledger, string, error) {
	path, err := f.path()
	if err != nil {
		return nil, "", err
	}
	if f.Ledger == "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, "", fmt.Errorf("%w: cannot create the folder of the ledger: %v", ledger.ErrUnavailable, err)
		}
	}
	l, err := ledger.OpenWith(path, o)
	return l, path, err
}
