package command

import (
	"errors"
	"fmt"

	"dyad/internal/files"
	"dyad/privacy/ledger"
)

type ledgerKeyCmd struct{ ledgerFlag }

// Run prints the public key.
func (c *ledgerKeyCmd) Run(a *app) error {
	l, path, err := c.open(ledger.Options{})
	if err != nil {
		return err
	}
	key, err := l.CreateKey()
	if err != nil {
		return err
	}
	return a.emit(map[string]any{"ledger": path, "key": key.String()}, key.String()+"\n")
}

type ledgerSignCmd struct {
	File string `arg:"" help:"Released file of a run in the ledger."`
	ledgerFlag
}

// Run signs the head of the ledger.
func (c *ledgerSignCmd) Run(a *app) error {
	l, path, err := c.openExisting(ledger.Options{})
	if err != nil {
		return err
	}
	name, err := files.Sign(l, c.File)
	switch {
	case errors.Is(err, ledger.ErrNoKey), errors.Is(err, ledger.ErrResume):
		return badInput("%s is not signed: %v", c.File, err)
	case err != nil:
		return asInput(err)
	}
	return a.emit(map[string]any{"ledger": path, "signature": name},
		fmt.Sprintf("%s is the signature of %s\n", name, c.File))
}
