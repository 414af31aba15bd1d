//go:build !unix

package pages

import (
	"errors"
	"os"
)

// mapped returns an error, so File reads the file instead.
func mapped(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }
