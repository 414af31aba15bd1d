package tree

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"dyad/internal/must"
)

// banned are the phrases that docs/style.md bans, with what to write instead.
var banned = []struct {
	name, instead string
	form          *regexp.Regexp
	// fine, if not nil, matches the text around a match that is English after all.
	fine *regexp.Regexp
}{
	{"is none", "say what it is, or use not", regexp.MustCompile(`\b(?:is|are|was|were) none\b`), regexp.MustCompile(`(?i)there (?:is|are|was|were) none`)},
	{"is no X", "is not a X", regexp.MustCompile(`\b(?:is|are|was|were) no [a-z]+\b`),
		regexp.MustCompile(`(?i)\bthere (?:is|are|was|were) no\b|\bno (?:longer|more|less|fewer|larger|greater|smaller|better|worse|faster|slower|wider|later|lower|higher)\b`)},
	{"who without a person", "whoever, anyone who, users who", regexp.MustCompile(`(?:^|[.;:(] |\b(?:for|of|to|by|but|from|than|and|or|even|also|so|as|only) )[Ww]ho (?:asked|asks|can|could|got|has|have|holds|knew|knows|may|only|reads|runs|sees|takes|trains|uses|wants|works)\b`), nil},
	{"of which", "whose, with, or a sentence of its own", regexp.MustCompile(`\bof which\b`), regexp.MustCompile(`\b(?:each|all|both|none|one|some|most|any|two|half) of which\b`)},
	{"beside", "besides, next to, along with", regexp.MustCompile(`(?i)\bbeside\b`), nil},
	{"that many", "the number of, so many", regexp.MustCompile(`(?i)\bthat many\b`), nil},
	{"nothing to speak of", "negligible", regexp.MustCompile(`(?i)\bnothing to speak of\b`), nil},
	{"also if", "even if", regexp.MustCompile(`(?i)\balso if\b`), nil},
	{"noise rules", "noise dominates", regexp.MustCompile(`\bnoise rules\b`), nil},
	{"tell it from any other one", "the sentence of privacy.Guarantee.Sentences", regexp.MustCompile(`\bany other one with at most\b|\bhad been any other\b|\bguesses which of the two was used right\b`), nil},
}

// hits returns the banned phrases of a text.
func hits(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var found []string
	for _, b := range banned {
		for _, at := range b.form.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-40):min(len(text), at[1]+40)]
			near := text[max(0, at[0]-12):min(len(text), at[1]+12)]
			if b.fine != nil && b.fine.MatchString(near) {
				continue
			}
			found = append(found, fmt.Sprintf("%q (%s; write: %s)", around, b.name, b.instead))
		}
	}
	return found
}

// prose calls each for the comments of a Go file and for its strings of several words,
// which are messages, help and reports.
func prose(f *ast.File, each func(line int, text string)) {
	for _, c := range f.Comments {
		each(lineOf(c), c.Text())
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if text, ok := literal(n); ok {
			if strings.Contains(text, " ") {
				each(lineOf(n), text)
			}
			return false
		}
		return true
	})
}

// literal returns the text of a string literal, or of a sum of them, which a message of several lines is.
func literal(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, err == nil && n.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := literal(n.X)
		right, both := literal(n.Y)
		return left + right, ok && both && n.Op == token.ADD
	}
	return "", false
}

// wide returns the share of lines with more than 120 characters.
func wide(text string) float64 {
	all, long := 0, 0
	for line := range strings.Lines(text) {
		if all++; utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 120 {
			long++
		}
	}
	return float64(long) / float64(all)
}

// TestLinesAreNotWide: at most 5 lines of 1,000, without tests, have more than 120 characters.
func TestLinesAreNotWide(t *testing.T) {
	t.Chdir("../..")
	var text strings.Builder
	for s := range sources(t) {
		text.WriteString(s.text)
	}
	if got := wide(text.String()); got > 0.005 {
		t.Errorf("%.4f of all lines have more than 120 characters, want at most 0.005: break them after commas", got)
	}
	if got := wide(strings.Repeat("x", 120) + "\n" + strings.Repeat("x", 121) + "\n"); got != 0.5 {
		t.Errorf("one line of two is wide: %v", got)
	}
}

// TestStyle: documents, comments, help and messages have no banned phrase.
func TestStyle(t *testing.T) {
	t.Chdir("../..")
	add := func(name string, line int, text string) {
		for _, h := range hits(text) {
			t.Errorf("%s:%d: %s (docs/style.md)", name, line, h)
		}
	}
	pages := must.Get(filepath.Glob("docs/*.md"))(t)
	roots := must.Get(filepath.Glob("*.md"))(t)
	for _, name := range append(pages, roots...) {
		if path.Base(name) == "style.md" || path.Base(name) == "commands.md" { // quotes; generated from strings
			continue
		}
		text := must.Get(os.ReadFile(name))(t)
		line := 1
		for _, paragraph := range strings.SplitAfter(string(text), "\n\n") {
			add(filepath.ToSlash(name), line, paragraph)
			line += strings.Count(paragraph, "\n")
		}
	}
	for s := range sources(t) {
		prose(s.file, func(line int, text string) { add(s.name, line, text) })
	}
}

// The check catches the phrases that it is for, in comments and strings, and lets English be.
func TestStyleCatchesBannedPhrases(t *testing.T) {
	t.Chdir("../..")
	for _, bad := range []string{
		"the server's state is none of its protocol", "%s is no key of it", "Who has it can make all tokens.", "also for who knows the tokens", "only who got a token can take part",
		"ramp loss of which both hinges are envelopes", "Beside it lie files", "unless the GPU has that many\nbytes", "it is nothing\nto speak of",
		"charged, also if it ends", "where noise rules", "can tell it from any other one with at most 56 %",
	} {
		if len(hits(bad)) == 0 {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{
		"there is no key", "it is no longer there", "no more than that", "each of which is read once", "users who have two ids", "It says who has a file.",
		"somebody who knows the key", "besides the records", "at most that",
	} {
		if got := hits(good); got != nil {
			t.Errorf("%q is refused: %s", good, got)
		}
	}
	var lines []int
	prose(made(t, "x.go", "package x\n\n// A is no comment of\n// value.\nconst A = \"B is none of these\"\n").file, func(line int, text string) {
		if len(hits(text)) > 0 {
			lines = append(lines, line)
		}
	})
	if !slices.Equal(lines, []int{3, 5}) {
		t.Errorf("a comment and a string: found in lines %v", lines)
	}
}
