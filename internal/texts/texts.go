// Package texts checks the texts of files that may come from anybody.
package texts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyad/engine/dataset"
)

// Texts of a file are for people and other programs, and a file may come from anybody. Each text has at most mostText
// bytes, in UTF-8, and no control character except a tab and the end of a line. Texts that programs compare must
// match a shape, which depends on their key. The schema has its own rules (dataset.Schema.Validate).
const mostText = 1 << 16

// shape is a limit on the number of characters of a text and a class that all of them must belong to. A count in
// the regular expression would be compiled at each start.
type shape struct {
	most int
	of   *regexp.Regexp
}

// phrase is one line without quotation marks, backslashes and markup. Apostrophes are allowed, because texts about
// individuals contain them.
var phrase = shape{1000, regexp.MustCompile("^[^\"\\\\<>`\n\t]*$")}

var shapes = map[string]shape{
	"dyad_version": {64, regexp.MustCompile(`^[0-9A-Za-z.+-]*$`)},
	"run":          {64, regexp.MustCompile(`^[0-9A-Za-z.-]*$`)},
	"task":         {64, regexp.MustCompile(`^[a-z]*$`)},
	"algorithm":    {64, regexp.MustCompile(`^[0-9a-z-]*$`)},
	"unit":         phrase,
	"relation":     phrase,
	"released":     phrase,
}

// Check returns an error if a text in a file is longer than allowed or contains characters that are not allowed for
// its key. The argument v is the content of the file, without its weights and its encoder.
func Check(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return textsOf(d, "", "")
}

// textsOf checks the next value of d, which has a path and a key.
func textsOf(d *json.Decoder, path, key string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case string:
		return checkText(path, key, t)
	case json.Delim:
		for d.More() {
			inner := key // of a list, for its elements
			if t == '{' {
				token, err := d.Token()
				if err != nil {
					return err
				}
				inner, _ = token.(string)
				if err := checkText(path+" (a key)", "", inner); err != nil {
					return err
				}
			}
			if err := textsOf(d, strings.TrimPrefix(path+"."+inner, "."), inner); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

// checkText checks one text. Its error does not repeat the text, because a terminal might interpret it.
func checkText(path, key, text string) error {
	switch shape := shapes[key]; {
	case len(text) > mostText || !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		return fmt.Errorf("%.80q has more than %d bytes, or characters that are not text", path, mostText)
	case strings.HasPrefix(path, "options."): // of the command, which nothing reads
	case key == "data_id" && text != "" && !dataset.IsDataID(text):
		return fmt.Errorf("%.80q does not consist of 1 to 128 letters, digits, dots, hyphens or underscores", path)
	case shape.of != nil && (utf8.RuneCountInString(text) > shape.most || !shape.of.MatchString(text)):
		return fmt.Errorf("%.80q is too long, or has characters that are not allowed here", path)
	}
	return nil
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
