package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"dyad/bench"
	"dyad/engine/dataset/catalog"
	"dyad/internal/experiment"
)

//go:embed *.tmpl
var templates embed.FS

// writePages writes both pages from the raw files.
func writePages(results, docs string) error {
	for _, name := range []string{"pairwise-dpsgd", "dpauc"} {
		text, err := page(name, results)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(docs, name+".md"), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// page is the text of a page.
func page(name, results string) ([]byte, error) {
	cases, err := readAttacks(results)
	if err != nil {
		return nil, err
	}
	var values any
	if name == "dpauc" {
		values, err = benchmark(results, cases)
	} else {
		values, err = attackPage(cases)
	}
	if err != nil {
		return nil, err
	}
	t, err := template.ParseFS(templates, name+".tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, values)
	return b.Bytes(), err
}

// Lower is the bound as the page shows it.
func (c attackCase) Lower() string {
	if c.Bound > c.Claimed {
		return fmt.Sprintf("**%.2f**", c.Bound)
	}
	return fmt.Sprintf("%.2f", c.Bound)
}

// Name is the case as the page shows it.
func (c attackCase) Name() string {
	return strings.ReplaceAll(c.Case, ", 1 positives", ", one positive")
}

// Moves is the move as the page shows it.
func (c attackCase) Moves() string {
	if math.IsNaN(c.Move) {
		return "–"
	}
	if move := strconv.FormatFloat(math.Round(c.Move*100)/100, 'f', -1, 64); move != "1" {
		return move + " clips"
	}
	return "1 clip"
}

func attackPage(cases []attackCase) (any, error) {
	v := struct {
		Cases                          []attackCase
		Versions                       []string
		N, Runs                        int
		Most                           float64
		Confidence, Ordinary, Warnings string
	}{Cases: cases, Confidence: fmt.Sprint(confidence)}
	var ordinary []string
	for _, c := range cases {
		if !slices.Contains(v.Versions, c.Version) {
			v.Versions = append(v.Versions, c.Version)
		}
		switch {
		case c.Library != "opacus":
		case c.Case == "control":
			v.N, v.Runs, v.Most, v.Warnings = c.N, len(c.With), c.Most, c.Warnings
		case strings.HasPrefix(c.Case, "ordinary"):
			ordinary = append(ordinary, fmt.Sprintf("with %s by %s (records above one clip: %s)",
				strings.TrimPrefix(c.Name(), "ordinary, "), c.Moves(), c.Above))
		}
	}
	if v.N == 0 {
		return nil, fmt.Errorf("the control of Opacus is not in the raw files")
	}
	v.Ordinary = "It moves it, " + strings.Join(ordinary, ", ") + "."
	return v, nil
}

// methods of the plan, in the order of the page, with what a raw file does not have.
var methods = []method{
	{"auto", "", "least-squares AUC, then logistic steps where its rule wants them", "exact, replace one", "",
		"anyone; Apache-2.0, one Go program"},
	{"moments", "", "least-squares AUC, from moments", "exact, replace one", "", "anyone; Apache-2.0, one Go program"},
	{"gradient-perturbation", "", "logistic AUC loss over all pairs", "exact, replace one", "",
		"anyone; Apache-2.0, one Go program"},
	{"opacus-dpsgd", "opacus", "pointwise logistic loss, DP-SGD", "add or remove one; replace one by group privacy", "",
		"anyone; Apache-2.0, Python with PyTorch"},
	{"jax-privacy", "jax-privacy", "pointwise logistic loss, full batches", "replace one", "",
		"anyone; Apache-2.0, Python with JAX"},
	{"diffprivlib", "diffprivlib", "pointwise logistic loss, objective perturbation",
		"replace one, pure epsilon: no help from delta", "", "anyone; MIT, Python with scikit-learn 1.2"},
	{"projected-gradient", "", "logistic AUC loss over all pairs", "not private", "",
		"only people who may see the data, as nothing protects them; Apache-2.0"},
	{"logistic-regression", "", "pointwise logistic loss", "not private", "", "as above; BSD-3, scikit-learn"},
}

type method struct{ Name, Library, What, Guarantee, Version, Who string }

// methodRow is a method with the bound of its audit.
type methodRow struct {
	method
	Lower string
}

type dataRow struct{ Method, One, Four, Seconds, Peak string }

type dataPart struct {
	Name, N, D string
	Rows       []dataRow
}

// set is a data set as the page shows it.
type set struct{ Name, Terms, Fetch string }

func benchmark(results string, cases []attackCase) (any, error) {
	comments, rows, err := bench.ReadTable(filepath.Join(results, "dpauc.csv"))
	if err != nil {
		return nil, err
	}
	v := struct {
		Data                                        []dataPart
		Methods                                     []methodRow
		Sets                                        []set
		Delta, Splits, Load, Machine, NotRun, Ahead string
	}{Delta: "1e-5"}
	audited, err := auditedEpsilon(results)
	if err != nil {
		return nil, err
	}
	var loads, planned, notRun, before []string
	for _, c := range comments {
		if text, ok := strings.CutPrefix(c, "# load "); ok {
			loads = append(loads, text)
		}
		if text, ok := strings.CutPrefix(c, "# data of the plan:"); ok {
			planned = strings.Fields(text)
		}
		if strings.HasPrefix(c, "# go") && v.Machine == "" && !strings.HasPrefix(c, "# go run") {
			v.Machine = strings.TrimPrefix(c, "# ")
		}
	}
	v.Load = "load " + strings.Join(loads, ", ")
	splits := map[string]bool{}
	var order []string
	for _, r := range rows {
		splits[r["split"]] = true
		if !slices.Contains(order, r["data"]) {
			order = append(order, r["data"])
		}
	}
	v.Splits = strconv.Itoa(len(splits))
	for _, name := range order {
		part := dataPart{Name: name}
		for _, m := range methods {
			var mine []map[string]string
			for _, r := range rows {
				if r["data"] == name && r["method"] == m.Name {
					mine = append(mine, r)
				}
			}
			if len(mine) == 0 {
				part.Rows = append(part.Rows, dataRow{m.Name, "not run", "not run", "–", "–"})
				continue
			}
			part.N, part.D = mine[0]["n"], mine[0]["d"]
			part.Rows = append(part.Rows, dataRow{m.Name, auc(mine, "1"), auc(mine, "4"), median(mine), mine[0]["peak_mb"]})
		}
		v.Data = append(v.Data, part)
		before = append(before, ahead(rows, name)...)
	}
	for _, name := range planned {
		if !slices.Contains(order, name) {
			notRun = append(notRun, name)
		}
		if e, ok := catalog.Find(name); ok {
			v.Sets = append(v.Sets, set{name, e.Terms, "`dyad data fetch " + name + "`"})
		} else {
			v.Sets = append(v.Sets, set{name, "made by Dyad", "synthetic, generated by the runner"})
		}
	}
	v.NotRun, v.Ahead = strings.Join(notRun, ", "), cmp.Or(strings.Join(before, ", "), "nowhere")
	for _, m := range methods {
		row := methodRow{m, "–"}
		row.Version = "this repository"
		for _, c := range comments {
			if text, ok := strings.CutPrefix(c, "# peer "+m.Name+": "); ok {
				row.Version = text
			}
		}
		if e, ok := audited[m.Name]; ok {
			row.Lower = fmt.Sprintf("%.2f", e)
		}
		for _, c := range cases {
			if c.Library == m.Library && c.Case == "control" {
				row.Lower = fmt.Sprintf("%.2f", c.Bound)
			}
		}
		v.Methods = append(v.Methods, row)
	}
	return v, nil
}

// auditedEpsilon is the largest Clopper-Pearson bound of each algorithm at a claim of (1, 1e-5), certified, from the raw files of the audits.
func auditedEpsilon(results string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, name := range []string{"audits.csv", "audits-moments.csv"} {
		_, rows, err := bench.ReadTable(filepath.Join(results, name))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r["mode"] != "certified" || r["variant"] != "" || r["method"] != "Clopper-Pearson" ||
				r["claimed_epsilon"] != "1" || r["delta"] != "1e-05" {
				continue
			}
			e, err := strconv.ParseFloat(r["audited_epsilon"], 64)
			if err != nil {
				return nil, err
			}
			out[r["algorithm"]] = max(out[r["algorithm"]], e)
		}
	}
	return out, nil
}

// auc is the mean over splits with its standard error at an epsilon, or at any for a model without privacy.
func auc(rows []map[string]string, epsilon string) string {
	var v []float64
	status := ""
	for _, r := range rows {
		if r["epsilon"] != epsilon && r["epsilon"] != "+Inf" {
			continue
		}
		if status = r["status"]; status == "ok" {
			x, _ := strconv.ParseFloat(r["auc"], 64) // written by this program
			v = append(v, x)
		}
	}
	if len(v) < 2 {
		return cmp.Or(status, "–")
	}
	mean, se := experiment.MeanAndError(v)
	return fmt.Sprintf("%.3f ± %.3f", mean, se)
}

// ahead lists where a private peer has a higher mean than auto, by more than two standard errors of the paired differences over splits.
func ahead(rows []map[string]string, data string) (out []string) {
	values := map[string]float64{}
	for _, r := range rows {
		if v, err := strconv.ParseFloat(r["auc"], 64); err == nil && r["data"] == data {
			values[r["method"]+" "+r["epsilon"]+" "+r["split"]] = v
		}
	}
	for _, m := range methods {
		for _, epsilon := range []string{"1", "4"} {
			var d []float64
			for split := 0; m.Library != ""; split++ {
				key := fmt.Sprintf(" %s %d", epsilon, split)
				ours, is := values["auto"+key]
				theirs, also := values[m.Name+key]
				if !is || !also {
					break
				}
				d = append(d, theirs-ours)
			}
			if mean, se := experiment.MeanAndError(d); len(d) > 1 && mean > 2*se {
				out = append(out, fmt.Sprintf("%s on %s at epsilon %s (+%.3f)", m.Name, data, epsilon, mean))
			}
		}
	}
	return out
}

// median is that of the seconds.
func median(rows []map[string]string) string {
	var v []float64
	for _, r := range rows {
		if x, err := strconv.ParseFloat(r["seconds"], 64); err == nil {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return "–"
	}
	slices.Sort(v)
	return strconv.FormatFloat(v[len(v)/2], 'g', 2, 64)
}
