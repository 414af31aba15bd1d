package tree

import (
	"go/ast"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dyad/internal/must"
)

// dialect are forms that condense two sentences into one or point elsewhere instead of naming a subject (docs/style.md).
// The aim is twice the rate of gonum for every 10,000 words of comments; a limit is the rate of today and only falls.
var dialect = []struct {
	name            string
	form            *regexp.Regexp // nil: a sentence of more than 45 words
	aim             float64
	comments, texts float64 // limits for comments of Go files, and for pages and messages
}{
	{"X is that of Y", regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|from) (?:that|those) of\b`), 0, 0.5, 1.8},
	{"says what", regexp.MustCompile(`(?i)\bsays? (?:that|what|how)\b`), 0.2, 0.3, 1.6},
	{"a sentence above 45 words", nil, 14.6, 10.3, 21},
	{"nobody is", regexp.MustCompile(`(?i)\b(?:nobody|nothing) (?:is|are|was)\b`), 0.2, 0.1, 3.8},
	{"of which", regexp.MustCompile(`(?i)\bof (?:which|whom)\b`), 0.4, 0, 0.2},
	{"a subject who or what", regexp.MustCompile(`(?:^|[.;:] )(?:Who [a-z]+|What (?:[a-z]+s|[a-z]+ed|is|are|has|was|were) )`), 0, 0, 0.8},
}

var sentenceEnd = regexp.MustCompile(`[.!?]\s+`)

// item begins a row of a table or of a list, which ends the sentence before it.
var item = regexp.MustCompile(`^(?:\||[-*] |[0-9]+\. )`)

// english counts the words of a text without its code, and each form of the dialect.
func english(text string, counts []int) (words int) {
	var block []string
	flush := func() {
		plain := strings.Join(strings.Fields(strings.Join(block, " ")), " ")
		block = block[:0]
		words += len(strings.Fields(plain))
		for i, d := range dialect {
			if d.form != nil {
				counts[i] += len(d.form.FindAllString(plain, -1))
				continue
			}
			for _, sentence := range sentenceEnd.Split(plain, -1) {
				if len(strings.Fields(sentence)) > 45 {
					counts[i]++
				}
			}
		}
	}
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || item.MatchString(trimmed) {
			flush()
		}
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "   ") {
			block = append(block, trimmed)
		}
	}
	flush()
	return words
}

// TestEnglish bounds how often comments, pages and messages use the forms of the dialect.
func TestEnglish(t *testing.T) {
	t.Chdir("../..")
	comments, texts := make([]int, len(dialect)), make([]int, len(dialect))
	var inComments, inTexts int
	must.Do(t, goSources(".", func(name string, files *token.FileSet, f *ast.File) error {
		if strings.HasPrefix(name, "bench/") {
			return nil
		}
		for _, c := range f.Comments {
			inComments += english(c.Text(), comments)
		}
		code := *f
		code.Comments = nil
		prose(files, &code, func(_ int, text string) { inTexts += english(text, texts) })
		return nil
	}))
	pages := must.Get(filepath.Glob("docs/*.md"))(t)
	for _, name := range append(pages, "README.md") {
		if filepath.Base(name) == "style.md" || filepath.Base(name) == "commands.md" { // quotes; generated from messages
			continue
		}
		text := must.Get(os.ReadFile(name))(t)
		for i, part := range strings.Split(string(text), "```") {
			if i%2 == 0 {
				inTexts += english(part, texts)
			}
		}
	}
	for i, d := range dialect {
		rate := func(count, words int) float64 { return math.Round(1e6*float64(count)/float64(words)) / 100 }
		c, x := rate(comments[i], inComments), rate(texts[i], inTexts)
		t.Logf("%s: %d (%.2f of 10,000 words) in comments, %d (%.2f) in pages and messages; aim %.1f", d.name, comments[i], c, texts[i], x, d.aim)
		if c > d.comments || x > d.texts {
			t.Errorf("%q: %.2f of 10,000 words in comments (limit %v), %.2f in pages and messages (limit %v): write subject, verb, object", d.name, c, d.comments, x, d.texts)
		}
	}
}

// The forms are found in comments as they are written, and English and code are let be.
func TestEnglishFindsTheDialect(t *testing.T) {
	t.Chdir("../..")
	for i, bad := range []string{"Name is that\nof phi.", "Report says what\nwas seen.", strings.Repeat("word ", 46) + ".", "It ends and nothing\nis charged.", "two rows, of\nwhich one counts", "It ends. Who asks gets it."} {
		counts := make([]int, len(dialect))
		if words := english(bad+"\n\n\tcode says that\n", counts); counts[i] != 1 || words != len(strings.Fields(bad)) {
			t.Errorf("%q: %v, %d words", bad, counts, words)
		}
	}
	counts := make([]int, len(dialect))
	english("Name returns the name of phi. It reports whether a run was charged.", counts)
	for i, c := range counts {
		if c != 0 {
			t.Errorf("English counts as %q", dialect[i].name)
		}
	}
}
