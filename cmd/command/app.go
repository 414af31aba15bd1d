package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	lib "dyad"
	"dyad/algorithms"
	"dyad/internal/input"
)

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
	return n.Of(input.Lacks{Scores: m.Task != taskAUC, Metric: m.Task != taskMetric, Linear: m.Network != nil,
		TwoClasses: s.IsGraded(), Rows: s.ByPerson()})
}

// asInput gives err the exit code exitInput. It returns nil if err is nil.
func asInput(err error) error { return input.As(err) }

// asInput is asInput for work that an interrupt ends. After an interrupt, the error is context.Canceled.
func (a *app) asInput(err error) error { return cmp.Or(a.ctx.Err(), asInput(err)) }

// errCheckFailed is the error of a failed check; its exit code is exitFailure.
var errCheckFailed = errors.New("dyad: a check did not hold")

// errUnavailable is the error for a server or an address that is not available now; its exit code is
// exitResource.
var errUnavailable = errors.New("dyad: not available")

// message returns the text of an error for the user. It starts with "dyad: " and leaves out the prefixes of
// packages.
func message(err error) string { return "dyad: " + strings.ReplaceAll(plain(err), "\n", "\ndyad: ") }

// plain returns the text of an error without the prefixes of packages.
func plain(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		for _, p := range []string{"audit: ", "algorithms: ", "engine: ", "privacy: ", "account: ", "ledger: ", "online: ",
			"dataset: ", "metrics: ", "catalog: ", "driver: ", "cuda: ", "local: ", "serve: ", "pairs: ", "cluster: ", "pairgraph: ", "terms: ", "team: ", "mpi: ", "export: ", "experiment: ", "influence: ", "layers: ", "gorgonia: ", "autodiff: ", "embedding: ", "dyad: "} {
			l = strings.ReplaceAll(strings.TrimPrefix(l, p), ": "+p, ": ")
		}
		lines[i] = l
	}
	return forced(strings.Join(lines, "\n"))
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// emit writes the result of a command: v as JSON with --json, otherwise text unless --quiet is set.
func (a *app) emit(v any, text string) error {
	if a.screen != nil {
		a.screen.end() // of an unfinished line of standard error, before standard output is written to
	}
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

// print is like emit, for a text that was asked for: --quiet does not leave it out.
func (a *app) print(v any, text string) error {
	if a.json {
		return a.emit(v, "")
	}
	_, err := io.WriteString(a.stdout, text)
	return err
}

// emitCheck is like emit, for the result of a check. If the check failed, the error is errCheckFailed.
func (a *app) emitCheck(v any, text string, ok bool) error {
	if err := a.emit(v, text); err != nil || ok {
		return err
	}
	return errCheckFailed
}

// note writes a remark for the user to standard error.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}

// warn is like note, for a warning.
func (a *app) warn(format string, args ...any) {
	if !a.quiet {
		warn(a.stderr, format, args...)
	}
}

// hold marks the command as one that must end in order by itself, because it changes a ledger or runs a stream, a
// server or a team. If the program has already stopped waiting for the command, hold blocks.
func (a *app) hold() {
	if a.state == nil { // the app was not started by run
		return
	}
	if !a.state.CompareAndSwap(free, holding) && a.state.Load() == leftBack {
		select {}
	}
}

// waited returns a context that ends when the program stops waiting for an interrupted command. It is for code that
// waits for a pipe, a prompt or a network folder and does not notice that a.ctx is done.
func (a *app) waited() (context.Context, func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	stop := context.AfterFunc(a.ctx, func() {
		time.AfterFunc(grace, func() {
			if a.state.CompareAndSwap(free, leftBack) {
				cancel()
			}
		})
	})
	return late, func() { stop(); cancel() }
}

// The states of a command that the program may stop waiting for after an interrupt.
const (
	free     int32 = iota // the command can be left without losing a result
	holding               // the program waits for the command
	leftBack              // the program ends without waiting
)

// grace is the time that the program waits after an interrupt for a command in state free.
const grace = 600 * time.Millisecond

// withOptions adds the options in use to a report in JSON.
func withOptions(report []byte, options map[string]any) ([]byte, error) {
	body, isObject := strings.CutSuffix(strings.TrimSpace(string(report)), "\n}")
	if options == nil || !isObject {
		return report, nil
	}
	text, err := json.MarshalIndent(options, "  ", "  ")
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s,\n  \"options\": %s\n}\n", body, text), nil
}

// released is a charged result that is saved in files. Standard output is only a second copy of it.
type released interface{ saved() (run, file string) }

// unwritten returns the error for a result that could not be written to standard output.
func unwritten(v any, err error) error {
	if r, ok := v.(released); ok && err != nil {
		if run, file := r.saved(); run != "" && file != "" {
			return fmt.Errorf("standard output cannot be written: %w; run %s is complete, and its whole result is in %s",
				err, run, file)
		}
	}
	return err
}

// With holds the additions of another Go program to the program dyad. Each kind in Kinds adds a command.
// The other fields extend the commands train and plan. The zero value adds nothing.
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
	// Networks are additional networks for --model. In each of them, Kind (its name) and Build must be set. If
	// the Kind is "layers", Build builds all networks that a file describes.
	Networks []lib.Network
	// Trace, if not nil, is called at every stage of a run, so that a test can stop the program at a stage.
	Trace func(stage string)
}

// bar returns the writer for progress bars. Field unfinished is true while a progress bar or a prompt occupies
// the current line.
func (a *app) bar() io.Writer {
	if a.screen != nil {
		return a.screen.Writer
	}
	return a.stderr
}

func (a *app) unfinished(yes bool) {
	if a.screen != nil {
		a.screen.unfinished.Store(yes)
	}
}
