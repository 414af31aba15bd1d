package dataset

import (
	"path/filepath"

	"dyad/engine/dataset/images"
	"dyad/engine/dataset/source"
)

// readImage reads a file that is one row. Its label is the name of the folder that contains the file, as usual for
// trees of images. If labels are not required and the folder's name is not a class, the row has no label.
func (t *table) readImage(in *source.Input, u *source.Unpacked) error {
	var m marks
	if t.o.Labels != LabelsIgnored {
		path, err := filepath.Abs(in.Name)
		if err != nil {
			return err
		}
		m.label = []byte(filepath.Base(filepath.Dir(path)))
		if _, rule := t.e.EncodeLabel(m.label); rule != "" && t.o.Labels == LabelsOptional {
			m.label = nil
		}
	}
	x := make([]float64, t.e.Dim())
	if err := images.Read(in.Name, u, x); err != nil {
		return err
	}
	t.hasLabels = m.label != nil
	t.allocate(source.Sizes{Rows: 1, Bytes: in.Size}, len(x))
	return t.addArrayRow(0, m, func() error { return t.addNumbers(1, x) })
}
