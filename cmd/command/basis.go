package command

import (
	"fmt"
	"strings"

	lib "dyad"
	"dyad/engine"
	"dyad/engine/dataset"
)

// readBy reads the data of a training by a schema.
type readBy func(*dataset.Schema) (*dataset.Dataset, error)

// basisChooser names the basis of a schema with basis: auto.
type basisChooser func(*dataset.Schema, readBy) (*dataset.Schema, error)

// chooseBasis reads the data once for the number of records to train with, which the choice depends on.
func (c *trainCmd) chooseBasis(s *dataset.Schema, read readBy) (chosen *dataset.Schema, line string, err error) {
	d, err := read(s.WithBasis(dataset.BasisNone))
	if err != nil {
		return nil, "", err
	}
	train, _, err := c.split(lib.NewData(d))
	if err != nil {
		return nil, "", err
	}
	return c.basisFor(s, train.Shape().Records)
}

// basisFor returns the schema with the basis for n records, and a line about the choice.
func (f *planFlags) basisFor(s *dataset.Schema, n int) (chosen *dataset.Schema, line string, err error) {
	o, err := f.decided(engine.Assertion{})
	if err != nil {
		return nil, "", err
	}
	chosen, reason, err := o.ChooseBasis(s, n)
	if err != nil {
		return nil, "", err
	}
	return chosen, fmt.Sprintf("%s, chosen by auto: %s", chosen.Basis, reason), nil
}

// plannedBasis is basisFor the number of records of a plan, which notes the line.
func (c *plannedFlags) plannedBasis(a *app, s *dataset.Schema, f *planFlags) (*dataset.Schema, error) {
	if s.Basis != dataset.BasisAuto {
		return s, nil
	}
	chosen, line, err := f.basisFor(s, c.N)
	if err == nil {
		a.note("dyad: basis %s", line)
	}
	return chosen, err
}

// writeBasis writes the choice of auto.
func (r *trainResult) writeBasis(b *strings.Builder) {
	if r.Basis != "" {
		line(b, "basis", "%s", r.Basis)
	}
}
