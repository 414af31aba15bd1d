package tree

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyad/internal/must"
)

// dialect are forms that condense two sentences into one or point elsewhere instead of naming a subject (docs/style.md).
// A limit is for 10,000 words of comments, pages and messages together: twice the rate of gonum in a count of November 2026.
var dialect = []struct {
	name  string
	form  *regexp.Regexp // nil: a sentence of more than 45 words
	limit float64
}{
	{"X is that of Y", regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|from) (?:that|those) of\b`), 0.03}, // gonum has none; one sentence here is part of plans that were charged
	{"says what", regexp.MustCompile(`(?i)\bsays? (?:that|what|how)\b`), 0.2},
	{"a sentence above 45 words", nil, 6.4}, // 14.6 by that count; it only falls
	{"nobody is", regexp.MustCompile(`(?i)\b(?:nobody|nothing) (?:is|are|was)\b`), 0.2},
	{"of which", regexp.MustCompile(`(?i)\bof (?:which|whom)\b`), 0.4},
	{"a subject who or what", regexp.MustCompile(`(?:^|[.;:] )(?:Who [a-z]+|What (?:[a-z]+s|[a-z]+ed|is|are|has|was|were) )`), 0},
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
	counts, words := make([]int, len(dialect)), 0
	count := func(where, text string) {
		before := slices.Clone(counts)
		words += english(text, counts)
		for i, d := range dialect {
			if d.limit < 1 && counts[i] > before[i] {
				t.Logf("%s: %q", where, d.name)
			}
		}
	}
	for s := range sources(t) {
		if !strings.HasPrefix(s.name, "bench/") {
			prose(s.file, func(line int, text string) { count(fmt.Sprint(s.name, ":", line), text) })
		}
	}
	pages := slices.Concat(must.Get(filepath.Glob("docs/*.md"))(t), must.Get(filepath.Glob("cmd/command/topics/*.txt"))(t), []string{"README.md"})
	for _, name := range pages {
		if filepath.Base(name) == "style.md" || filepath.Base(name) == "commands.md" { // quotes; generated from messages
			continue
		}
		for i, part := range strings.Split(string(must.Get(os.ReadFile(name))(t)), "```") {
			if i%2 == 0 {
				count(name, part)
			}
		}
	}
	for i, d := range dialect {
		if rate := math.Round(1e6*float64(counts[i])/float64(words)) / 100; rate > d.limit {
			t.Errorf("%q: %d, %.2f of 10,000 words, and at most %v are allowed: write subject, verb, object", d.name, counts[i], rate, d.limit)
		} else {
			t.Logf("%q: %d, %.2f of 10,000 words", d.name, counts[i], rate)
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
