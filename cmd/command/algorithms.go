package command

import (
	"fmt"
	"strings"

	"dyad/algorithms"
	"dyad/algorithms/pairs"
)

type algorithmsCmd struct {
	Name string `arg:"" optional:"" help:"Algorithm to explain. Default: list all of them."`
}

type algorithmInfo struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Paper       string   `json:"paper"`
	Modes       []string `json:"modes"`
	Assumptions []string `json:"assumptions"`
	Released    string   `json:"released"`
	Claim       string   `json:"paper_claim"`
	Verdict     string   `json:"verdict"`
	Maths       string   `json:"maths"`
}

func describe(i algorithms.Info) algorithmInfo {
	out := algorithmInfo{i.Name, i.Title, i.Paper, nil, i.Assumptions, i.Released, i.Claim, i.Verdict, i.Maths}
	for _, m := range i.Modes {
		out.Modes = append(out.Modes, m.String())
	}
	return out
}

// catalogue returns all algorithms of the program: first those of dyad train, then those of dyad online, then
// those of dyad pairs.
func catalogue() []algorithms.Info {
	var all []algorithms.Info
	for _, a := range algorithms.Catalog() {
		all = append(all, a.Info())
	}
	for _, s := range algorithms.StreamCatalog() {
		all = append(all, s.Info())
	}
	return append(all, pairs.Info(), pairs.TuplesInfo())
}

// Run lists the algorithms or explains one algorithm.
func (c *algorithmsCmd) Run(a *app) error {
	var all []algorithmInfo
	var names []string
	var text strings.Builder
	for _, info := range catalogue() {
		i := describe(info)
		if i.Name == c.Name {
			return a.emit(i, i.explain())
		}
		all, names = append(all, i), append(names, i.Name)
		fmt.Fprintf(&text, "%s  (%s; %s)\n  %s\n  released: %s\n  verdict: %s\n\n", i.Name, i.Paper,
			strings.Join(i.Modes, ", "), i.Title, i.Released, i.Verdict)
	}
	if c.Name != "" {
		return badInput("%q is not an algorithm of the catalogue; choose one of %s", c.Name, strings.Join(names, ", "))
	}
	text.WriteString("\"dyad lab algorithms NAME\" shows the assumptions and the maths of an algorithm.\n")
	return a.emit(all, text.String())
}

func (i algorithmInfo) explain() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n%s; modes %s\n\nassumes\n", i.Name, i.Title, i.Paper, strings.Join(i.Modes, ", "))
	for _, s := range i.Assumptions {
		fmt.Fprintf(&text, "  - %s\n", s)
	}
	fmt.Fprintf(&text, "released  %s\npaper     %s\nverdict   %s\n\n%s\n", i.Released, i.Claim, i.Verdict, i.Maths)
	return text.String()
}
