package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	lib "dyad"
	"dyad/engine/metrics"
	"dyad/internal/files"
	"dyad/internal/memory"
	"dyad/privacy/durable"
)

type (
	model      = lib.Model
	evaluation = metrics.Evaluation
)

const (
	taskAUC    = lib.AUC
	taskMetric = lib.Metric
)

// checkOut returns the error of files.NewOutput.
func checkOut(path string, force bool, inputs ...string) error {
	_, err := files.NewOutput(path, force, inputs...)
	return err
}

// checkEndings returns an error if the name of an output file has the ending of another format. It is called
// before anything is read or charged. Flags tagged "writes" name output files, and the tag is a files.Content.
func checkEndings(command *kong.Context) error {
	for _, f := range command.Flags() {
		if f.Tag.Has("writes") {
			if err := files.CheckEnding(f.Target.String(), files.Content(f.Tag.Get("writes"))); err != nil {
				return err
			}
		}
	}
	return nil
}

// readModel reads a model that was already judged: a model that this program has just written, or a model judged by
// judgeStarts.
func readModel(path string) (*model, error) { return lib.Load(path) }

// log returns a log that informs the hooks and the user.
func (a *app) log() files.Log {
	return files.Log{Trace: a.at, Note: a.remark}
}

func (a *app) remark(text string) { a.note("%s", message(errors.New(text))) }

// saveModel stores and names a model that is not charged to a ledger, and returns its name.
func (a *app) saveModel(m *model, path string, force bool) (string, error) {
	name, err := durable.Resolve(path)
	if err != nil {
		return "", a.printModel(m, err)
	}
	text, most, err := m.Size()
	if err != nil {
		return "", err
	}
	name, err = a.log().Save(text, most, &files.Output{Asked: path, Path: name, Force: force})
	if name == "" {
		return "", a.printModel(m, err)
	}
	return name, asResult(err)
}

// printModel prints a model that cannot be written to a disk, because its training took time.
func (a *app) printModel(m *model, cause error) error {
	text, err := m.Text()
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	if err != nil {
		return fmt.Errorf("the model is lost: %w", errors.Join(cause, err))
	}
	return fmt.Errorf("%w\nthe model was written to standard output instead; save this output", cause)
}

// asResult adds advice to the error about a model that was saved elsewhere than requested.
func asResult(err error) error {
	var e *lib.ElsewhereError
	if errors.As(err, &e) && e.Run != "" {
		return fmt.Errorf("%w; to get the requested name at no cost, repeat the command with --resume %s", err,
			e.Run)
	}
	return err
}

// isElsewhere reports whether err means that a model was saved under another name than requested.
func isElsewhere(err error) bool {
	var e *lib.ElsewhereError
	return errors.As(err, &e)
}

// needsMemory returns an error if this machine does not have enough memory to train a model.
func (a *app) needsMemory(params int) error { return memory.Check(params, a.hooks.memory) }

// forced adds the program's option --force to an error about an existing file.
func forced(text string) string {
	taken := lib.ErrTaken.Error()
	return strings.Replace(text, taken, taken+", or --force to replace it", 1)
}

func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}
