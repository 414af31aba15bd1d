package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dyad/privacy/ledger"
)

// stateDir returns the default folder of the ledger: $XDG_STATE_HOME/dyad, or ~/.local/state/dyad.
func stateDir() (string, error) {
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "dyad"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%w: there is no home folder for the ledger (%v); name a file with --ledger FILE or set "+
			"XDG_STATE_HOME", ledger.ErrUnavailable, err)
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
		a.note("dyad: a new ledger was made: %s; it has no earlier charges and no cap", path)
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// openExisting opens a ledger and does not create one.
func (f ledgerFlag) openExisting(o ledger.Options) (*ledger.Ledger, string, error) {
	if path, err := f.path(); err == nil && !exists(path) {
		return nil, "", noLedger(path)
	}
	return f.open(o)
}

// noLedger returns an error if there is no ledger at path.
func noLedger(path string) error {
	return badInput("there is no ledger at %s; the first private run makes one", path)
}
