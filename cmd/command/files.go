package command

import (
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

// checkOut is files.NewOutput for its error.
func checkOut(path string, force bool, inputs ...string) error {
	_, err := files.NewOutput(path, force, inputs...)
	return err
}

// checkEndings refuses, before anything is read or charged, output files whose names end as another format. A flag
// tagged "writes" names one, and its tag is a files.Content.
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

// readModel reads a model whose verdict is known: that this program wrote a moment ago, or that judgeStarts has judged.
func readModel(path string) (*model, error) { return lib.Load(path) }

// log tells this program's hooks and its user.
func (a *app) log() files.Log {
	return files.Log{Trace: a.at, Note: a.remark}
}

func (a *app) remark(text string) { a.note("%s", message(errors.New(text))) }

// saveModel keeps and names a model that no ledger waits for, and returns its name.
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

// printModel saves a model that no disk takes: time was paid for it.
func (a *app) printModel(m *model, cause error) error {
	text, err := m.Text()
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	if err != nil {
		return fmt.Errorf("the model is lost: %w", errors.Join(cause, err))
	}
	return fmt.Errorf("%w\nthe model was written to standard output instead; save it", cause)
}

// asResult advises the user about a model that is saved elsewhere than asked.
func asResult(err error) error {
	var e *lib.ElsewhereError
	if errors.As(err, &e) && e.Run != "" {
		return fmt.Errorf("%w; the same command with --resume %s gives the file the name that you asked for, at no cost", err, e.Run)
	}
	return err
}

// isElsewhere reports whether a model is saved under another name than asked for.
func isElsewhere(err error) bool {
	var e *lib.ElsewhereError
	return errors.As(err, &e)
}

// needsMemory refuses a model that this machine cannot hold while it trains.
func (a *app) needsMemory(params int) error { return memory.Check(params, a.hooks.memory) }

// forced adds to an error about a file that is there what the program offers.
func forced(text string) string {
	taken := lib.ErrTaken.Error()
	return strings.Replace(text, taken, taken+", or --force to replace it", 1)
}
