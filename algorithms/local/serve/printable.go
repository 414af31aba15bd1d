package serve

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPrinted bounds the text of somebody else in a message, in bytes.
const maxPrinted = 300

// Printable is text of somebody who is not trusted, fit for a terminal: one line of ASCII
// of bounded length, everything else as escapes of Go, so that it can neither move the
// cursor, nor look like a line of this program.
func Printable(text string) string {
	cut := ""
	if len(text) > maxPrinted {
		end := maxPrinted
		for end > maxPrinted-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text, cut = text[:end], "..."
	}
	quoted := strconv.QuoteToASCII(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + cut
}

// foreignError is an error with text of somebody who is not trusted.
type foreignError struct{ error }

func (e foreignError) Error() string { return Printable(e.error.Error()) }

func (e foreignError) Unwrap() error { return e.error }

// asForeign marks err; nil stays nil.
func asForeign(err error) error {
	if err == nil {
		return nil
	}
	return foreignError{err}
}
