package command

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"dyad/internal/must"
)

// A part of the grammar reads the command line of every command into the flags of the whole, and knows the names of all
// commands. A command line that names none gets the whole.
func TestGrammarKeepsWhatIsNamed(t *testing.T) {
	whole := must.Get(newParser(&cli{}, io.Discard, io.Discard))(t)
	flags := func(n *kong.Node) (names []string) {
		for _, group := range n.AllFlags(false) {
			for _, f := range group {
				names = append(names, f.Name)
			}
		}
		return names
	}
	at := func(p *kong.Kong, words []string) *kong.Node {
		node := p.Model.Node
		for _, w := range words {
			next := (*kong.Node)(nil)
			for _, child := range node.Children {
				if child.Type == kong.CommandNode && child.Name == w {
					next = child
				}
			}
			if node = next; node == nil {
				t.Fatalf("%v is not there", words)
			}
		}
		return node
	}
	for _, leaf := range whole.Model.Leaves(false) {
		words := strings.Fields(leaf.FullPath())[1:]
		var c cli
		into, _ := grammar(&c, words)
		p := must.Get(newParser(into, io.Discard, io.Discard))(t)
		if len(p.Model.Children) != len(whole.Model.Children) || into == any(&c) {
			t.Errorf("%v: %d commands of %d, or all of their flags", words, len(p.Model.Children), len(whole.Model.Children))
		}
		words = words[:min(len(words), depth(whole, words))]
		if got, want := strings.Join(flags(at(p, words)), " "), strings.Join(flags(at(whole, words)), " "); got != want {
			t.Errorf("%v has the flags %s, want %s", words, got, want)
		}
	}
	c := cli{}
	if into, _ := grammar(&c, []string{"--help"}); into != any(&c) {
		t.Error("a command line without a command gets a part")
	}
	into, settle := grammar(&c, []string{"--json", "version"})
	p := must.Get(newParser(into, io.Discard, io.Discard))(t)
	must.Get(p.Parse([]string{"--json", "version"}))(t)
	if settle(); !c.JSON || c.Quiet {
		t.Errorf("read %+v", c)
	}
}

// depth is how many of words are commands.
func depth(p *kong.Kong, words []string) (n int) {
	node := p.Model.Node
	for _, w := range words {
		found := false
		for _, child := range node.Children {
			if child.Type == kong.CommandNode && child.Name == w {
				node, found = child, true
				break
			}
		}
		if !found {
			return n
		}
		n++
	}
	return n
}
