package dataset

import (
	"archive/zip"

	"dyad/engine/dataset/array"
	"dyad/engine/dataset/source"
)

// readNPZ reads the arrays of an archive.
func readNPZ(t *table, in *source.Input) error {
	z, err := zip.NewReader(in.At, in.Size)
	if err != nil {
		return t.errorf(0, "", 0, array.RuleBadZip)
	}
	names := t.e.Schema().ArraysOf()
	var m marks
	if t.o.Labels != LabelsIgnored {
		if m.y, err = t.memberVector(in, z, names.Y, t.o.Labels == LabelsRequired, t.e.LabelColumn.Name); err != nil {
			return err
		}
	}
	if t.e.GroupColumn != nil {
		if m.group, err = t.memberIDs(in, z, names.Group, true, t.e.GroupColumn.Name); err != nil {
			return err
		}
	}
	if t.people != nil {
		if m.person, err = t.memberIDs(in, z, names.Person, !t.o.AnyPersons, t.e.PersonColumn.Name); err != nil {
			return err
		}
	}
	if t.e.Schema().Sparse {
		return t.readCSR(in, z, m)
	}
	x, closer, err := array.OpenMember(in, z, names.X, true, "")
	if err != nil {
		return err
	}
	defer closer()
	return t.addArrays(x, m)
}

// npzSizes returns the sizes of an archive from the header of one array.
func (t *table) npzSizes(in *source.Input) (source.Sizes, error) {
	z, err := zip.NewReader(in.At, in.Size)
	if err != nil {
		return source.Sizes{}, t.errorf(0, "", 0, array.RuleBadZip)
	}
	name, extra := t.e.Schema().ArraysOf().X, 0
	if t.e.Schema().Sparse {
		name, extra = "indptr", 1 // indptr has one additional entry for the end of the last row
	}
	a, closer, err := array.OpenMember(in, z, name, true, "")
	if err != nil {
		return source.Sizes{}, err
	}
	closer()
	return source.Sizes{Rows: a.Rows - extra, Bytes: a.Size}, nil
}
