package algorithms

import (
	"slices"
	"strings"
	"sync"

	"dyad/docs"
)

// described returns the sections of docs/catalogue.md by algorithm name. A section has a line "- Label: text" for each
// text field of Info, and a block with the mathematics.
var described = sync.OnceValue(func() map[string]Info {
	all := map[string]Info{}
	for _, section := range strings.Split(docs.Catalogue, "\n## ")[1:] {
		words, maths, _ := strings.Cut(section, "\n```\n")
		i := Info{Maths: strings.TrimSuffix(strings.TrimSpace(maths), "\n```")}
		var rest string
		i.Name, rest, _ = strings.Cut(words, "\n")
		fields := map[string]*string{
			"Title": &i.Title, "Paper": &i.Paper, "Released": &i.Released, "Claim": &i.Claim, "Verdict": &i.Verdict,
			"Unsound": &i.Unsound, "Persons": &i.NoPersons,
			"Groups": &i.NoGroups, "Paper mode": &i.NoPaper, "L2 term": &i.NoL2,
		}
		for line := range strings.Lines(rest) {
			label, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if label = strings.TrimPrefix(label, "- "); label == "Assumes" {
				i.Assumptions = append(i.Assumptions, text)
			} else if field := fields[label]; field != nil {
				*field = text
			}
		}
		i.Assumptions = slices.Clip(i.Assumptions) // several callers may append
		all[i.Name] = i
	}
	return all
})

// Described returns the Info i. It fills in the texts from the named algorithm's section of docs/catalogue.md.
func Described(name string, i Info) Info {
	d := described()[name]
	d.Modes, d.PureModes, d.NeedsL2, d.DefaultL2, d.NeedsSmooth = i.Modes, i.PureModes, i.NeedsL2,
		i.DefaultL2, i.NeedsSmooth
	d.ScoresOnly, d.MetricsOnly, d.Withholds = i.ScoresOnly, i.MetricsOnly, i.Withholds
	return d
}
