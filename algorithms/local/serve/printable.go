package serve

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPrinted is the largest number of bytes of untrusted text in a message.
const maxPrinted = 300

// Printable makes untrusted text safe for a terminal. It returns one line of ASCII of bounded length. All
// other characters become Go escapes. So the text cannot move the cursor or look like a line of this program.
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

// foreignError is an error with untrusted text.
type foreignError struct{ error }

func (e foreignError) Error() string { return Printable(e.error.Error()) }

func (e foreignError) Unwrap() error { return e.error }

// asForeign marks err as untrusted. nil stays nil.
func asForeign(err error) error {
	if err == nil {
		return nil
	}
	return foreignError{err}
}
