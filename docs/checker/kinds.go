package checker

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// kinds holds the kinds of runs without a schedule whose releases state all numbers of their theorems. A stream is an
// exception: the numbers of its loss are in the problem. Each kind has the formats of its files, the theorems of its
// releases and their sections in docs/theory.md.
var kinds = map[string]struct{ formats, theorems, sections string }{
	"k-means":       {"dyad-clusters/1", "cluster-sums", "11.16"},
	"pairs":         {"dyad-model/1 dyad-model/2", "pair-batches", "9.2"},
	"tuples":        {"dyad-model/1 dyad-model/2", "pair-batches", "9.8"},
	"pairs-moments": {"dyad-model/1", "pair-moments", "9.11"},
	"onpairc":       {"dyad-model/1", "pairwise-stream", "8.3"},
	"onpairstrc":    {"dyad-model/1", "pairwise-stream", "8.3"},
	"evaluation":    {"<nil>", "class-pairs cell-counts score-sums", "13.5"}, // files of figures name no format
}

func alone(p node) bool { return kinds[p.text("algorithm")].theorems != "" }

// ofNumbers returns the sensitivity that a theorem gives from its numbers x alone, in the norm that the noise needs.
// It returns nil for other theorems.
func ofNumbers(theorem, law string, x, pr node) *big.Float {
	var exact *big.Float
	rho := real(2)
	refuse(theorem == "pair-batches" && x.num("term_norm") < 1 || theorem == "pair-moments" && x.num("radius") < 1,
		"terms of pairs are clipped to a norm of 1")
	switch theorem {
	case "pairwise-stream":
		return stream(x, pr)
	case "cluster-sums": // section 11.16
		return real(2, x.num("levels"))
	case "pair-batches": // section 9.2: 2 h kappa/|B| + 2 rho min(kappa, batches) for each epoch; for Gaussian noise the squares of the epochs are added
		kappa, batches, epochs, h := max(1, x.num("group")), x.num("batches"), real(x.num("epochs")), x.num("term_norm")
		enough("a mean of clipped terms", x.num("roundoff"), 3*h)
		if law == "Gaussian" {
			epochs = root(epochs)
		}
		exact, rho = mul(epochs, quo(real(2, kappa, h), real(x.num("batch")))),
			mul(epochs, real(2, min(kappa, batches), x.num("roundoff")))
	case "pair-moments": // section 9.11: kappa sqrt(2 h^4 + c^2), in units of the clipping norm as above
		h := x.num("radius")
		enough(theorem, x.num("error"), h*h)
		return add(mul(real(max(1, x.num("group"))), root(add(real(2, h, h, h, h), real(x.num("count"), x.num("count"))))),
			real(2, x.num("error")))
	case "class-pairs": // section 13.2
		exact = real(2, x.num("levels"), x.num("records")-1)
	case "score-sums": // section 13.4
		exact = real(2, x.num("levels"))
	case "cell-counts": // section 13.3: counts of cells, or of classifiers
		if exact = real(2); x.get("classifiers") != nil {
			exact = real(x.num("classifiers"))
		}
		if law != "Laplace" {
			exact = root(exact)
		}
	default:
		return nil
	}
	same("the norm of sensitivity and noise", x.get("manhattan"), law == "Laplace")
	if theorem != "pair-batches" {
		rho = real(2, x.num("error"))
	}
	return add(exact, rho)
}

// stream returns the joint sensitivity of the updates of a stream (section 8.3). It is the largest value over the
// records k from the last record of the burn-in to the last record of the first batch. A record has one pair with
// each later record, of weight 1/D_t, while it is in the buffer.
func stream(x, pr node) *big.Float {
	n, m, first, buffer, dg, p := int(x.num("horizon")), int(x.num("batch")), int(x.num("burn_in")), int(x.num("buffer")),
		real(pr.num("constants.pair_diameter")), real(1)
	same("the number of records of a stream", x.get("horizon"), pr.get("records"))
	reservoir, classes := x.get("reservoir") == true, x.get("per_class") == true
	refuse(x.get("reservoir") != reservoir || x.get("per_class") != classes || (reservoir || classes) && buffer < 2 ||
		reservoir && classes || m < 1 || first < 1 || n < first+m,
		"the numbers of the stream do not fit together (buffer %v, batches of %v)", x.get("buffer"), x.get("batch"))
	pass(n > 1e6, "the stream is longer than 10^6 records")
	enough("an update", x.num("roundoff"), pr.num("constants.lipschitz"))
	if classes {
		p = add(p, larger(real(1), quo(real(pr.num("constants.lipschitz")), dg)))
	}
	until := []*big.Float{real(0), real(0)} // sum of 1/D_t
	for t := 2; t <= n; t++ {
		size := float64(t - 1)
		if buffer > 0 {
			size = min(size, float64(buffer))
		}
		until = append(until, add(until[t-1], quo(real(1), real(size))))
	}
	most := real(0)
	for k := first; k <= first+m; k++ {
		squares := real(0)
		for from, to := first, first+m; to <= n; from, to = to, to+m {
			last, moved := to, real(0)
			if buffer > 0 && !reservoir && !classes {
				last = min(to, k+buffer)
			}
			if last > max(from, k) {
				moved = mul(p, sub(until[last], until[max(from, k)]))
			}
			if from < k && k <= to {
				moved = add(moved, real(1))
			}
			if moved.Sign() > 0 {
				moved = add(quo(mul(dg, moved), real(float64(m))), real(2, x.num("roundoff")))
				squares = add(squares, mul(moved, moved))
			}
		}
		most = larger(most, squares)
	}
	return root(most)
}

// hidden returns the joint sensitivity of steps if only the last state is released (section 3.9).
// Each step increases the distance of two states, which is at most D, by at most s, and contracts
// it by c.
func hidden(r node, s, c, diameter *big.Float, steps int) *big.Float {
	refuse(c.Cmp(real(1)) > 0, "a hidden step multiplies the distance of two states by %v; want at most 1", c)
	for key, number := range map[string]*big.Float{"gap": s, "contraction": c, "diameter": diameter} {
		above("the event's "+key, r.num("event."+key), number, rounding)
	}
	same("the grid of hidden states", r.get("event.grid"), r.get("noise.grid"))
	power, sum, squares, best := real(1), real(0), real(0), (*big.Float)(nil)
	for range steps {
		sum, squares, power = add(sum, power), add(squares, mul(power, power)), mul(power, c)
		if moved := add(mul(power, diameter), mul(s, sum)); best == nil || quo(moved, root(squares)).Cmp(best) < 0 {
			best = quo(moved, root(squares))
		}
	}
	if whole := quo(mul(s, sum), root(squares)); whole.Cmp(best) < 0 {
		best = whole
	}
	return best
}

// left returns the variance of the noise of T steps, relative to the variance of the noise of one step, if each step
// keeps a part c of the state: 1 + c^2 + ... + c^(2(T-1)).
func left(c, T float64) (sum float64) {
	for power := 1.; T > 0; T, power = T-1, power*c*c {
		sum += power
	}
	return sum
}

// paid returns how often the cost of a release is paid, and the expected fields of its event: the count, the kind for
// Gaussian noise, and the sensitivity.
func paid(p, r node) (times, count float64, kind string, moves any) {
	times, count, kind, moves = 1, 1, "gaussian", r.get("certificate.sensitivity")
	x := r.at("certificate.numbers")
	switch theorem := r.text("certificate.theorem"); {
	case theorem == "mean-gradient" && !moments(p):
		times, count = p.num("schedule.steps"), p.num("schedule.steps")
	case theorem == "pairwise-stream":
		count, kind = math.Floor((x.num("horizon")-x.num("burn_in"))/x.num("batch")), "stream"
	case theorem == "pair-batches": // one event for all batches
		count, kind = x.num("batches")*x.num("epochs"), "stream"
	case theorem == "hidden-iterates": // one event for the last state
		count, kind, moves = p.num("schedule.steps"), "convergent", nil
	}
	return times, count, kind, moves
}

// measured holds the releases of an evaluation and of clusters (sections 11.16, 13.1, 13.2 and 13.10). Each has its
// theorem, its levels, and the figure that is a function of it.
var measured = map[string][3]any{
	"centre of the scores": {"score-sums", 0x1p12, ""}, "spread of the scores": {"score-sums", 0x1p12, ""},
	"numbers and sums of records":                                       {"cluster-sums", 0x1p26, ""},
	"rank sum and number of positives":                                  {"class-pairs", 1., "auc"},
	"sum of losses over pairs of classes":                               {"class-pairs", 0x1p16, "mean_loss"},
	"numbers of records by class and score":                             {"cell-counts", nil, "operating_points"},
	"numbers of records classified correctly":                           {"cell-counts", nil, "right"},
	"difference of the rank sums of two models and number of positives": {"class-pairs", 2., "auc_difference"},
	"pairs of classes that two models order differently":                {"class-pairs", 2., "disagreement"},
}

// claims compares the statements of a file of such a run with its releases.
func claims(m, p node, releases []node) {
	g, algorithm, x, law := m.at("guarantee"), p.text("algorithm"), releases[0].at("certificate.numbers"),
		releases[0].text("noise.law")
	kappa, trained := x.text("group"), "the matrix"
	if m.text("format") == "dyad-model/2" {
		trained = "the parameters of the network"
	}
	pairs := map[string]string{
		"one individual": "same ids and pairs, at most " + kappa +
			" of an individual, one individual's record replaced: features and the labels of its pairs",
		"a group of " + kappa + " pairs": "same ids and pairs, the records of at most kappa pairs replaced",
		"one pair":                       "same ids and pairs, one pair's record replaced",
	}
	streams := map[string]string{"one record": "same stream, one record replaced, features and label"}
	relation := map[string]map[string]string{
		"k-means": {"one record": "same n, one record replaced",
			"one individual": "same ids, one individual's record replaced: features, and labels of its pairs, which clusters " +
				"do not read"},
		"pairs": pairs, "pairs-moments": pairs, "tuples": {"one record": "same n and ids, one record replaced, " +
			"features and label"},
		"onpairc": streams, "onpairstrc": streams,
		"evaluation": {"one record": "same n, one record replaced, features and label",
			"one person": "same number n of persons, all rows of one person replaced: how many they are, features and labels"},
	}[algorithm][g.text("unit")]
	var names []string
	for _, r := range releases {
		names = append(names, r.text("name"))
		if row := measured[r.text("name")]; algorithm == "evaluation" || algorithm == "k-means" {
			same("the theorem and the levels of "+r.text("name"),
				[]any{r.get("certificate.theorem"), r.get("certificate.numbers.levels")}, row[:2])
			right := float64(len(m.list("figures.right")))
			refuse((row[2] == "right") != (r.get("certificate.numbers.classifiers") != nil) ||
				row[2] == "right" && (right < 1 || r.num("certificate.numbers.classifiers") != right),
				"the release %q and the figures do not have the same number of classifiers", r.text("name"))
		}
		if n := r.get("certificate.numbers.records"); n != nil {
			same("the number of evaluated records or persons, or whether they are public",
				[]any{m.get("figures.records"), m.get("figures.unit"), m.get("public")},
				[]any{n, map[string]any{"one person": "person"}[g.text("unit")], false})
		}
		same("the clusters or dimensions of two releases", []any{x.get("clusters"), x.get("dim")},
			[]any{r.get("certificate.numbers.clusters"), r.get("certificate.numbers.dim")})
	}
	for name, row := range measured {
		refuse(m.get("figures."+fmt.Sprint(row[2])) != nil && !slices.Contains(names, name),
			"the file states the figure %v, but not the release that it comes from (%s)", row[2], name)
	}
	what := map[string]string{
		"k-means": fmt.Sprintf("numbers and sums of the records of %v clusters, %d times", x.get("clusters"),
			len(releases)),
		"pairs-moments": "the second moments of similar and of dissimilar pairs and the number of similar pairs",
		"evaluation":    strings.Join(names, ", "),
	}[algorithm]
	if what == "" && strings.HasPrefix(algorithm, "on") {
		what = fmt.Sprintf("every iterate of pairwise online descent, up to %v of them", releases[0].get("event.count"))
		same("the stream's task, schedule or number of weights",
			[]any{m.get("task"), p.get("schedule.steps"), p.get("schedule.burn_in"), float64(len(m.list("weights"))),
				p.get("problem.max_rows_per_person")},
			[]any{map[string]any{"score": "auc", "metric": "metric"}[p.text("problem.loss.form")],
				releases[0].get("event.count"), x.get("burn_in"), coordinates(p.at("problem")), 0.})
	} else if what == "" {
		what = fmt.Sprintf("%s after each of %v batches in %v epochs", trained, releases[0].get("event.count"),
			x.get("epochs"))
	}
	refuse(relation == "", "no theorem covers a run of %s that protects %v", algorithm, g.get("unit"))
	same("the problem of the plan and its number of releases",
		[]any{p.get("problem") != nil, len(releases) == 1 || algorithm == "k-means" || algorithm == "evaluation"},
		[]any{strings.HasPrefix(algorithm, "on"), true})
	same("the words of the guarantee (relation, releases, claim of a paper)",
		[]any{g.get("relation"), strings.TrimSuffix(g.text("released"), "; this model is the average of the iterates"),
			g.get("paper_claim")}, []any{relation, what + ", with " + law + " noise", nil})
	refuse(algorithm == "tuples" && kappa != "1", "a record must be in one tuple of an epoch, not in %v", kappa)
	figures := map[string]any{
		"algorithm": algorithm, "mode": p.get("mode"), "clusters": x.get("clusters"), "dimensions": x.get("dim"),
		"rounds": float64(len(releases)), "kappa": x.get("group"), "batch": x.get("batch"),
		"batches_per_epoch": x.get("batches"), "epochs": x.get("epochs"),
		"norm_bound": p.get("problem.norm_bound"), "radius": p.get("problem.radius"), "l2": p.get("problem.l2"),
		"lipschitz": p.get("problem.constants.lipschitz"), "pair_diameter": p.get("problem.constants.pair_diameter"),
		"sensitivity":      releases[0].get("certificate.sensitivity"),
		"noise_multiplier": releases[0].num("noise.scale") / releases[0].num("certificate.sensitivity"), "guarantee": g.value,
	}
	for key, planned := range figures {
		for _, report := range []string{"report.", "pairs_report.", "tuples_report."} {
			if stated := m.get(report + key); stated != nil && planned != nil {
				same("the figure "+key, stated, planned)
			}
		}
	}
}

// released returns a description of what the plan releases, in the words of the program.
func released(p node, releases []node) string {
	words := map[string]string{
		"hidden-iterates": "last iterate of noisy projected gradient descent",
		"recursion":       "last iterate of projected gradient descent",
		"average":         "average iterate of projected gradient descent",
		"mean-gradient":   "mean pair gradient of every step",
		"class-sums":      "number of positives", "joint-moments": "signed sum and second moments",
		"group-moments": "moments within groups", "second-moments": "second moments",
		"class-moments": "moments of both classes", "pair-choice": "choice of pairs",
		"signed-sums sum of records": "sum of records (centre)", "signed-sums signed sum": "signed sum",
		"signed-sums gradient of the pointwise logistic loss": "%d times the gradient of the pointwise logistic loss",
	}
	each, times, order, before := "", map[string]int{}, []string{}, ""
	if moments(p) {
		words["mean-gradient"], each = "%d mean gradients", ", each"
	}
	if chosen(releases) > 0 {
		before, each = "before the choice: ", ", each"
	}
	for _, r := range releases {
		word := r.text("certificate.theorem")
		if word == "signed-sums" {
			word += " " + r.text("certificate.numbers.name")
		}
		if word == "pair-choice" {
			before = ""
		}
		if word = before + words[word]; times[word] == 0 {
			order = append(order, word)
		}
		times[word]++
	}
	for i, word := range order {
		refuse(strings.HasSuffix(" "+word, " ") || times[word] > 1 && !strings.Contains(word, "%d"),
			"%d releases are named %q, but no algorithm makes such releases", times[word], word)
		order[i] = strings.ReplaceAll(word, "%d", fmt.Sprint(times[word]))
	}
	return strings.Join(order, ", ") + each + " with " + releases[0].text("noise.law") + " noise" +
		map[bool]string{true: ", and the choice by the exponential mechanism"}[chosen(releases) > 0]
}

// statement returns the verdict Verified with what was proved.
func statement(m, p, pr, r node) Verdict {
	g, what, units, kernel := m.at("guarantee"), "this model was",
		"that the stated number of units and feature bounds are true, and not taken from the data", ""
	sections := map[string]string{"convergent-descent": "3.9", "dpgdsc": "3.4 and 3.6", "dpgdc": "3.5 and 3.6",
		"gradient-perturbation": "3.7", "dpgdc2": "3.7", "moments": "11.7", "moment-metric": "11.13",
		"moments-descent": "7.14"}[p.text("algorithm")] + map[bool]string{true: " with 3.11"}[ofNetwork(m, p).value != nil]
	if alone(p) {
		sections = kinds[p.text("algorithm")].sections
		what = cmp.Or(map[string]string{"k-means": "these clusters were",
			"evaluation": "these figures were"}[p.text("algorithm")], what)
	} else {
		kernel = fmt.Sprintf(" (kernel %s)", pr.text("method"))
		units = fmt.Sprintf("that the n = %v units had feature norms of at most %v and label sizes of at most %v, "+
			"and that these bounds do not come from the data%s", pr.num("records"), pr.get("norm_bound"), pr.get("label_bound"),
			map[bool]string{true: ", and that the network processes each record by itself"}[ofNetwork(m, p).value != nil])
	}
	sections += map[bool]string{true: " for persons (3.10, 11.14)"}[!alone(p) &&
		pr.num("max_rows_per_person") > 0] + map[bool]string{true: " within query groups (11.20)"}[r.text("certificate.theorem") == "group-moments"] + map[bool]string{true: " with a choice of pairs (11.22)"}[chosen(p.list("releases")) > 0] + map[string]string{"Gaussian": " (noise: 5.1, composition: 6.2)", "K-norm": " (noise: 5.3, composition: 6.3)", "Laplace": " (noise: 5.2, composition: 6.3)"}[r.text("noise.law")]
	epsilon := fmt.Sprintf("%.9g", g.num("epsilon"))
	// the shown epsilon is never less than the proved one
	if shown, _ := strconv.ParseFloat(epsilon, 64); shown < g.num("epsilon") {
		epsilon = g.text("epsilon")
	}
	return Verdict{
		Verdict: Verified, Unit: g.text("unit"), Epsilon: g.num("epsilon"), Delta: p.num("budget.delta"),
		Statement: fmt.Sprintf("%s released with noise; docs/theory.md section %s proves (%s, %v)-differential "+
			"privacy for %s (%s), if the bounds, n and the run are as stated",
			what, sections, epsilon, p.get("budget.delta"), g.text("unit"), g.text("relation")),
		Unknown: []string{
			units,
			fmt.Sprintf("that the program followed its plan and released nothing else, and that its rounding "+
				"errors are as stated%s", kernel),
			"that the weights come from this run, and that its noise was exact and secret",
			"what budget other runs on the same people spent; the ledger has the total",
		},
	}
}
