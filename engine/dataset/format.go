package dataset

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/dataset/arff"
	"dyad/engine/dataset/array"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// otherSheets is the rule that a spreadsheet of another kind breaks, "" for all other files.
func otherSheets(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")): // a compound file
		return ruleExcel
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) && bytes.Contains(head[:min(len(head), 128)], []byte("mimetypeapplication/vnd.oasis.opendocument")):
		return ruleODS
	}
	return ""
}

// workbookParts are names in the archives of workbooks. Writers put them in different orders.
var workbookParts = [...]string{"[Content_Types].xml", "_rels/.rels", "docProps/", "xl/"}

// excel says that a file is a workbook by the name of the first part of its archive.
func excel(head []byte) bool {
	if len(head) < 30 || !bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return false
	}
	name := string(head[30:min(len(head), 30+int(binary.LittleEndian.Uint16(head[26:])))])
	return slices.ContainsFunc(workbookParts[:], func(part string) bool { return strings.HasPrefix(name, part) })
}

// sniffBytes is how much of a file is looked at to find its format.
const sniffBytes = 4096

// binaryFormat recognises a format by its first bytes; "" if none matches.
func binaryFormat(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return schema.FormatParquet
	case excel(head):
		return schema.FormatXLSX
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return schema.FormatNPY
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return schema.FormatNPZ
	case array.IsIDX(head):
		return schema.FormatIDX
	}
	return ""
}

// textFormat tells ARFF and JSON lines from CSV, by the extension first and then
// by the content.
func textFormat(name string, head []byte) string {
	name = strings.ToLower(filepath.Base(name))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch filepath.Ext(name) {
	case ".arff":
		return schema.FormatARFF
	case ".jsonl", ".ndjson":
		return schema.FormatJSONL
	case ".csv", ".tsv":
		return schema.FormatCSV
	}
	head = bytes.TrimPrefix(head, []byte{0xef, 0xbb, 0xbf})
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '%':
		case line[0] == '{':
			return schema.FormatJSONL
		case arff.HasWord(line, "@relation"), arff.HasWord(line, "@attribute"):
			return schema.FormatARFF
		default:
			return schema.FormatCSV
		}
	}
	return schema.FormatCSV
}

// formatOf is the format of a file that begins with head. A schema that names
// its format is believed, but a file that is clearly another one is an error,
// and so is a format that would be encoded differently than the schema says.
func formatOf(s *schema.Schema, name string, head []byte) (string, error) {
	if rule := otherSheets(head); rule != "" {
		return "", &source.ParseError{File: name, Rule: rule}
	}
	found := binaryFormat(head)
	named := found == "" || found == schema.FormatParquet || found == schema.FormatXLSX
	wrong := func() error {
		return &source.ParseError{File: name, Rule: "the file is of format " + found + ", the schema is not; set format: " + found + " in the schema (with the keys of that format), or give another file"}
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
	case !s.CSV.IsZero() || hasPositions(s):
		if found != "" {
			return "", wrong()
		}
		return schema.FormatCSV, nil
	case found != "":
		return found, nil
	}
	return textFormat(name, head), nil
}

func hasPositions(s *schema.Schema) bool {
	for _, c := range s.Columns {
		if c.Position != 0 {
			return true
		}
	}
	return false
}
