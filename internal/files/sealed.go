package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"dyad/internal/input"
)

// Damaged adds "is damaged" to an error about the content of a file. It returns nil for nil.
func Damaged(err error) error {
	if err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	return nil
}

// ErrChanged is the error of a check whose file does not match its seal.
var ErrChanged = errors.New("was changed after it was written: its checksum does not match; use the unchanged file")

// ReadChecked decodes a file of this program into the value at the pointer `into`, and copies its text to
// `text`. Then it calls check with the seal of the file. Errors name the file and are marked as input errors.
func ReadChecked(path, what string, into any, text io.Writer, check func(*Seal) error) error {
	var missing *fs.PathError
	seal := NewSeal()
	err := ReadJSON(path, MaxModelBytes, into, seal, text)
	switch {
	case errors.As(err, &missing):
		return input.Errorf("dyad: cannot read the %s: %w", what, err)
	case err != nil:
		err = fmt.Errorf("is not a %s that this program wrote, or was cut short: %v", what, err)
	default:
		err = check(seal)
	}
	if err != nil {
		return input.Errorf("dyad: %s %w", path, err)
	}
	return nil
}
