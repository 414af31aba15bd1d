package command

import (
	"context"
	"errors"
	"io/fs"

	"fmt"
	"strings"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/local/serve"
	"dyad/engine/cuda"
	"dyad/engine/team/mpi"
	"dyad/internal/files"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// The exit codes of every command. The Go runtime ends a dying program with exitDied, so no error of this
// program has this code.
const (
	exitOK        = 0
	exitFailure   = 1
	exitDied      = 2
	exitResource  = 3
	exitElsewhere = 4
	exitInput     = 64 // value of EX_USAGE in sysexits.h
	exitCancelled = 130
)

// exit is a way in which a command ends. The Python client uses the same name.
type exit struct {
	code          int
	name, meaning string
}

// exits returns all exits. The help, manual pages and documents are generated from this list or compared with it.
func exits() []exit {
	return []exit{
		{exitOK, "OK", "fine"},
		{exitFailure, "FAILURE", "failure or failed check; if standard error names a run, --resume continues this run"},
		{exitDied, "DIED", "the program died (for example, out of memory); see the ledger (dyad ledger show)"},
		{exitResource, "UNAVAILABLE", "device, budget or ledger unavailable"},
		{exitElsewhere, "ELSEWHERE", "the model is trained and charged, but its file has another name than requested"},
		{exitInput, "INPUT", "bad input, flag, schema or plan"},
		{exitCancelled, "CANCELLED", "cancelled; if standard error names a run, --resume continues this run"},
	}
}

// exitList returns all codes with their meanings, joined by the given texts.
func exitList(before, between, after string) string {
	var b strings.Builder
	for _, e := range exits() {
		fmt.Fprintf(&b, "%s%d%s%s%s", before, e.code, between, e.meaning, after)
	}
	return b.String()
}

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
	case errors.Is(err, ledger.ErrBudget), errors.Is(err, ledger.ErrUnavailable), errors.Is(err, account.ErrUnsupported),
		errors.Is(err, cuda.ErrUnavailable),
		errors.Is(err, mpi.ErrUnavailable), errors.Is(err, errUnavailable), errors.Is(err, files.ErrNowhere),
		errors.Is(err, serve.ErrAway):
		return exitResource
	case errors.Is(err, lib.ErrInput), errors.Is(err, algorithms.ErrAssumption), errors.Is(err, fs.ErrNotExist):
		return exitInput
	}
	return exitFailure
}
