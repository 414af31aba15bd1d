package command

import (
	"errors"
	"fmt"

	"dyad/internal/files"
	"dyad/privacy/ledger"
)

type ledgerKeyCmd struct{ ledgerFlag }

// Help returns a text that explains where the key is.
func (ledgerKeyCmd) Help() string {
	return `Prints the public key of the ledger, and draws the key if there is none: LEDGER.key, mode 0600, next to the ledger and never
in it. From then on every file that a private run releases gets a signature FILE.minisig, in the format of minisign, of its hash, its plan,
unit, epsilon and delta, and the ledger's chain up to its release. Whoever has the public key checks a file without the ledger:
"dyad verify FILE --key KEY". Give the public key to them by another way than the files. Keep LEDGER.key as the ledger:
whoever has it can sign any file.

Examples:
  dyad ledger key`
}

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
	File string `arg:"" help:"File that a run of the ledger released."`
	ledgerFlag
}

// Help returns a text that explains when a signature is needed.
func (ledgerSignCmd) Help() string {
	return `Signs a file that a run of the ledger released, if the file is older than the key or the run was stopped before it signed the
file. A file whose hash is not in the ledger, such as a changed file, is not signed.

Examples:
  dyad ledger sign model.json`
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
