package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"dyad/engine"
	"dyad/engine/dataset"
)

// readBy reads the data of a training with a schema.
type readBy func(*dataset.Schema) (*dataset.Dataset, error)

// readChosen reads data whose schema leaves the basis to training. It first reads the data without a basis to find the
// number of training records. If a basis is then chosen, it reads the data again. line names the choice and the reason.
// It is "" if the schema does not have the key and no basis is chosen.
func (c *trainCmd) readChosen(s *dataset.Schema, read readBy) (d *dataset.Dataset, line string, err error) {
	narrow := s.Decided()
	if d, err = read(narrow); err != nil || s.Basis == "" && !c.Data.again() {
		return d, "", err
	}
	n := d.Records.Units()
	if fraction := c.fraction(); fraction > 0 {
		keep, _, err := dataset.Split(n, 1-fraction, c.SplitSeed)
		if err != nil {
			return nil, "", asInput(err)
		}
		n = len(keep)
	}
	chosen, line, err := c.basisFor(s, n, d.Records.Units())
	if err != nil || chosen.Basis == narrow.Basis {
		return d, line, err
	}
	d = nil // frees memory for the second reading
	d, err = read(chosen)
	return d, line, err
}

// again reports whether the files can be read twice and are not already encoded.
func (f dataFiles) again() bool {
	return !slices.ContainsFunc(f.names, func(name string) bool {
		i, err := os.Stat(name)
		return err == nil && !i.IsDir() && (!i.Mode().IsRegular() || dataset.IsPack(name))
	})
}

// basisFor returns the schema with the basis for n training records. all is the number of records to encode. line
// describes the choice; it is "" if the schema does not have the key and no basis is chosen.
func (f *planFlags) basisFor(s *dataset.Schema, n, all int) (chosen *dataset.Schema, line string, err error) {
	var reason string
	o, err := f.decided(engine.Assertion{})
	if err == nil {
		chosen, reason, err = o.ChooseBasis(s, n)
	}
	if none := s.Decided(); err == nil && chosen.Basis != none.Basis && all > n {
		if whole, why, problem := o.ChooseBasis(s, all); problem == nil && whole.Basis == none.Basis {
			chosen, reason = whole, why
		}
	}
	switch {
	case s.Basis == "" && (err != nil || chosen.Basis == ""): // errors of these options are reported by their plan
		return s, "", nil
	case err != nil:
		return nil, "", err
	}
	return chosen, fmt.Sprintf("%s, chosen by auto: %s", chosen.Basis, reason), nil
}

// plannedBasis is like basisFor and shows the line to the user.
func (f *planFlags) plannedBasis(a *app, s *dataset.Schema, n, all int) (*dataset.Schema, error) {
	if s.Basis != "" && s.Basis != dataset.BasisAuto {
		return s, nil
	}
	chosen, line, err := f.basisFor(s, n, all)
	if line != "" {
		a.note("dyad: basis %s", line)
	}
	return chosen, err
}

// writeBasis reports the basis chosen by auto.
func (r *trainResult) writeBasis(b *strings.Builder) {
	if r.Basis != "" {
		line(b, "basis", "%s", r.Basis)
	}
	for _, p := range r.Pairs {
		line(b, "pair", "%s, chosen in private", strings.Join(p, " * "))
	}
}
