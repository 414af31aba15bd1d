//go:build !unix

package pages

import (
	"errors"
	"os"
)

// mapped fails: File reads instead.
func mapped(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }
