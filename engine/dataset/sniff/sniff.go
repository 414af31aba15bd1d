// Package sniff detects the format of a file from its first bytes and its name.
package sniff

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine/dataset/arff"
	"dyad/engine/dataset/array"
	"dyad/engine/dataset/schema"
)

// OtherSheet recognises spreadsheets that are not supported, and returns the rule that such a file
// breaks. They are OpenDocument spreadsheets, and workbooks from before Excel 2007 or with a
// password. For all other files, OtherSheet returns "".
func OtherSheet(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")): // a compound file (the format of .xls)
		return RuleExcel
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) &&
		bytes.Contains(head[:min(len(head), 128)], []byte("mimetypeapplication/vnd.oasis.opendocument")):
		return ruleODS
	}
	return ""
}

// workbookParts are names of parts in the archives of workbooks. Different programs write them in different orders.
var workbookParts = [...]string{"[Content_Types].xml", "_rels/.rels", "docProps/", "xl/"}

// excel reports whether a file is a workbook, judged by the name of the first part of its archive.
func excel(head []byte) bool {
	if len(head) < 30 || !bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return false
	}
	name := string(head[30:min(len(head), 30+int(binary.LittleEndian.Uint16(head[26:])))])
	return slices.ContainsFunc(workbookParts[:], func(part string) bool { return strings.HasPrefix(name, part) })
}

// Bytes is the number of bytes that are read from the beginning of a file to detect its format.
const Bytes = 4096

// Binary returns the format detected from the first bytes of a file, or "" if no format matches.
func Binary(head []byte) string {
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

// Text distinguishes ARFF, JSON lines and CSV, first by the file extension and then by the content.
func Text(name string, head []byte) string {
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

// The rules of unsupported spreadsheets.
const (
	RuleExcel = "the file is a workbook from before Excel 2007, or has a password; save it as .xlsx without a " +
		`password, or as "CSV UTF-8"`
	ruleODS = "the file is an OpenDocument spreadsheet; save it as .xlsx, or save the sheet as CSV in UTF-8"
)
