package checker

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// ofNetwork returns the network that was trained on all pairs of records, nil for other models.
func ofNetwork(m, p node) node {
	if alone(p) {
		return node{}
	}
	return m.at("network")
}

// ofProblem compares the weights and the constants with the problem of a training on records.
func ofProblem(m, p, pr, last node) {
	if n := ofNetwork(m, p); n.value != nil {
		networkWeights(m, n, pr)
		networkConstants(m, n, pr)
		return
	}
	if !alone(p) {
		weights(m, p, pr, last)
	}
	if usesLoss(p) {
		constants(pr)
	}
}

// clippedTerms is the origin of the constants that clipping enforces.
const clippedTerms = "enforced by clipping Jacobians of records or gradients of pairs"

// scoreRange is the bound to which the scores of a network are projected. The scores of an MLP are not projected,
// since their range is proved.
const scoreRange = 16

// part is a matrix of a network. It is projected to a ball.
type part struct{ size, radius float64 }

// parts returns the parts of a network for records within a norm, and a bound of the network's outputs (section 3.11,
// "A by intervals").
func parts(n node, norm float64) (all []part, reach float64) {
	kind, _ := n.get("kind").(string)
	same("the kind of the network or its fields (hidden, parts, layers)",
		[]any{kind > "", strings.EqualFold(kind, "mlp"), n.get("hidden") != nil, n.get("parts") == nil,
			n.get("layers") != nil}, []any{true, kind == "mlp", kind == "mlp", kind == "mlp", kind == "layers"})
	if kind != "mlp" {
		for _, l := range n.list("parts") {
			all = append(all, part{l.num("rows") * l.num("cols"), l.num("radius")})
		}
		return all, scoreRange
	}
	in, gain := n.num("features"), n.num("gain")*math.Sqrt(n.num("features"))
	for i, h := range n.list("hidden") {
		units := node{map[string]any{"size": h.value}}.num("size")
		p := part{units * (in + 1), 2 * math.Sqrt(units)}
		if i == 0 {
			p.radius *= gain
		}
		norm = p.radius * math.Hypot(norm, 1)
		root, activation := math.Sqrt(units), n.text("activation")
		refuse(activation != "tanh" && activation != "softplus", "the activation %q is not known", activation)
		if activation == "tanh" {
			norm = min(norm, root)
		} else {
			norm += root * math.Ln2
		}
		all, in = append(all, p), units
	}
	last := part{n.num("dim") * in, 2 * math.Sqrt(n.num("dim"))}
	return append(all, last), last.radius * norm
}

// networkConstants proves G and Dg of a loss with clipped Jacobians (section 3.11), or passes.
func networkConstants(m, n, pr node) {
	C, b, dim := n.num("clip"), pr.num("label_bound"), n.num("dim")
	_, reach := parts(n, pr.num("norm_bound"))
	F, how, q := real(reach), n.text("compare"), real(b, b)
	of, known := map[string]string{"<nil>": "u = (y - y')(f - f')", "cosine": "u = y y' f.f'",
		"distance": "u = y y' (1 - ||f - f'||^2)", "contrastive": "||f - f'||^2/2 for equal labels, else max(0, 1 - ||f " +
			"- f'||)^2/2"}[how]
	refuse(!known || dim < 1 || how == "<nil>" && dim != 1, "outputs of %v numbers cannot be compared by %q", dim, how)
	same("the task of the network", m.text("task"), map[bool]string{true: "auc", false: "metric"}[how == "<nil>"])
	params, _ := m.get("loss.params").(map[string]any)
	margin, stated := params["m"].(float64)
	kind := map[string]string{"log1p(exp(-u))": "logistic", "(m - u)^2": "square",
		"max(0, m - u)": "hinge"}[m.text("loss.formula")]
	pass(how != "contrastive" && (kind == "" || m.get("loss.clip") != nil || margin < 0),
		"the loss %q of a network is not logistic, square, hinge or contrastive", m.text("loss.formula"))
	if how != "contrastive" {
		of = m.text("loss.formula") + map[bool]string{true: fmt.Sprintf(", m = %v", margin)}[stated] + ", " + of
	}
	words := strings.Replace(pr.text("loss.definition"), "log(1 + exp(-u))", "log1p(exp(-u))", 1)
	same("the loss of a network, its parameters, how outputs are compared, and the clipping norm of Jacobians",
		[]any{strings.HasPrefix(words, of+", f = "), strings.HasSuffix(words, ", Jacobians clipped to "+n.text("clip")),
			m.get("loss") == nil, stated, len(params)},
		[]any{true, true, how == "contrastive", kind == "square" || kind == "hinge", map[bool]int{true: 1}[stated]})
	slopes := func(V *big.Float) (fall, rise *big.Float) { // the largest -phi' and phi' for |u| <= V
		switch kind {
		case "logistic":
			return sigmoid(V), real(0)
		case "square":
			return mul(real(2), add(V, real(margin))), larger(real(0), mul(real(2), sub(V, real(margin))))
		}
		return real(1), real(0)
	}
	if how == "<nil>" { // l = 2 b, |u| <= 2 l F
		fall, rise := slopes(mul(real(4, b), F))
		above("the slope of a clipped score", pr.num("constants.lipschitz"), mul(real(4, C, b), larger(fall, rise)), slack)
		above("the pair diameter Dg of a clipped score", pr.num("constants.pair_diameter"),
			mul(real(4, C, b), add(fall, rise)), slack)
		return
	}
	if F.Cmp(real(1)) > 0 { // distances are between embeddings in the unit ball
		F = real(1)
	}
	A := larger(mul(real(2), F), real(1))
	switch how {
	case "cosine":
		fall, rise := slopes(q)
		A = mul(q, larger(fall, rise))
	case "distance":
		fall, rise := slopes(mul(q, larger(real(1), mul(real(4), mul(F, F)))))
		A = mul(mul(real(4), mul(q, F)), larger(fall, rise))
	}
	above("the slope of a clipped embedding", pr.num("constants.lipschitz"), mul(real(2, C), A), slack)
	above("the pair diameter Dg of a clipped embedding", pr.num("constants.pair_diameter"), mul(real(4, C), A), slack)
}

// networkWeights refuses weights outside of the balls to which the parts of a network are projected.
func networkWeights(m, n, pr node) {
	all, _ := parts(n, pr.num("norm_bound"))
	weights, sum := m.list("weights"), 0.
	for _, p := range all {
		sum += p.radius * p.radius
		length := 0.
		refuse(p.size > float64(len(weights)), "the parts of the network have more weights than the model")
		for _, w := range weights[:int(p.size)] {
			v, _ := w.value.(float64)
			length = math.Hypot(length, v)
		}
		above("the radius of a part of the network", p.radius*(1+1e-6), real(min(length, 1e300)), math.MaxFloat64)
		weights = weights[int(p.size):]
	}
	same("the number of weights outside the network", len(weights), 0)
	above("the radius of all balls", pr.num("radius"), real(math.Sqrt(sum)*(1-1e-12)), slack)
	same("the number of features, the smoothness or the convexity", []any{n.get("features"), nil, false},
		[]any{pr.get("features"), pr.get("constants.smoothness"), pr.get("constants.convex")})
}
