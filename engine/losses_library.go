package engine

import (
	"maps"
	"slices"
	"strings"
)

// LibraryLoss is a built-in scalar loss. It is an expression with parameters that have
// default values. Its bounds are derived from the expression, for all values of the
// parameters.
type LibraryLoss struct {
	Name  string // the name on the command line
	Title string // a description of the loss, with its source
	Text  string // the formula, in the notation of autodiff.Parse
	// Params are the default values of the parameters.
	Params map[string]float64
}

// Library returns the built-in scalar losses. The loss "logistic" is also implemented by
// Logistic and MahalanobisLogistic, for which backends have special kernels.
//
// For AUC, a margin u > 0 means that a pair is in the right order. For metric learning, a
// margin u > 0 means that a pair of equal labels is closer than 1, or that a pair of
// different labels is farther apart than 1.
func Library() []LibraryLoss {
	one := func(name string, v float64) map[string]float64 { return map[string]float64{name: v} }
	return []LibraryLoss{
		{Name: "logistic", Title: "logistic loss, smooth and convex", Text: "log1p(exp(-u))"},
		{Name: "hinge", Title: "hinge loss with margin m, convex, not smooth", Text: "max(0, m - u)", Params: one("m", 1)},
		{Name: "squared-hinge", Title: "squared hinge loss with margin m, convex and smooth", Text: "max(0, m - u)^2",
			Params: one("m", 1)},
		{Name: "huberised-hinge", Title: "hinge loss with a smooth kink of width h (Moreau envelope), convex and " +
			"smooth (Nesterov 2005, [Kang21])",
			Text: "(max(0, 1 - u)^2 - max(0, 1 - h - u)^2) / (2*h)", Params: one("h", 0.5)},
		{Name: "exponential", Title: "exponential loss, convex and smooth; its constants grow like exp of the largest margin",
			Text: "exp(-u)"},
		{Name: "gompertz", Title: "Gompertz loss with slope c, smooth and bounded but not convex ([Han19]: c = 2)",
			Text: "exp(-exp(c*u))", Params: one("c", 2)},
		{Name: "ramp", Title: "ramp loss: the hinge, cut off below the margin s < 1, neither convex nor smooth ([Han19])",
			Text: "max(0, 1 - u) - max(0, s - u)", Params: one("s", -1)},
		{Name: "smooth-ramp", Title: "ramp loss with smoothed hinges (Moreau envelopes with parameter h), smooth " +
			"but not convex",
			Text:   "(max(0, 1 - u)^2 - max(0, 1 - h - u)^2 - max(0, s - u)^2 + max(0, s - h - u)^2) / (2*h)",
			Params: map[string]float64{"s": -1, "h": 0.5}},
		{Name: "sigmoid", Title: "sigmoid loss, a smooth approximation of the 0-1 loss, bounded but not convex",
			Text: "sigmoid(-u)"},
		{Name: "square", Title: "square loss with target m, convex and smooth", Text: "(m - u)^2", Params: one("m", 1)},
		{Name: "moreau-abs", Title: "Huber loss: the Moreau envelope of the absolute loss |m - u|, which is " +
			"quadratic if |m - u| <= h, convex and smooth",
			Text: "where(abs(m - u) <= h, (m - u)^2 / (2*h), abs(m - u) - h/2)", Params: map[string]float64{"m": 1, "h": 0.5}},
		{Name: "contrastive", Title: "half the squared hinge with margin m; a metric should give squared distances " +
			"below 1 - m for equal labels and above 1 + m for different labels",
			Text: "max(0, m - u)^2 / 2", Params: one("m", 0.5)},
	}
}

// Expression returns the loss with some of its parameters changed. It fails if a name in
// o.Params is not a parameter of the loss, or if NewExpression fails.
func (l LibraryLoss) Expression(o ExpressionOptions) (*Expression, error) {
	params := maps.Clone(l.Params)
	for name, v := range o.Params {
		if _, ok := params[name]; !ok {
			return nil, lossError(" %s has no parameter %q%s", l.Name, name, l.has())
		}
		params[name] = v
	}
	return NewExpression(l.Name, l.Text, ExpressionOptions{Params: params, Clip: o.Clip})
}

// has returns the names of the parameters, for an error message.
func (l LibraryLoss) has() string {
	if len(l.Params) == 0 {
		return ""
	}
	return "; it has " + strings.Join(slices.Sorted(maps.Keys(l.Params)), ", ")
}

// LibraryByName returns the built-in loss with the given name, and whether there is one.
func LibraryByName(name string) (LibraryLoss, bool) {
	for _, l := range Library() {
		if l.Name == name {
			return l, true
		}
	}
	return LibraryLoss{}, false
}
