// Package checker recomputes the guarantee of a model file of Dyad from the file alone. It shares no code with the
// program, and imports only the standard library. It follows docs/formats.md, docs/ledger.md and sections of
// docs/theory.md, which its comments name. docs/theory.md#checked-models states what the checker proves, and
// docs/verify.md explains the verdicts.
package checker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// The verdicts.
const Verified, NotCovered, Refused = "verified", "not covered", "refused"

// Verdict is the result of Check for a model.
type Verdict struct {
	Verdict   string   `json:"verdict"`
	Why       string   `json:"why,omitempty"`       // why the file is not verified
	Statement string   `json:"statement,omitempty"` // what is verified
	Epsilon   float64  `json:"epsilon,omitempty"`
	Delta     float64  `json:"delta,omitempty"`
	Unit      string   `json:"unit,omitempty"`
	Unknown   []string `json:"unknown,omitempty"` // assumptions of the statement that no file can show
}

// Code returns the exit code of a program that prints v: 0 for Verified, 1 for NotCovered and 64 for Refused.
func (v Verdict) Code() int { return map[string]int{NotCovered: 1, Refused: 64}[v.Verdict] }

// stop ends a check with the verdict if the condition where is true. refuse and pass end it with the verdicts Refused
// and NotCovered.
func stop(where bool, verdict, why string, args []any) {
	if where {
		panic(Verdict{Verdict: verdict, Why: fmt.Sprintf(why, args...)})
	}
}

func refuse(where bool, why string, args ...any) { stop(where, Refused, why, args) }
func pass(where bool, why string, args ...any)   { stop(where, NotCovered, why, args) }

// node is a value of a JSON document. Methods of node find a value by a path, which is a
// list of keys, separated by dots.
type node struct{ value any }

// get returns the value at a path, nil if it is missing.
func (n node) get(path string) any {
	for key := range strings.SplitSeq(path, ".") {
		object, _ := n.value.(map[string]any)
		n.value = object[key]
	}
	return n.value
}

func (n node) at(path string) node     { return node{n.get(path)} }
func (n node) text(path string) string { return fmt.Sprint(n.get(path)) }

func (n node) list(path string) (all []node) {
	values, _ := n.get(path).([]any)
	for _, v := range values {
		all = append(all, node{v})
	}
	return all
}

// num returns the number at a path. It refuses a negative number, and a count that is not an integer.
func (n node) num(path string) float64 {
	x, ok := n.get(path).(float64)
	refuse(!ok || x < 0 || x != math.Trunc(x) &&
		strings.Contains(" records max_rows_per_person features dim rows cols size number steps schedule.steps levels group "+
			"batch batches epochs classifiers horizon burn_in buffer ", " "+path+" "),
		"%s must be a number of at least 0, and a whole number if it is a count", path)
	return x
}

// once refuses a key that an object has twice, in any spelling, because readers differ in which value they take. It
// also refuses a key that is not in plain lower-case letters, because some readers accept such a key for the plain
// key. Only options and schemas have keys that users choose.
func once(d *json.Decoder, object, ours bool) {
	for keys := ""; d.More(); {
		token, _ := d.Token()
		inner := ours
		if object {
			as := fmt.Sprintf("%q", token)
			key := strings.ToUpper(strings.ToLower(as))
			refuse(strings.Contains(keys, key), "it has the key %s twice, so programs may read different values", key)
			refuse(ours && strings.ToLower(key) != as,
				"the key %s is not in plain lower-case letters, so programs may read it differently", as)
			keys, inner = keys+key, ours && key != `"OPTIONS"` && key != `"ENCODER"`
			token, _ = d.Token()
		}
		if open, nested := token.(json.Delim); nested {
			once(d, open == '{', inner)
		}
	}
	_, _ = d.Token()
}

// same refuses values that differ.
func same(what string, a, b any) {
	refuse(!reflect.DeepEqual(a, b), "the file contradicts itself about %s: it has %v and %v", what, a, b)
}

// Check returns the verdict on the bytes of a model file.
func Check(file []byte) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			if v, _ = r.(Verdict); v.Verdict == "" { // math/big panics on 0/0
				v = Verdict{Verdict: Refused, Why: fmt.Sprint("a number is out of range: ", r)}
			}
		}
	}()
	var m node
	err := json.Unmarshal(file, &m.value)
	refuse(err != nil, "it is not a model file: %v", err)
	const sum = ",\n  \"checksum\": \"sha256:"
	end := max(0, bytes.LastIndex(file, []byte(sum)))
	pass(end == 0 && m.get("plan") == nil && m.get("checksum") == nil,
		"it has no checksum and no plan: an earlier version wrote it, or dyad threshold --figures, whose figures have both")
	hash := sha256.Sum256(append(bytes.Clone(file[:end]), "\n}\n"...))
	refuse(string(file[end:]) != sum+hex.EncodeToString(hash[:])+"\"\n}\n",
		"it was changed after it was written: its checksum does not match")
	p, pr := m.at("plan"), m.at("plan.problem")
	releases := covered(m, p)
	agree(m, p, pr, releases)
	ofProblem(m, p, pr, releases[len(releases)-1])
	squares, pure := real(0), real(0)
	for _, r := range releases {
		squares, pure = spent(p, pr, r, squares, pure)
	}
	compose(m.at("guarantee"), p.at("budget"), p.text("mode") == "certified", squares, pure)
	once(json.NewDecoder(bytes.NewReader(file)), false, true)
	return statement(m, p, pr, releases[0])
}

// theorems holds the certificates of each covered algorithm.
var theorems = map[string]string{
	"dpgdsc": "recursion", "dpgdc": "average", "convergent-descent": "hidden-iterates",
	"gradient-perturbation": "mean-gradient", "dpgdc2": "mean-gradient", "moment-metric": "signed-sums class-moments",
	"moments":         "class-sums signed-sums second-moments joint-moments group-moments pair-choice",
	"moments-descent": "class-sums signed-sums second-moments joint-moments mean-gradient",
}

func moments(p node) bool { return strings.HasPrefix(p.text("algorithm"), "moment") }
func usesLoss(p node) bool {
	return p.get("problem") != nil && (!moments(p) || p.text("algorithm") == "moments-descent")
}

// covered returns the releases of a plan that this checker recomputes. It passes for other plans.
func covered(m, p node) []node {
	steps, _ := p.get("schedule.steps").(float64)
	releases, origin, run := p.list("releases"), p.text("problem.constants.origin"), kinds[p.text("algorithm")]
	allowed, formats := strings.Fields(theorems[p.text("algorithm")]+run.theorems), "dyad-model/1"
	network := ofNetwork(m, p).value != nil
	if alone(p) {
		formats = run.formats
	} else if network {
		formats = map[bool]string{true: "dyad-model/2"}[theorems[p.text("algorithm")] == "mean-gradient"]
	}
	pass(p.value == nil, "the model has no plan; streams, users' messages and uncharged runs have none")
	pass(p.text("format") != "dyad-plan/1" && p.text("format") != "dyad-plan/2" ||
		!slices.Contains(strings.Fields(formats), m.text("format")),
		"this checker does not cover this format of model or plan, or networks of this kind of run")
	pass(len(allowed) == 0, "this checker does not recompute the theorem of the algorithm")
	pass(p.get("bounds_from_data") != false || p.get("draft_away") != nil,
		map[bool]string{true: "ranges were taken from the data, so the guarantee does not hold",
			false: "the draft of the schema was missing, so its ranges may come from the data"}[p.get("draft_away") == nil])
	pass(strings.Contains(m.text("guarantee.warnings"), "noise is not secret"), "its noise came from a seed")
	pass(alone(p) && p.get("mode") != "certified", "the noise follows the formula of a paper")
	pass(p.get("budget.epsilon") == 0., "an earlier version did not record its budget")
	pass(usesLoss(p) && network != (origin == clippedTerms) ||
		usesLoss(p) && !network && origin != "proved" && origin != "derived by interval arithmetic",
		"the constants of its loss are neither proved nor derived")
	pass(moments(p) && p.get("problem.label_bound") != 1.,
		"its labels may be outside [-1, 1]; section 11 of docs/theory.md needs labels inside")
	pass(len(releases) == 0 || !alone(p) && !(steps >= 1 && steps <= 1e7) ||
		!alone(p) && (!moments(p) && p.get("schedule.step_size") == 0. || p.get("schedule.burn_in") != nil ||
			p.get("schedule.update") != nil && !network),
		"this checker needs 1 to 10^7 equal steps, and no average of only some iterates")
	for _, r := range releases {
		pass(!slices.Contains(allowed, r.text("certificate.theorem")) ||
			(r.get("noise") == nil) != (r.text("certificate.theorem") == "pair-choice"),
			"this checker does not recompute the certificate of every release")
	}
	return releases
}

// chosen returns the number of pairs of columns that were chosen, 0 without a choice.
func chosen(releases []node) (pairs float64) {
	for i, r := range releases {
		if r.text("certificate.theorem") == "pair-choice" {
			count := r.num("event.count")
			refuse(pairs > 0 || i == 0 || i == len(releases)-1 || count < 1 || count > 8 || count != math.Trunc(count),
				"a plan may choose pairs of columns only once, 1 to 8 of them, between two noisy releases")
			pairs = count
		}
	}
	return pairs
}

// agree compares the plan with the other statements of the file.
func agree(m, p, pr node, releases []node) {
	g, last := m.at("guarantee"), releases[len(releases)-1]
	same("the guarantee and its copy in the report", g.value, m.get("report.guarantee"))
	if alone(p) {
		claims(m, p, releases)
		return
	}
	unit, relation := "one record", "same n, one record replaced, features and label"
	if pr.num("max_rows_per_person") > 0 {
		unit, relation = "one person",
			"same number n of persons, all rows of one person replaced: how many they are, features and labels"
	}
	network := ofNetwork(m, p).value != nil
	form := map[string]any{"auc": "score", "metric": "metric",
		"network": "other"}[map[bool]string{true: "network", false: m.text("task")}[network]]
	same("the form of the loss and the mode", []any{pr.get("loss.form"), p.get("mode")},
		[]any{form, map[bool]string{true: "certified", false: "paper"}[g.get("paper_claim") == nil]})
	same("the unit, the relation and the releases", []any{g.get("unit"), g.get("relation"), g.get("released")},
		[]any{unit, relation, released(p, releases)})
	weights := float64(len(m.list("weights")))
	if chosen(releases) > 0 && weights <= 512 { // the weights of products come after the others
		weights = min(weights, coordinates(pr))
	}
	same("averaging and the number of weights", []any{p.get("schedule.average"), network || weights == coordinates(pr)},
		[]any{strings.HasPrefix(p.text("algorithm"), "dpgdc"), true})
	if p.text("algorithm") != "moments" && !network { // the plan of moments is about least squares
		same("the loss", []any{m.get("loss.formula"), m.get("loss.params"), m.get("loss.clip")},
			[]any{pr.get("loss.formula"), pr.get("loss.params"), pr.get("loss.clip")})
	}
	for key, planned := range map[string]any{ // figures that a report may have
		"algorithm": p.get("algorithm"), "mode": p.get("mode"), "records": pr.get("records"), "persons": pr.get("records"),
		"features": pr.get("features"), "norm_bound": pr.get("norm_bound"), "radius": pr.get("radius"),
		"constants_origin": pr.get("constants.origin"),
		"l2":               pr.get("l2"), "lipschitz": pr.get("constants.lipschitz"),
		"smoothness":    pr.get("constants.smoothness"),
		"pair_diameter": pr.get("constants.pair_diameter"), "noise": last.get("noise.law"),
		"sensitivity": last.get("certificate.sensitivity"), "sigma": last.get("noise.scale"),
		"scale": last.get("noise.scale"), "steps": p.get("schedule.steps"), "step_size": p.get("schedule.step_size"),
		"grid": last.get("noise.grid"), "noise_multiplier": last.num("noise.scale") / last.num("certificate.sensitivity"),
		"bounds_from_data": p.get("bounds_from_data"),
	} {
		if stated := m.get("report." + key); stated != nil {
			same("the report's "+key, stated, planned)
		}
	}
	if g.get("paper_claim") != nil {
		same("the claim", []any{g.get("paper_claim.epsilon"), g.get("paper_claim.delta"), g.get("paper_claim.holds")},
			[]any{p.get("budget.epsilon"), p.get("budget.delta"), g.num("epsilon") <= p.num("budget.epsilon")})
	}
}

// spent adds the cost of a release to the totals: mu^2 for Gaussian noise, otherwise the pure epsilon (sections 5.1
// to 5.3).
func spent(p, pr, r node, squares, pure *big.Float) (*big.Float, *big.Float) {
	e, sensitivity := r.at("event"), r.num("certificate.sensitivity")
	// sections 6.3 and 11.22: a choice is mu-GDP for the mu of half of its epsilon
	if r.text("certificate.theorem") == "pair-choice" {
		same("the sensitivity or the event kind of a choice", []any{sensitivity, e.get("kind")},
			[]any{2 * max(1, r.num("certificate.numbers.levels")), "bounded-range"})
		mu := pureMu(e.num("epsilon") / 2)
		return add(squares, mul(mul(mu, mu), real(e.num("count")))), pure
	}
	scale := r.num("noise.scale")
	above("the sensitivity ("+r.text("certificate.theorem")+")", sensitivity, certificate(p, pr, r), rounding)
	_, exponent := math.Frexp(scale) // the grid is the power of two 2^28 to 2^29 below the scale
	same("the grid of the noise", r.get("noise.grid"), math.Ldexp(1, max(exponent-29, -1074)))
	ratio := quo(real(sensitivity), real(scale))
	square, epsilon := real(0), ratio
	times, count, kind, moves := paid(p, r)
	switch law := r.text("noise.law"); {
	case law == "Gaussian":
		same("the Gaussian event", []any{e.get("kind"), e.get("sensitivity"), e.get("sigma")}, []any{kind, moves, scale})
		square, epsilon = mul(mul(ratio, ratio), real(times)), real(0)
	case law == "K-norm" || kind == "stream" && law == "Laplace" && r.get("certificate.numbers.manhattan") == true:
		same("the kind of the event", e.text("kind"), map[string]string{"stream": "pure-stream", "gaussian": "pure"}[kind])
		above("the event's epsilon", e.num("epsilon"), ratio, rounding)
	default: // Laplace noise, of an algorithm that releases its parameter
		length := root(real(coordinates(pr)))
		epsilon = mul(ratio, length)
		same("the noise", []any{law, e.get("kind"), e.get("scale")}, []any{"Laplace", "laplace", scale})
		above("the event's sensitivity", e.num("sensitivity"), mul(real(sensitivity), length), rounding)
	}
	same("the number of equal releases", e.num("count"), count)
	return add(squares, square), add(pure, epsilon)
}

// compose compares the guarantee g with the composition of all releases (sections 6.1 to 6.3), and with the budget.
func compose(g, budget node, certified bool, squares, pure *big.Float) {
	epsilon, delta := g.num("epsilon"), budget.num("delta")
	if certified {
		above("the budget", budget.num("epsilon"), real(epsilon), searched)
	}
	if delta == 0 {
		same("the pure guarantee", []any{g.text("kind"), g.get("delta"), g.get("mu"), squares.Sign()},
			[]any{"epsilon-DP", nil, nil, 0})
		above("epsilon", epsilon, pure, searched)
		return
	}
	mu := root(squares)
	same("the guarantee of Gaussian noise", []any{g.text("kind"), g.get("delta"), pure.Sign()},
		[]any{"(epsilon, delta)-DP", delta, 0})
	above("mu", g.num("mu"), mu, searched)
	given := gaussianDelta(real(epsilon), mu)
	refuse(given.Cmp(real(delta)) > 0 || gaussianDelta(real(epsilon, 1-searched), mu).Cmp(real(delta)) <= 0,
		"at epsilon %v, the noise gives delta = %.9g, but the file states delta = %v", epsilon, given, delta)
}
