package serve

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"dyad/engine"
)

// The bounds of a loss from another program.
const (
	maxFormula = 1000 // bytes of a formula, and of each name
	maxParams  = 100
	// MaxOperations is the largest number of operations in a formula's slope. With it, a plan takes about a
	// second at most. The slopes of all library losses have at most 40 operations and take a millisecond.
	MaxOperations = 128
)

// loss builds the loss of a definition from another program. A server can spoil the model by its loss, but
// privacy does not depend on the loss. A gradient is clipped to the bound of the slope, and it is zero if it is
// not finite.
func (l Loss) loss() (engine.MarginLoss, error) {
	names := []string{l.Name, l.Formula}
	for k := range l.Params {
		names = append(names, k)
	}
	for _, name := range names {
		if len(name) > maxFormula || len(l.Params) > maxParams {
			return nil, fmt.Errorf("serve: the definition of the server's loss is longer than %d bytes, or has more than "+
				"%d parameters", maxFormula, maxParams)
		}
		for _, r := range name {
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				return nil, errors.New("serve: the server's loss has characters that cannot be printed")
			}
		}
	}
	s, err := engine.NewSlope(l.Name, l.Formula, engine.ExpressionOptions{Params: l.Params, Clip: l.Clip}, MaxOperations)
	if err != nil {
		return nil, fmt.Errorf("serve: the server's loss: %w", err)
	}
	return s, nil
}
