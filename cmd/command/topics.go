package command

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed topics/words.txt
var wordsTopic string

//go:embed topics/choosing.txt
var choosingTopic string

// topic is a page that "dyad help NAME" prints.
type topic struct{ name, title, text string }

func topics() []topic {
	return []topic{
		{"words", "what the words of reports mean", wordsTopic},
		{"choosing", "epsilon, delta, ranges and n, and what they cost", choosingTopic},
		{"exits", "exit codes, for scripts", exitList("", "\t", "\n")},
	}
}

// helpTopic prints the page of a name, and says whether there is one.
func helpTopic(w io.Writer, name string) bool {
	all := topics()
	i := slices.IndexFunc(all, func(t topic) bool { return t.name == name })
	if i >= 0 {
		fmt.Fprint(w, all[i].text)
	}
	return i >= 0
}

// topicList is a line for each page.
func topicList() string {
	var b strings.Builder
	for _, t := range topics() {
		fmt.Fprintf(&b, "dyad help %s: %s\n\n", t.name, t.title)
	}
	return strings.TrimSuffix(b.String(), "\n\n")
}
