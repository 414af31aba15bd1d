package dataset

import (
	"slices"

	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/sniff"
	"dyad/engine/dataset/source"
)

// formatOf returns the format of a file that begins with head. A format named by the schema is used without a
// guess. It is an error if the file is clearly of another format, or if its rows would be encoded in another
// way than the schema describes.
func formatOf(s *schema.Schema, name string, head []byte) (string, error) {
	if rule := sniff.OtherSheet(head); rule != "" {
		return "", &source.ParseError{File: name, Rule: rule}
	}
	found := sniff.Binary(head)
	named := found == "" || found == schema.FormatParquet || found == schema.FormatXLSX
	wrong := func() error {
		return &source.ParseError{File: name, Rule: "the file is of format " + found +
			", but the schema has another format; set format: " + found +
			" and that format's keys in the schema, or give another file"}
	}
	switch {
	case s.Format != "":
		if found != "" && found != s.Format {
			return "", wrong()
		}
		return s.Format, nil
	case s.ByIndex() && found == "":
		return schema.FormatLIBSVM, nil
	case s.ByIndex():
		if named || !s.Dense {
			return "", wrong()
		}
		return found, nil
	case !named:
		return "", wrong()
	case found == schema.FormatXLSX:
		return found, nil
	case !s.CSV.IsZero() || slices.ContainsFunc(s.Columns, func(c schema.Column) bool { return c.Position != 0 }):
		if found != "" {
			return "", wrong()
		}
		return schema.FormatCSV, nil
	case found != "":
		return found, nil
	}
	return sniff.Text(name, head), nil
}
