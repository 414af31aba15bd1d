package command

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dyad/docs/checker"
	"dyad/internal/must"
	"dyad/internal/sizes"
)

// freedom is a value on which no claim rests.
type freedom struct {
	path string // a regular expression; # stands for a number in a list
	why  string
	less bool   // smaller values only
	but  string // a regular expression of paths that are not free after all
	of   string // a regular expression of the models, "" for all
}

const (
	ofMoments = "^moment(s|s-pure|s-steps|-metric)$"  // without gradients
	alone     = "^(stream|clusters|pairs|evaluation)" // whose rows state their numbers
)

// unclaimed are all values that may be changed alone. Each is tried: one that is refused has no place here.
var unclaimed = []freedom{
	{path: `\.(created|dyad_version)`, why: "when and by which version it was written proves nothing"},
	{path: `\.options\..*`, why: "the options of the command, of which nothing is computed; the page of a verified file " +
		"prints the plan"},
	{path: `\.(data_id|run)`, why: "names; the ledger has them"},
	{path: `\.(encoder|features)\..*`, why: "the schema; its bounds are in the plan, and no file can show whether " +
		"they were taken from the data"},
	{path: `\.weights\.#`, why: "any numbers within reach of the plan could be a function of its releases; others are " +
		"refused, by the last forgery"},
	{path: `\.log_odds\..*`, of: "^moments", why: "functions of the releases, as weights are; any finite numbers could be"},
	{path: `\.loss\.name|\.plan\.problem\.loss\.(name|definition)|\.report\.(loss|loss_definition)`,
		why: "words for the formula, which is compared"},
	{path: `\.plan\.problem\.method|\.report\.(paper|domain|method|schedule)|\.report\.events\.#`,
		why: "words; the page of a verified file prints the plan"},
	{path: `\.report\.(path|pair_gradients|roundoff_share)`,
		why: "how well or fast it was trained; the page of a verified file prints the plan"},
	{path: `\.report\.noise_to_radius`, of: "^moment",
		why: "of the noise in sums, not in weights; the page of a verified file does not print it"},
	{path: `\.report\.(moments|releases)\..*|\.plan\.releases\.#\.name`,
		why: "names, and rows about the releases; the page of a verified file prints those of the plan"},
	{path: `\.loss\.(formula|params\.m)|\.plan\.problem\.loss\.(formula|params\.m)|\.plan\.problem\.constants\.convex`,
		of: ofMoments, why: "no certificate of moments rests on a loss"},
	{path: `\.plan\.schedule\.step_size`, of: "^(moment|stream)", why: "moments make no steps of a size, nor do streams"},
	{path: `\.plan\.schedule\.update|\.report\.(optimizer|choice)|\.network\.seed`, of: "^network",
		why: "start and steps are functions of public numbers and of the releases"},
	{path: `\.plan\.schedule\.average`, of: "^stream",
		why: "whether the model is an average is in the words of its release"},
	{path: `\.plan\.problem\.mean_error`, of: "^(descent|average|gradient|metric|moment|hidden|network|stream)",
		why: "it bounds the error of an update from below, and that is stated"},
	{path: `\.plan\.releases\.#\.certificate\.numbers\.output_error`, of: "^average",
		why: "less than the last bit of the sensitivity; it is at least one rounding"},
	{path: `\.plan\.releases\.#\.certificate\.numbers\.update_error`, of: "^descent-(laplace|paper)$",
		why: "the sensitivity is the diameter; it is at least one rounding"},
	{path: `\.(pairs_|tuples_)?report\..*`, of: alone,
		but: `report\.(guarantee|sensitivity|noise_multiplier|kappa|batch|batches_per_epoch|epochs|clusters|dimensions|rounds|algorithm|mode)`, why: "words and figures on which no theorem rests; the page of a verified file prints the plan"},
	{path: `\.(task|counts\.#|centres\.#\.#|count_noise|radius|pair_loss\..*)`, of: alone,
		why: "functions of the releases and of public numbers, as weights are"},
	{path: `\.(data|ledger|evaluated|evaluated_digest|figures\..*)`, of: "^evaluation", but: `records`,
		why: "names, and functions of the releases"},
	{path: `\.plan\.releases\.#\.certificate\.numbers\.(name|counted|cells)`, of: "^evaluation",
		why: "words; the sensitivity is the same with the count and for any number of cells"},
	{path: `\.plan\.releases\.#\.certificate\.numbers\.roundoff`, of: alone,
		why: "less than the last bit of the sensitivity; it is at least one rounding"},
	{path: `\.plan\.releases\.#\.certificate\.numbers\.(error|update_error|scale|count)`, less: true,
		why: "bounds from above: the file is a true statement about a run whose errors, or weights in a joint release, " +
			"were smaller"},
}

// covers reports whether f lets a model have another value at a path.
func (f freedom) covers(model, path string) bool {
	return regexp.MustCompile("^("+f.path+")$").MatchString(path) && regexp.MustCompile(f.of).MatchString(model) &&
		(f.but == "" || !regexp.MustCompile(f.but).MatchString(path))
}

// tolerance is the relative amount by which the checker lets a stated sensitivity exceed the theorem. A change of a rounding
// error below it may stay within this amount, and so may the addition of 1 to a number above its inverse.
const tolerance = 1e-7

// evaluatedFirst is of the first model of the test.
const evaluatedFirst = "evaluate descent.json --mean-loss --delta 0"

// Every value of the file that a claim rests on is changed, up and down, by an attacker who computes the checksum again: no
// such file is accepted, and the list of the others has no value too many. Every reason of the checker to refuse a file is met.
func TestVerifyRefusesEveryField(t *testing.T) {
	sizes.NotShort(t, "slow")
	dir := clinic(t, 200)
	changed, used, said := 0, map[string]bool{}, map[string]bool{}
	tried := map[string]int{} // values at places of a list
	for _, name := range []string{"descent", "descent-pure", "descent-laplace", "descent-paper", "average-square",
		"gradient-hinge", "moments", "moments-pure", "moments-steps", "moments-descent", "moment-metric", "metric-wide",
		"hidden", "network", "network-cosine", "stream", "clusters", "pairs", "pairs-moments", "evaluation"} {
		var m any
		must.Do(t, json.Unmarshal(verifiable(t, dir, name, cmp.Or(verified[name], evaluatedFirst)), &m))
		if v := checker.Check(sealed(t, m)); v.Verdict != checker.Verified {
			t.Fatalf("%s, unchanged: %+v", name, v)
		}
		leaves(m, "", nil, func(path string, value any, set func(any)) {
			general := regexp.MustCompile(`\.[0-9]+`).ReplaceAllString(path, ".#")
			at := slices.IndexFunc(unclaimed, func(f freedom) bool { return f.covers(name, general) })
			entry := fmt.Sprint(at, name, general)
			if tried[name+general]++; !sizes.Full() && tried[name+general] > 2 { // of a list ordinarily two
				return
			}
			if path == ".checksum" || at >= 0 && !unclaimed[at].less && used[entry] {
				return
			}
			others := []any{nil, "x"}
			switch v := value.(type) {
			case float64:
				others = append(others, v*1.01, v*0.99, -v)
				if v < 1/tolerance {
					others = append(others, v+1)
				}
			case bool:
				others = append(others, !v)
			}
			for _, other := range others {
				less, number := other.(float64)
				smaller := number && less >= 0 && (less < value.(float64) || less < tolerance)
				if other == value || value == 0. && other == nil || // 0 may be left out, and so may a figure of a report
					other == nil && strings.Contains(path, "report.") && !strings.Contains(path, "report.guarantee.") {
					continue
				}
				set(other)
				v := checker.Check(sealed(t, m))
				said[v.Why] = true
				switch allowed := at >= 0 && (!unclaimed[at].less || smaller); {
				case v.Verdict == checker.Verified && !allowed:
					t.Errorf("%s: %s = %v in place of %v is accepted", name, path, other, value)
				case v.Verdict == checker.Verified:
					used[entry], used[unclaimed[at].path] = true, true
				}
				changed++
				if at >= 0 && !unclaimed[at].less && used[entry] {
					break
				}
			}
			set(value)
		})
	}
	if changed < 1000 {
		t.Errorf("only %d changes were tried", changed)
	}
	for _, f := range unclaimed {
		if !used[f.path] {
			t.Errorf("%s (%s): every change is refused, so it is not free", f.path, f.why)
		}
	}
	texts := map[string][]byte{}
	for i, f := range forgeries {
		text := texts[f.flags]
		if text == nil {
			text = verifiable(t, dir, fmt.Sprint("forgery", i), f.flags)
			texts[f.flags] = text
		}
		if v := checker.Check(f.made(t, text)); v.Verdict != checker.Refused || !strings.Contains(v.Why, f.why) {
			t.Errorf("%s: %+v", f.why, v)
		} else {
			said[v.Why] = true
		}
	}
	for _, why := range ofChoices { // TestPairsAreChosenThroughTheProgram meets them, on records enough for a choice
		said[why] = true
	}
	all := strings.Join(slices.Sorted(maps.Keys(said)), "\n")
	must.Contain(t, all, reasons(t)...)
}

// forgery is a file that single changes do not make: texts of a model are replaced, and the checksum is computed again unless
// raw.
type forgery struct {
	why, flags string
	from, to   string // a regular expression, and what takes its place
	also, with string // another text, and what takes its place
	raw        bool
}

var forgeries = []forgery{
	{why: "the key \"WEIGHTS\" twice", flags: "--algorithm dpgdsc", from: `"weights": \[`,
		to: `"weights": [1], "weights": [`},
	{why: "is not in plain lower-case letters", flags: "--algorithm dpgdsc", from: `"derivation"`,
		to: `"Paper_Claim": {"source": "x", "epsilon": 0.01, "delta": 0, "holds": true}, "derivation"`},
	{why: "not a model file", flags: "--algorithm dpgdsc", from: `^\{`, to: `{{`, raw: true},
	{why: "changed after it was written", flags: "--algorithm dpgdsc", from: `"bmi"`, to: `"bmj"`, raw: true},
	{why: "the pure guarantee", flags: "--algorithm dpgdsc --delta 0", from: `"epsilon-DP"`, to: `"epsilon-XP"`},
	{why: "mu is stated as", flags: "--algorithm dpgdsc", from: `"mu": [0-9.e-]+`, to: `"mu": 0.1`},
	{why: "the noise gives delta", flags: "--algorithm dpgdsc", from: `"epsilon": [0-9.e-]+`, to: `"epsilon": 0.9`},
	{why: "a mean gradient", flags: "--algorithm dpgdsc", from: `"mean_error": [0-9.e-]+`, to: `"mean_error": 1e-30`},
	{why: "section 2.4", flags: "--task metric --algorithm dpgdsc", from: `"pair_diameter": [0-9.e-]+`,
		to: `"pair_diameter": 0.1`},
	{why: "Dg is stated as", flags: "--algorithm dpgdsc", from: `"pair_diameter": [0-9.e-]+`, to: `"pair_diameter": 100`},
	{why: "L is stated as", flags: "--algorithm dpgdsc", from: `"smoothness": [0-9.e-]+`, to: `"smoothness": 100`},
	{why: "in query groups", flags: "--algorithm dpgdsc", from: `"problem": \{`,
		to: `"problem": {"groups": [{"size": 10, "number": 3}],`},
	{why: "the largest part of a query group", flags: "--algorithm moments",
		from: `"problem": \{((?s).*)"theorem": "joint-moments",(\s*)"numbers": \{`,
		to:   `"problem": {"groups": [{"size": 10, "number": 20}],$1"theorem": "group-moments",$2"numbers": {"group": 3,`,
		also: "signed sum and second moments", with: "moments within groups"},
	{why: "a mean of clipped terms", flags: drawnPairs, from: `"roundoff": [0-9.e-]+`, to: `"roundoff": 1e-30`},
	{why: "clipped to a norm of 1", flags: drawnPairs, from: `"term_norm": 1`, to: `"term_norm": 0`},
	{why: "in a norm that does not fit", flags: drawnPairs + " --method moments", from: `"law": "Gaussian"`,
		to: `"law": "Laplace"`, also: "with Gaussian noise", with: "with Laplace noise"},
	{why: "an update is 1e-30", flags: "online --records 200 --every 20 --state forged.state",
		from: `"roundoff": [0-9.e-]+`, to: `"roundoff": 1e-30`},
	{why: "the words of the guarantee", flags: drawnPairs, from: `at most 6 of an individual`,
		to: `at most 1 of an individual`},
	{why: "the words of the guarantee", flags: "cluster -k 2", from: `of 2 clusters, 5 times`,
		to: `of 2 clusters, 4 times`},
	{why: "the theorem and the levels of rank sum and number of positives", flags: "evaluate descent.json",
		from: `"theorem": "class-pairs"`, to: `"theorem": "score-sums"`},
	{why: "the theorem and the levels of difference", flags: "evaluate descent.json --compare moments.json",
		from: `"levels": 2`, to: `"levels": 1`},
	{why: "the file states the figure auc", flags: "evaluate descent.json --compare moments.json",
		from: `"auc_difference"`, to: `"auc"`},
	{why: "the problem of the plan", flags: "cluster -k 2", from: `"bounds_from_data"`,
		to: `"problem": {"constants": {"origin": "proved"}}, "bounds_from_data"`},
	{why: "no theorem covers a run of", flags: "cluster -k 2", from: `"one record"`, to: `"one person"`,
		also: "same n, one record replaced"},
	{why: "the number of records in all and in query groups", flags: "--algorithm dpgdsc",
		from: `"unit": "one record",(\s*)"relation": "[^"]*"`,
		to:   `"unit": "one person",$1"relation": "same number n of persons, all rows of one person replaced: how many they are, features and labels"`,
		also: `"max_rows_per_person": 0`, with: `"groups": [{"size": 100, "number": 1}], "max_rows_per_person": 2`},
	{why: "a parameter has", flags: "--algorithm dpgdsc", from: `"features": 12`, to: `"features": 0`},
	{why: "but no algorithm makes such releases", flags: "--algorithm moments", from: `"name": "sum of records"`,
		to: `"name": "sum"`},
	{why: "the same number of classifiers", flags: "evaluate descent.json", from: `"cells": [0-9]+`,
		to: `"classifiers": 2`},
	{why: "in one tuple of an epoch", flags: "pairs train --tuple 4 --loss triplet", from: `"group": 1`, to: `"group": 2`},
	{why: "a hidden step multiplies", flags: "--algorithm convergent-descent",
		from: `"(update_error|step_size|noise_to_radius)": [0-9.e-]+`, to: `"update_error": 9, "step_size": 100`},
	{why: "an average is 1e-30", flags: "--algorithm dpgdc", from: `"output_error": [0-9.e-]+`,
		to: `"output_error": 1e-30`},
	{why: "of an update", flags: "--algorithm dpgdsc", from: `"update_error": [0-9.e-]+`, to: `"update_error": 1e-30`},
	{why: "the pair diameter Dg of a clipped score", flags: "--model mlp --hidden 2 --steps 3",
		from: `"pair_diameter": [0-9.e-]+`, to: `"pair_diameter": 0.1`},
	{why: "the pair diameter Dg of a clipped embedding", flags: "--model mlp --hidden 2 --steps 3 --task metric --dim 2",
		from: `"pair_diameter": [0-9.e-]+`, to: `"pair_diameter": 0.1`},
	{why: "the number of weights outside the network", flags: "--model mlp --hidden 2 --steps 3",
		from: `"weights": \[`, to: `"weights": [0.1, `},
	{why: "the radius of a part of the network", flags: "--model mlp --hidden 2 --steps 3",
		from: `"weights": \[\s*[0-9.e-]+`, to: `"weights": [1e6`},
	{why: "the largest norm of the weights (a run", flags: "--algorithm dpgdsc", from: `"weights": \[\s*[0-9.e-]+`,
		to: `"weights": [1e6`},
}

func (f forgery) made(t *testing.T, text []byte) []byte {
	t.Helper()
	forged := regexp.MustCompile(f.from).ReplaceAll(text, []byte(f.to))
	if f.also != "" {
		forged = bytes.ReplaceAll(forged, []byte(f.also), []byte(f.with))
	}
	if string(forged) == string(text) {
		t.Fatalf("%s: nothing was changed", f.why)
	}
	if f.raw {
		return forged
	}
	end := bytes.LastIndex(forged, []byte(",\n  \"checksum\""))
	sum := sha256.Sum256(append(bytes.Clone(forged[:end]), "\n}\n"...))
	return fmt.Appendf(forged[:end:end], ",\n  \"checksum\": \"sha256:%x\"\n}\n", sum)
}

// reasons are the words by which the checker refuses a file, from its source: of each call, the literal text before the first number,
// and what same, above and enough write after it.
func reasons(t *testing.T) (all []string) {
	t.Helper()
	after := map[string]string{"refuse": "", "same": ": it has ", "above": " is stated as ", "enough": " is "}
	where := map[string]int{"refuse": 1}
	for _, name := range []string{"checker.go", "theorems.go", "numbers.go", "kinds.go", "networks.go"} {
		file := must.Get(parser.ParseFile(token.NewFileSet(),
			filepath.Join(source(t), "..", "..", "docs", "checker", name), nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if !ok || len(call.Args) == 0 {
				return true
			}
			end, ok := after[name.Name]
			if !ok {
				return true
			}
			arg := call.Args[where[name.Name]]
			if sum, ok := arg.(*ast.BinaryExpr); ok {
				arg, end = sum.X, ""
			}
			if literal, ok := arg.(*ast.BasicLit); ok {
				words := must.Get(strconv.Unquote(literal.Value))(t)
				parts := regexp.MustCompile(`%\.?[0-9]*[a-z]`).Split(words, -1) // its longest part without numbers
				longest := slices.MaxFunc(parts, func(x, y string) int { return len(x) - len(y) })
				if len(parts) == 1 {
					longest += end
				}
				if slices.Contains(all, longest) {
					t.Errorf("two reasons to refuse have the words %q", longest)
				}
				all = append(all, longest)
			}
			return true
		})
	}
	if len(all) < 30 {
		t.Fatalf("the checker has %d reasons to refuse a file: %q", len(all), all)
	}
	return all
}
