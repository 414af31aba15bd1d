package frozen

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/cluster"
	"dyad/algorithms/local"
	"dyad/internal/must"
	"dyad/privacy"
)

// TestPlans: what plans promise, and what they refuse, is what it was; all but
// those of users list their releases by name; and the table has every kind of plan.
func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("plans of the whole catalogue")
	}
	var lines []string
	refused, made := map[string][]string{}, map[string]bool{}
	for _, r := range rows() {
		kind, plan, err := r.make()
		if err != nil {
			why := digest(err.Error())
			refused[why] = append(refused[why], r.name)
			continue
		}
		made[path.Base(reflect.TypeOf(kind).Elem().PkgPath())] = true
		if !strings.HasPrefix(r.name, "local") && (len(plan.Releases) == 0 || slices.ContainsFunc(plan.Releases, func(x algorithms.Release) bool { return x.Name == "" })) {
			t.Errorf("%s: rows without names, or none: %+v", r.name, plan.Releases)
		}
		line := must.Get(promise(plan))(t, r.name)
		lines = append(lines, r.name+": "+line)
	}
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		names := refused[why]
		slices.Sort(names)
		lines = append(lines, fmt.Sprintf("refused as %s is: words %s; %d like it %s", names[0], why, len(names), short(strings.Join(names, "\n"))))
	}
	slices.Sort(lines)
	table(t, "plans", lines, 0)
	everyAlgorithm(t, lines)
	for _, kind := range kinds(t) {
		if !made[kind] {
			t.Errorf("algorithms/%s has plans, and the table has none of them: add its rows", kind)
		}
	}
}

// everyAlgorithm fails for an algorithm of the catalogues, or a method of local learning, without a row.
func everyAlgorithm(t *testing.T, lines []string) {
	t.Helper()
	var want []string
	for _, a := range algorithms.Catalog() {
		want = append(want, "train "+a.Info().Name+" ")
	}
	for _, s := range algorithms.StreamCatalog() {
		want = append(want, "online "+s.Info().Name+" ")
	}
	for _, m := range local.Methods() {
		want = append(want, "local "+m.String())
	}
	for _, start := range want {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, start) }) {
			t.Errorf("no row is about %s", start)
		}
	}
}

// kinds are the packages below algorithms with a type Plan that embeds the common one.
func kinds(t *testing.T) (all []string) {
	files, err := filepath.Glob("../../algorithms/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no algorithms", err)
	}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if strings.Contains(string(text), "\ntype Plan struct {\n\talgorithms.Plan\n") {
			all = append(all, filepath.Base(filepath.Dir(file)))
		}
	}
	return all
}

// Seeded defects: each one is told from the plan as it is, also where the last digits of machines differ. Only printed
// words leave the words that charges compare as they are.
func TestDefectsMoveTheTable(t *testing.T) {
	plan := func() *cluster.Plan {
		return must.Get(cluster.New(cluster.Options{Records: 512, Clusters: 3, Dim: 8, Radius: 2, Rounds: 4, Map: "map", Budget: privacy.Budget{Epsilon: 1.25, Delta: 1e-5}}))(t)
	}
	sound := must.Get(promise(&plan().Plan))(t)
	for name, defect := range map[string]func(*cluster.Plan){
		"none":            func(*cluster.Plan) {},
		"another why":     func(p *cluster.Plan) { p.Guarantee.Derivation += " indeed" },
		"another release": func(p *cluster.Plan) { p.Releases[0].Name += " indeed" },
		"noise multiplier and event off by 1e-9": func(p *cluster.Plan) {
			for i := range p.Releases {
				g := p.Releases[i].Noise.(privacy.Gaussian)
				g.Sigma *= 1 - 1e-9
				p.Releases[i].Noise = g
			}
		},
		"epsilon off by 1e-9":    func(p *cluster.Plan) { p.Guarantee.Epsilon *= 1 - 1e-9 },
		"one release less":       func(p *cluster.Plan) { p.Releases = p.Releases[1:] },
		"another unit":           func(p *cluster.Plan) { p.Guarantee.Unit = "one individual" },
		"an assumption less":     func(p *cluster.Plan) { p.Guarantee.Assumptions = p.Guarantee.Assumptions[1:] },
		"another objective":      func(p *cluster.Plan) { p.Objective = "" },
		"another fact":           func(p *cluster.Plan) { p.CountNoise *= 1 - 1e-9; p.Facts.Add("count_noise", p.CountNoise) },
		"a mode of another plan": func(p *cluster.Plan) { p.Mode = algorithms.Paper },
	} {
		p := plan()
		defect(p)
		got := must.Get(promise(&p.Plan))(t)
		if alike(sound, got, 1e-10) != (name == "none") || alike(sound, got, 0) != (name == "none") {
			t.Errorf("%s:\n  %s\n  %s", name, sound, got)
		}
		before, _, _ := strings.Cut(sound, "; words ")
		printed := name == "none" || name == "another why" || name == "an assumption less"
		if strings.HasPrefix(got, before+"; words ") != printed {
			t.Errorf("%s: compared words, want as before %t:\n  %s\n  %s", name, printed, sound, got)
		}
	}
}
