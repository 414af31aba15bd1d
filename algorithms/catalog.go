package algorithms

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"dyad/docs"
)

// Catalog returns every algorithm with its default options, private algorithms first. Tests that must hold for
// all algorithms iterate over Catalog, so that no algorithm is forgotten.
func Catalog() []Algorithm {
	return []Algorithm{
		DPGDSC{},
		OffPairStrC{},
		OffPairC{},
		DPGDC{},
		DPGDC2{},
		DPEGD{},
		GradientPerturbation{},
		ConvergentDescent{},
		SubsampledDescent{},
		Moments{},
		MomentMetric{},
		MomentsDescent{},
		ProjectedGradient{},
		OffGIGA{},
	}
}

// ByName returns the algorithm of the catalogue with the given name.
func ByName(name string) (Algorithm, error) {
	var names []string
	for _, a := range Catalog() {
		if a.Info().Name == name {
			return a, nil
		}
		names = append(names, a.Info().Name)
	}
	if _, err := StreamByName(name); err == nil {
		return nil, fmt.Errorf("algorithms: %s is an online algorithm, which takes its records one by one (dyad online)",
			name)
	}
	var online []string
	for _, s := range StreamCatalog() {
		online = append(online, s.Info().Name)
	}
	return nil, fmt.Errorf("algorithms: %q is not in the catalogue; choose one of %s, or of the online algorithms %s",
		name, strings.Join(names, ", "), strings.Join(online, ", "))
}

// paperOf returns Info.Paper of an algorithm of either catalogue, or "" for any other name.
func paperOf(name string) string {
	if a, err := ByName(name); err == nil {
		return a.Info().Paper
	}
	if s, err := StreamByName(name); err == nil {
		return s.Info().Paper
	}
	return ""
}

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

// Described returns i with the text fields filled in from the section of docs/catalogue.md about the named algorithm.
func Described(name string, i Info) Info {
	d := described()[name]
	d.Modes, d.PureModes, d.NeedsL2, d.DefaultL2, d.NeedsSmooth = i.Modes, i.PureModes, i.NeedsL2,
		i.DefaultL2, i.NeedsSmooth
	d.ScoresOnly, d.MetricsOnly, d.Withholds = i.ScoresOnly, i.MetricsOnly, i.Withholds
	return d
}
