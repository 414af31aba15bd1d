package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"dyad/engine/dataset"
	"dyad/internal/page"
)

// atTerminal reports whether input and questions are both at a terminal. Values of records are shown only
// there.
func (a *app) atTerminal() bool {
	return isTerminal(a.stdin) && a.screen != nil && !a.quiet
}

// interview asks a person for facts that a draft needs and the file does not determine.
type interview struct {
	*asker
	o     *dataset.DraftOptions
	d     *dataset.Drafted
	ended bool // the input has ended; further questions stay open
}

// interview completes the options of a draft by answers and returns the resulting draft. failure is the error of the
// first draft if its columns do not make a schema yet.
func (a *app) interview(d *dataset.Drafted, failure error, o *dataset.DraftOptions,
	draft func() (*dataset.Drafted, error)) (*dataset.Drafted, error) {
	if !a.atTerminal() {
		return nil, errors.New("dyad: questions without a terminal")
	}
	i := &interview{asker: a.asker(), o: o, d: d}
	i.show()
	asked, err := i.decimals()
	if err != nil {
		return nil, err
	}
	if asked {
		i.d, failure = draft()
	}
	if failure != nil {
		return nil, failure
	}
	for _, ask := range []func() error{i.label, i.persons, i.codeBook, i.rest} {
		if err := ask(); err != nil {
			return nil, err
		}
	}
	return draft()
}

// read asks a question and returns the answer. After the end of the input the answer is empty.
func (i *interview) read(format string, args ...any) (string, error) {
	if i.ended {
		return "", nil
	}
	answer, err := i.ask(format, args...)
	if err == io.EOF {
		i.ended, err = true, nil
		i.say("")
	}
	return answer, err
}

// choose repeats a question until the answer is one of the given words or empty.
func (i *interview) choose(words []string, format string, args ...any) (string, error) {
	for {
		answer, err := i.read(format, args...)
		if err != nil || answer == "" {
			return answer, err
		}
		if k := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, answer) }); k >= 0 {
			return words[k], nil
		}
		i.say("  want " + strings.Join(words, " or "))
	}
}

func (i *interview) say(text string) { fmt.Fprintln(i.a.stderr, text) }

// screenText returns a text of the file without control sequences of a terminal, shortened if it is too long.
func screenText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\u00b7'
		}
		return r
	}, text)
	if r := []rune(text); len(r) > 24 {
		text = string(r[:23]) + "\u2026"
	}
	return text
}

// show writes values of the file next to the values that the schema reads.
func (i *interview) show() {
	if len(i.d.Columns) == 0 {
		return
	}
	i.say("How the values of the file are read. If a value is read wrongly, press Ctrl-C and use --decimal, " +
		"--sheet or --answers.\n")
	t := page.Table{Head: []string{"column", "in the file", "read as"}}
	for _, c := range i.d.Columns {
		raw, read := make([]string, len(c.Samples)), make([]string, len(c.Samples))
		for k, s := range c.Samples {
			raw[k], read[k] = screenText(s.Raw), screenText(s.Read)
		}
		as := strings.Join(read, " | ")
		if c.Role == dataset.RoleIgnore && !c.Asks {
			as = "left out: " + c.Why
		}
		t.Add(screenText(c.Name), strings.Join(raw, " | "), as)
	}
	i.say(t.Text())
}

// decimals asks for the decimal separator of columns that can be read in two notations.
func (i *interview) decimals() (asked bool, err error) {
	all := ""
	for _, c := range i.d.Columns {
		if _, known := i.o.Answers[c.Name]; !c.Asks || known {
			continue
		}
		answer := all
		if answer == "" {
			example := c.Samples[0]
			answer, err = i.choose([]string{"point", "comma", "point all", "comma all"},
				`%s: %s can also mean %s. Is the decimal separator a point or a comma? [point, comma; "comma all" `+
					"for all such columns] ", screenText(c.Name), screenText(example.Raw), screenText(example.Read))
			if err != nil {
				return asked, err
			}
			if sign, ok := strings.CutSuffix(answer, " all"); ok {
				answer, all = sign, sign
			}
		}
		if answer != "" {
			asked = true
			i.o.Answers[c.Name] = dataset.Answer{Decimal: map[string]string{"point": ".", "comma": ","}[answer]}
		}
	}
	return asked, nil
}

// label asks for the label column and its class that should score high.
func (i *interview) label() error {
	named := i.o.Label != ""
	for name, a := range i.o.Answers {
		if a.Role == dataset.RoleLabel {
			named = true
			i.o.Label, i.o.Positive = name, a.Positive
		}
	}
	var candidates []string
	for _, c := range i.d.Columns {
		if c.Classes != nil && i.o.Answers[c.Name].Role == "" {
			candidates = append(candidates, c.Name)
		}
	}
	only := ""
	if !named && len(candidates) == 1 {
		i.o.Label, only = candidates[0], ", the only column that can be the outcome,"
	} else if !named && len(candidates) > 1 {
		answer, err := i.choose(candidates, "Which column is the outcome (%s)? ", screenList(candidates))
		if err != nil {
			return err
		}
		i.o.Label = answer
	}
	k := slices.IndexFunc(i.d.Columns, func(c dataset.DraftedColumn) bool {
		return c.Name == i.o.Label &&
			c.Classes != nil
	})
	if k < 0 || i.o.Positive != "" {
		return nil
	}
	classes := i.d.Columns[k].Classes
	answer, err := i.choose(classes, "Which value of %s%s should score high (%s or %s; Enter: %s)? ",
		screenText(i.o.Label), only, screenText(classes[0]), screenText(classes[1]), screenText(classes[0]))
	i.o.Positive = answer
	return err
}

// persons asks whether a column with repeated identifiers names persons, and how many persons there are.
func (i *interview) persons() error {
	for _, a := range i.o.Answers {
		if a.Role == dataset.RolePerson {
			return nil
		}
	}
	for _, c := range i.d.Columns {
		if !c.MayNamePersons || c.Name == i.o.Label || i.o.Answers[c.Name].Role != "" || i.o.Answers[c.Name].Range != nil {
			continue
		}
		count := pick(c.Persons > 0, fmt.Sprintf(" (the file has %d)", c.Persons), "")
		for {
			answer, err := i.read("Values of %s repeat. If they name persons, each person is protected with all "+
				"rows.\nHow many persons are there%s? The number becomes public. [N, or public if the ids are "+
				"public; add ROWS for at most ROWS rows per person, default %d; n: not persons] ", screenText(c.Name),
				count, dataset.DefaultRowsPerPerson)
			if err != nil {
				return err
			}
			if answer == "n" {
				break
			}
			if known, ok := parsePersons(answer); ok {
				i.o.Answers[c.Name] = known
				return nil
			}
			i.say("  answer N, N ROWS, public, public ROWS or n; N is a whole number of at least 2")
		}
	}
	return nil
}

// parsePersons parses "1500", "public", or either of these followed by a cap.
func parsePersons(text string) (known dataset.Answer, ok bool) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 2 {
		return known, false
	}
	known = dataset.Answer{Role: dataset.RolePerson}
	for i, word := range words {
		switch n, err := strconv.Atoi(word); {
		case i == 0 && word == dataset.IDsPublic:
			known.IDs = word
		case err != nil || n < 2-i:
			return known, false
		case i == 0:
			known.Persons = n
		default:
			known.MaxRowsPerPerson = n
		}
	}
	return known, true
}

// open reports whether the possible values of a column are still unknown.
func (i *interview) open(c dataset.DraftedColumn) bool {
	known, answered := i.o.Answers[c.Name]
	if answered && (known.Role != "" || known.Range != nil || known.Date != nil || known.Categories != nil) ||
		c.Name == i.o.Label {
		return false
	}
	return c.FromData || c.Suggested != nil
}

// merged returns an answer with the notation of another answer.
func merged(known, notation dataset.Answer) dataset.Answer {
	known.Decimal = notation.Decimal
	return known
}

// codeBook asks whether the suggestions of the code book are correct.
func (i *interview) codeBook() error {
	var names []string
	w := tabwriter.NewWriter(i.a.stderr, 0, 0, 2, ' ', 0)
	for _, c := range i.d.Columns {
		if c.Suggested != nil && i.open(c) {
			if names = append(names, c.Name); len(names) == 1 {
				i.say("\nThe values that the code book allows in each column. A range must be known without the data.")
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\n", screenText(c.Name), c.Suggested.Quantity, c.Suggested.Text())
		}
	}
	_ = w.Flush() // a write error of the terminal is ignored
	if names == nil {
		return nil
	}
	for {
		answer, err := i.read("Take these? [y: all, Enter: ask for each, or the names of columns to ask for, " +
			"separated by commas] ")
		if err != nil || answer == "" || answer == "n" {
			return err
		}
		var ask []string
		if answer != "y" {
			for name := range strings.SplitSeq(answer, ",") {
				ask = append(ask, strings.TrimSpace(name))
			}
		}
		if k := slices.IndexFunc(ask, func(name string) bool { return !slices.Contains(names, name) }); k >= 0 {
			i.say("  " + ask[k] + " is not a column of this list")
			continue
		}
		for _, c := range i.d.Columns {
			if slices.Contains(names, c.Name) && !slices.Contains(ask, c.Name) {
				i.o.Answers[c.Name] = merged(c.Suggested.Answer, i.o.Answers[c.Name])
			}
		}
		return nil
	}
}

// rest asks for the possible values of each remaining column. An empty answer leaves the column unchanged and marked.
func (i *interview) rest() error {
	told := false
	for _, c := range i.d.Columns {
		if !i.open(c) {
			continue
		}
		if !told {
			i.say("\nWhich values can each column have? Answer from public knowledge, not from the data.\nPress " +
				`Enter to decide later, or answer "ignore" to leave the column out.`)
			told = true
		}
		kind := "a number; smallest and largest value"
		switch {
		case c.Date != nil:
			kind = "a date; first and last day, YYYY-MM-DD"
		case c.Categories != nil:
			kind = "a text, in the file " + screenList(c.Categories) +
				"; type all possible values, separated by commas; or type y if you know these values without the " +
				"file"
		}
		if c.Suggested != nil {
			kind += "; y: " + c.Suggested.Text()
		}
		for {
			answer, err := i.read("%s (%s): ", screenText(c.Name), kind)
			if err != nil {
				return err
			}
			if answer == "" {
				break
			}
			known, problem := parseAnswer(answer, c)
			if problem == "" {
				i.o.Answers[c.Name] = merged(known, i.o.Answers[c.Name])
				break
			}
			i.say("  " + problem)
		}
	}
	return nil
}

func screenList(list []string) string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = screenText(t)
	}
	return strings.Join(out, ", ")
}

// parseAnswer parses a typed answer about a column of a draft.
func parseAnswer(text string, c dataset.DraftedColumn) (known dataset.Answer, problem string) {
	switch {
	case text == "ignore":
		return dataset.Answer{Role: dataset.RoleIgnore}, ""
	case text == "y" && c.Suggested != nil:
		return c.Suggested.Answer, ""
	case text == "y" && c.Categories != nil:
		return dataset.Answer{Categories: c.Categories, Unknown: c.Unknown}, ""
	}
	known = dataset.Answer{Transform: c.Transform, Unknown: c.Unknown}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
	switch {
	case c.Categories != nil:
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" && !slices.Contains(known.Categories, word) {
				known.Categories = append(known.Categories, word)
			}
		}
		if len(known.Categories) < 2 {
			return known, "want at least two values, separated by commas"
		}
	case len(words) != 2:
		return known, "want two values, separated by a space; write numbers with a decimal point, not a comma"
	case c.Date != nil:
		known.Date = &dataset.DateFormat{Format: c.Date.Format, From: words[0], To: words[1]}
		if !known.Date.Valid() {
			return known, "want two days in order, such as 2015-01-01 2024-12-31"
		}
	default:
		lo, err1 := strconv.ParseFloat(words[0], 64)
		hi, err2 := strconv.ParseFloat(words[1], 64)
		if err1 != nil || err2 != nil || !(lo < hi) {
			return known, "want two numbers, the smaller one first; write them with a decimal point, as in 0.5"
		}
		known.Range = []float64{lo, hi}
		if lo < 0 {
			known.Transform = ""
		}
	}
	return known, ""
}
