package checker

import (
	"math"
	"math/big"
	"strings"
)

// The program rounds up, finds epsilon by bisection (searched), and computes constants of a loss on a slightly larger
// range of margins (slack). So a stated number is at least the true number, and exceeds it by at most these relative
// amounts. A higher number does not belong to the other numbers of the file.
const rounding, searched, slack = 1e-7, 1e-6, 1e-4

// above refuses a stated number that is below the true number, or exceeds it by more than the relative amount part.
func above(what string, stated float64, truth *big.Float, part float64) {
	refuse(real(stated).Cmp(truth) < 0 || real(stated).Cmp(mul(truth, real(1+part))) > 0,
		"%s is stated as %.9g, but the theorem gives %.9g", what, stated, truth)
}

// constants proves G, L and Dg of the loss (docs/theory.md sections 2.2 to 2.4), or passes.
func constants(p node) {
	R, b, r := p.num("norm_bound"), p.num("label_bound"), p.num("radius")
	enough("a mean gradient", p.num("mean_error"), p.num("constants.lipschitz")/8) // by its theorem at least a fourth of G
	kind := map[string]string{"log1p(exp(-u))": "logistic", "(m - u)^2": "square",
		"max(0, m - u)": "hinge"}[p.text("loss.formula")]
	params, _ := p.get("loss.params").(map[string]any)
	m, margin := params["m"].(float64)
	pass(kind == "" || p.get("loss.clip") != nil || margin != (kind != "logistic") || margin != (len(params) == 1) ||
		m < 0, "the loss %q is not logistic, square or hinge", p.text("loss.formula"))
	full, q, zero := real(4, R, b), real(b, b), real(0)                             // 2 R l
	reach, fall, rise, bend, part := mul(full, real(r)), real(1), zero, zero, slack // reach is a bound of |u|
	// |u| <= V = 2 R r l; largest -phi', phi' and phi''
	if p.text("loss.form") == "score" {
		switch V := reach; kind {
		case "logistic":
			fall, bend = sigmoid(V), real(0.25)
		case "square":
			fall, rise, bend = mul(real(2), add(V, real(m))), larger(zero, mul(real(2), sub(V, real(m)))), real(2)
		}
	} else { // largest positive and negative parts of -t phi'(t (1 - M)), |t| <= q, 0 <= M <= A, and of t^2 phi''
		full, fall, rise = real(4, R, R), q, q
		past := sub(mul(full, real(r)), real(1)) // A - 1
		reach = larger(q, mul(q, past))
		switch kind {
		case "logistic":
			near := larger(zero, neg(past)) // the least |1 - M|
			fall, rise, bend = mul(q, sigmoid(mul(q, past))), mul(q, sigmoid(q)),
				mul(real(b, b, b, b), mul(sigmoid(mul(q, near)), sigmoid(neg(mul(q, near)))))
			if mul(q, near).Cmp(real(1.278)) > 0 {
				fall = quo(real(0.278465), near)
			}
			if mul(q, near).Cmp(real(2.399)) > 0 {
				bend = quo(real(0.43924), mul(near, near))
			}
		case "square": // 2 t (m + t (A - 1)) is largest at t = q, or before it at m/(2 (1 - A))
			t := q
			if t0 := quo(real(m), mul(real(-2), past)); past.Sign() < 0 && t0.Cmp(q) < 0 {
				t, part = t0, 0.05 // the program bounds it on cells of t
			}
			fall, rise, bend = mul(mul(real(2), t), add(real(m), mul(t, past))), mul(mul(real(2), q), add(real(m), q)),
				real(2, b, b, b, b)
		}
	}
	above("G", p.num("constants.lipschitz"), mul(full, larger(fall, rise)), part)
	dg, spread := p.num("constants.pair_diameter"), mul(full, add(fall, rise))
	if kind == "logistic" && p.text("loss.form") == "metric" && real(dg).Cmp(spread) < 0 {
		limit, _ := quo(real(dg), full).Float64()
		h := func(x float64) float64 { // sup t sigm(t x) over 0 < t <= q
			if x*b*b < -1.278 {
				return 0.278465 / -x
			}
			return b * b / (1 + math.Exp(-b*b*x)) * (1 + 1e-14)
		}
		refuse(!spreadAtMost(limit*(1-1e-15), 4*R*R*r*(1+1e-15), h, [3]float64{0, 0, math.Pi / 4},
			[3]float64{1.5708, 1.5708, 0.7854}, 0), "docs/theory.md section 2.4 does not prove the pair diameter "+
			"Dg = %v", dg)
	} else {
		above("Dg", dg, spread, part)
	}
	if bend.Sign() > 0 {
		above("L", p.num("constants.smoothness"), mul(mul(full, full), bend), slack)
	}
	L := p.get("constants.smoothness") // 0 if no margin reaches the kink
	refuse(bend.Sign() == 0 && L != nil && (L != 0. || reach.Cmp(real(m)) >= 0),
		"the hinge loss is not smooth, but the file states L = %v", L)
	same("convexity", p.get("constants.convex"), true)
}

// grouped returns three numbers. The first is the largest share of the pairs that contain one record (section 3.2).
// The other two are 0 without query groups (section 11.20). The second is the size of the largest part of a query
// group. A part has at most 64 records, or fewer for persons. The third is the sum of the weights of the pairs within
// parts.
func grouped(pr node) [3]*big.Float {
	n, groups, records, largest, all, part, weight := pr.num("records"), pr.list("groups"), 0., 0., real(0), 0., 0.
	if len(groups) == 0 {
		return [3]*big.Float{quo(real(2), real(n)), real(0), real(0)}
	}
	most := math.Max(2, math.Floor(64/math.Max(1, pr.num("max_rows_per_person"))))
	for _, g := range groups {
		size, number, parts := g.num("size"), g.num("number"), math.Ceil(g.num("size")/most)
		records, largest, all = records+size*number, max(largest, size), add(all, real(size, max(0, size-1), number))
		part, weight = max(part, math.Ceil(size/parts)), weight+number*(size-parts)/2
	}
	same("the number of records in all and in query groups", n, records)
	return [3]*big.Float{quo(real(2, largest-1), all), real(part), real(weight)}
}

// certificate returns the sensitivity that the theorem of a release gives for its numbers x, the problem and the
// schedule.
func certificate(p, pr, r node) *big.Float {
	x, theorem, s, law := r.at("certificate.numbers"), r.text("certificate.theorem"), p.at("schedule"), r.text("noise.law")
	// For several releases, a root of squares is the sensitivity for Gaussian noise alone. Laplace noise needs the L1
	// norm, or only the parameter.
	several := theorem == "hidden-iterates" || theorem == "pairwise-stream" || theorem == "mean-gradient" && !moments(p)
	coordinatewise := strings.Contains("recursion average pair-batches class-pairs score-sums cell-counts", theorem)
	refuse(several && law != "Gaussian" || law == "Laplace" && !coordinatewise,
		"the theorem %s bounds the sensitivity in a norm that does not fit %s noise", theorem, law)
	if alone(p) {
		return ofNumbers(theorem, law, x, pr)
	}
	radius, clip := pr.num("radius"), 0.
	if moments(p) {
		clip = p.num("clip_radius")
	}
	square, n := real(clip, clip), pr.num("records")
	joint := func(first, second *big.Float) *big.Float { // J(first^2, second^2) of section 11.5
		alpha, beta := mul(first, first), mul(second, second)
		if alpha.Cmp(add(beta, beta)) >= 0 {
			return add(first, first)
		}
		return root(add(mul(real(2), add(alpha, beta)), quo(mul(alpha, alpha), add(beta, beta))))
	}
	exact, least := real(1), n // class-sums: the number of positives, section 11.2
	switch theorem {
	case "recursion", "average", "hidden-iterates": // sections 3.3 to 3.5: delta_t = min(c delta_(t-1) + p Dg eta + 2 rho, diam C)
		eta, rho, alpha, L := real(s.num("step_size")), x.num("update_error"), real(pr.num("l2")),
			real(pr.num("constants.smoothness"))
		// The error of an update is the error of a gradient plus six roundings of its sums (section 4.1).
		length := add(real(radius), mul(eta, add(real(pr.num("constants.lipschitz")), mul(alpha, real(radius)))))
		least := add(mul(eta, real(pr.num("mean_error"))), mul(real(6*0x1p-53), length))
		refuse(real(rho).Cmp(least) < 0,
			"the stated rounding error %v of an update is too small", rho)
		shrink, stretch := sub(real(1), mul(eta, alpha)), sub(mul(eta, add(L, alpha)), real(1))
		c := larger(larger(shrink, neg(shrink)), larger(stretch, neg(stretch)))
		move, delta, sum, diameter := add(mul(mul(grouped(pr)[0], real(pr.num("constants.pair_diameter"))), eta),
			real(2, rho)), real(0), real(0), real(2, radius)
		if pr.text("loss.form") == "metric" { // semidefinite matrices
			diameter = mul(root(real(min(2, pr.num("features")))), real(radius))
		}
		if theorem == "hidden-iterates" { // rounding to the grid moves both states, so that s includes it
			step := add(move, mul(real(2, r.num("noise.grid")), root(real(coordinates(pr)))))
			return hidden(r, step, c, diameter, int(s.num("steps")))
		}
		for range int(s.num("steps")) {
			if delta = add(mul(c, delta), move); delta.Cmp(diameter) > 0 {
				delta = diameter
			}
			sum = add(sum, delta)
		}
		if theorem == "average" { // the partial sums of iterates of norm r are rounded
			enough("an average", x.num("output_error"), s.num("steps")/2*radius)
			return add(quo(sum, real(s.num("steps"))), real(2, x.num("output_error")))
		}
		return delta
	case "mean-gradient": // section 3.7; in float32 (except for networks) and in query groups, neighbours share the error of their kernel (section 4.2)
		exact, least = mul(grouped(pr)[0], real(pr.num("constants.pair_diameter"))),
			max(2*(pr.num("constants.lipschitz")+pr.num("mean_error")),
				map[bool]float64{true: 0x1p53 * pr.num("mean_error")}[(pr.num("mean_error") < 0x1p-36*pr.num("constants.lipschitz") || pr.text("constants.origin") == clippedTerms) && len(pr.list("groups")) == 0])
	case "signed-sums": // section 11.3, with weights of at most 1
		bound := map[bool]float64{true: pr.num("norm_bound"), false: clip}[x.text("name") == "sum of records"]
		exact, least = real(2, bound), n*bound
	case "second-moments": // section 11.4
		exact, least = mul(root(real(min(2, pr.num("features")))), square), n*clip*clip
	case "joint-moments": // section 11.5
		exact, least = joint(real(clip), mul(real(x.num("scale")), square)), n*clip
	case "group-moments": // section 11.20
		refuse(grouped(pr)[1].Cmp(real(x.num("group"))) != 0,
			"the largest part of a query group is stated as %v records, but is %v", x.num("group"), grouped(pr)[1])
		exact = mul(sub(real(1), quo(real(1), real(x.num("group")))), joint(real(clip), mul(real(x.num("scale")), square)))
		least, _ = mul(grouped(pr)[2], real(clip)).Float64()
	case "class-moments": // section 11.6
		second := mul(real(x.num("scale")), square)
		change := add(mul(real(2), add(square, mul(second, second))), real(x.num("count"), x.num("count")))
		exact, least = larger(joint(real(clip), second), root(change)), n*clip
	}
	enough(theorem, x.num("error"), least)
	return add(exact, real(2, x.num("error")))
}

// enough refuses a rounding error that is less than one rounding of a number as large as size (section 4.1).
func enough(what string, stated, size float64) {
	refuse(stated < 0x1p-53*size*(1-1e-9), "the stated rounding error of %s is %v, which is less than one rounding "+
		"can be", what, stated)
}

// weights refuses weights that a run gives with a probability below 1e-12 (section 12.7). It also refuses weights in
// which the share of noise differs from the share that the plan states.
func weights(m, p, pr, r node) {
	d, T, eta, radius, length := coordinates(pr), p.num("schedule.steps"), p.num("schedule.step_size"),
		pr.num("radius"), 0.
	for _, w := range m.list("weights") {
		v, _ := w.value.(float64)
		length = math.Hypot(length, v)
	}
	x := 27.7 + math.Log(T) // e^-27.7 < 1e-12
	most, gamma := radius, d+math.Sqrt(2*d*x)+x
	tail := map[string][2]float64{"Gaussian": {math.Sqrt(d) + math.Sqrt(2*x), math.Sqrt(d)},
		"K-norm": {gamma, math.Sqrt(d * (d + 1))}, "Laplace": {gamma, math.Sqrt(2 * d)}}[r.text("noise.law")]
	far, usual := r.num("noise.scale")*tail[0], r.num("noise.scale")*tail[1]
	if r.text("certificate.theorem") == "mean-gradient" {
		walk := map[bool]float64{false: T, true: T * (2*T + 1) / (6 * (T + 1))}[p.get("schedule.average") == true]
		far, usual = T*eta*far, eta*math.Sqrt(walk)*usual
	}
	if r.text("certificate.theorem") == "hidden-iterates" {
		far, usual = T*far, usual*math.Sqrt(left(1-eta*pr.num("l2"), T))
	}
	if !moments(p) && pr.text("loss.form") == "score" && eta*pr.num("l2") <= 2 { // gradient steps that start from 0
		most = min(radius, T*eta*(pr.num("constants.lipschitz")+pr.num("mean_error"))+far)
	}
	if m.get("report.noise_to_radius") != nil && !moments(p) {
		above("the noise in the weights", m.num("report.noise_to_radius")*(1+1e-9), real(usual/radius), rounding)
	}
	above("the largest norm of the weights (a run exceeds it with probability below 1e-12)", most*(1+1e-6),
		real(min(length, 1e300)), math.MaxFloat64)
}

// coordinates returns the length of the parameter: d, or d (d + 1)/2 for symmetric matrices (section 2.5). Without a
// problem it is 1, because the sensitivities are in the norm of the noise.
func coordinates(pr node) float64 {
	if pr.value == nil {
		return 1
	}
	d := pr.num("features")
	refuse(d < 1, "a parameter has %v features", d)
	return map[bool]float64{true: d * (d + 1) / 2, false: d}[pr.text("loss.form") == "metric"]
}
