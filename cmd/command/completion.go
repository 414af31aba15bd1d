package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"dyad/algorithms"
	"dyad/engine"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	places, err := completions()
	if err != nil {
		return err
	}
	text := map[string]func([]place) string{"bash": bashCompletion, "zsh": zshCompletion,
		"fish": fishCompletion}[c.Shell](places)
	return a.print(map[string]string{"shell": c.Shell, "script": text}, text)
}

// place is a command line up to the word that is to be completed.
type place struct {
	at    string  // commands so far, each preceded by a space
	next  []named // commands that can follow
	flags []taken
	first []string // values of the first argument, if known
}

type named struct{ name, help string }

// taken is a flag with its possible values.
type taken struct {
	named
	short  rune
	alone  bool     // the flag takes no value
	values []string // all possible values, if known; otherwise a file or any text
}

// completions returns all places of the command line, in the order of the help.
func completions() ([]place, error) {
	parser, err := wholeGrammar()
	if err != nil {
		return nil, err
	}
	var out []place
	for _, n := range tree(parser.Model.Node) {
		p := place{at: strings.TrimPrefix(n.FullPath(), "dyad")}
		var keys []string
		for _, level := range n.AllFlags(true) {
			for _, f := range level {
				if isKey(n.Path(), f.Name) {
					keys = append(keys, f.Name+"=")
					continue
				}
				p.flags = append(p.flags, taken{named: named{f.Name, firstSentence(f.Help)}, short: f.Short, alone: f.IsBool(),
					values: valuesOf(f.Value)})
			}
		}
		if i := slices.IndexFunc(p.flags, func(f taken) bool { return f.name == "set" }); i >= 0 {
			p.flags[i].values = keys
		}
		for _, child := range commandsOf(n) {
			p.next = append(p.next, named{child.Name, firstSentence(child.Help)})
		}
		if len(n.Positional) > 0 {
			p.first = valuesOf(n.Positional[0])
		}
		out = append(out, p)
	}
	return out, nil
}

// valuesOf returns the possible values of a flag or an argument. It returns nil if other values are accepted as well.
func valuesOf(v *kong.Value) []string {
	var values []string
	switch v.Name {
	case "algorithm":
		for _, a := range algorithms.Catalog() {
			values = append(values, a.Info().Name)
		}
		for _, a := range algorithms.StreamCatalog() {
			values = append(values, a.Info().Name)
		}
	case "loss":
		for _, l := range engine.Library() {
			values = append(values, l.Name)
		}
	default:
		if v.Enum != "" {
			values = v.EnumSlice()
		}
	}
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(s string) bool { return s == "" })
}

// firstSentence returns the first sentence of a help text without its full stop.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "; ")
	text, _, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(text, ".")
}

// flagWords returns the names of the flags, long and short.
func (p place) flagWords() string {
	var b strings.Builder
	for _, f := range p.flags {
		b.WriteString(" --" + f.name)
		if f.short != 0 {
			b.WriteString(" -" + string(f.short))
		}
	}
	return strings.TrimSpace(b.String())
}

func (p place) nextWords() string {
	names := slices.Clone(p.first)
	for _, n := range p.next {
		names = append(names, n.name)
	}
	return strings.Join(names, " ")
}

// follow returns the patterns of a case statement that moves on by one command.
func follow(places []place, separator string) string {
	var all []string
	for _, p := range places {
		if p.at != "" {
			all = append(all, "'"+p.at+"'")
		}
	}
	return strings.Join(all, separator)
}

// valueCases writes a line of a case statement for each place and flag with known values.
func valueCases(b *strings.Builder, places []place, line string) {
	for _, p := range places {
		for _, f := range p.flags {
			if len(f.values) > 0 {
				fmt.Fprintf(b, line, p.at+" --"+f.name, strings.Join(f.values, " "))
			}
		}
	}
}

// bashCompletion returns the script for bash 4 and later. In bash, an equals sign is a separate word.
func bashCompletion(places []place) string {
	var b strings.Builder
	b.WriteString(`# bash completion of dyad, written by "dyad completion bash"
_dyad() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= next= flags= values= i
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
`)
	fmt.Fprintf(&b, "    %s) at+=\" ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n  case \"$at $prev\" in\n",
		follow(places, "|"))
	valueCases(&b, places, "  '%s') values='%s' ;;\n")
	b.WriteString("  esac\n  case \"$at\" in\n")
	for _, p := range places {
		fmt.Fprintf(&b, "  '%s') next='%s'; flags='%s' ;;\n", p.at, p.nextWords(), p.flagWords())
	}
	b.WriteString(`  esac
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ $prev == -* ]]; then
    COMPREPLY=() # a value: a file, by default
  else
    COMPREPLY=($(compgen -W "$next" -- "$cur"))
  fi
}
complete -o default -F _dyad dyad
`)
	return b.String()
}

// zshQuoted returns a name with its description for _describe.
func zshQuoted(n named) string {
	text := strings.ReplaceAll(n.name, ":", `\:`)
	if n.help != "" {
		text += ":" + n.help
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// zshCompletion returns the script for zsh, to be put into a folder of $fpath or to be sourced.
func zshCompletion(places []place) string {
	var b strings.Builder
	b.WriteString(`#compdef dyad
# zsh completion of dyad, written by "dyad completion zsh"
_dyad() {
  local at= prev=$words[CURRENT-1] word
  local -a next flags values
  if [[ $PREFIX == --*=* ]]; then
    prev=${PREFIX%%=*}
    compset -P '*='
  fi
  for word in ${words[2,CURRENT-1]}; do
    case "$at $word" in
`)
	fmt.Fprintf(&b, "    %s) at+=\" $word\" ;;\n    esac\n  done\n  case \"$at $prev\" in\n", follow(places, "|"))
	valueCases(&b, places, "  '%s') values=(%s) ;;\n")
	b.WriteString("  esac\n  case \"$at\" in\n")
	for _, p := range places {
		next, flags := p.first, []string{}
		for _, n := range p.next {
			next = append(next, zshQuoted(n))
		}
		for _, f := range p.flags {
			if f.short != 0 {
				flags = append(flags, zshQuoted(named{"-" + string(f.short), f.help}))
			}
			flags = append(flags, zshQuoted(named{"--" + f.name, f.help}))
		}
		fmt.Fprintf(&b, "  '%s')\n    next=(%s)\n    flags=(%s) ;;\n", p.at, strings.Join(next, " "),
			strings.Join(flags, " "))
	}
	b.WriteString(`  esac
  if (( $#values )); then
    compadd -- $values
  elif [[ $PREFIX == -* ]]; then
    _describe -o 'flag' flags
  elif [[ $prev == -* ]] || (( ! $#next )); then
    _files
  else
    _describe 'command' next
  fi
}
if [[ $funcstack[1] == _dyad ]]; then
  _dyad "$@"
else
  compdef _dyad dyad
fi
`)
	return b.String()
}

// fishQuoted returns a text in single quotes.
func fishQuoted(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", `\'`) + "'"
}

// fishCompletion returns the script for fish 3 and later.
func fishCompletion(places []place) string {
	var b strings.Builder
	b.WriteString(`# fish completion of dyad, written by "dyad completion fish"
function __dyad_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case `)
	b.WriteString(follow(places, " "))
	b.WriteString(`
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
`)
	for _, p := range places {
		where := fmt.Sprintf("complete -c dyad -n \"__dyad_at '%s'\"", p.at)
		for _, n := range p.next {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", where, n.name, fishQuoted(n.help))
		}
		if len(p.first) > 0 {
			fmt.Fprintf(&b, "%s -f -a '%s'\n", where, strings.Join(p.first, " "))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, "%s -l %s", where, f.name)
			if f.short != 0 {
				fmt.Fprintf(&b, " -s %c", f.short)
			}
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, " -x -a '%s'", strings.Join(f.values, " "))
			case !f.alone:
				b.WriteString(" -r")
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuoted(f.help))
		}
	}
	return b.String()
}
