package autodiff

import (
	"slices"
	"strings"

	"dyad/internal/words"
)

// function is a function in formulas, with least to most arguments (most = 0 means any number).
type function struct {
	usage       string
	least, most int
	build       func(b *builder, x []int) int
}

var functions = map[string]function{
	"abs":        one("abs", opAbs),
	"atan":       one("atan", opAtan),
	"cos":        one("cos", opCos),
	"erf":        one("erf", opErf),
	"exp":        one("exp", opExp),
	"expm1":      one("expm1", opExpm1),
	"log":        one("log", opLog),
	"log1p":      one("log1p", opLog1p),
	"hazard":     one("hazard", opHazard),
	"lognormcdf": one("lognormcdf", opLogNormCDF),
	"normcdf":    one("normcdf", opNormCDF),
	"sigmoid":    one("sigmoid", opSigmoid),
	"sin":        one("sin", opSin),
	"softplus":   one("softplus", opSoftplus),
	"sqrt":       one("sqrt", opSqrt),
	"square":     one("square", opSquare),
	"tanh":       one("tanh", opTanh),
	"max":        {"max(x, y)", 2, 0, fold(opMax)},
	"min":        {"min(x, y)", 2, 0, fold(opMin)},
	"ge":         {"ge(x, y)", 2, 2, fold(opGe)},
	"gt":         {"gt(x, y)", 2, 2, fold(opGt)},
	"eq":         {"eq(x, y)", 2, 2, fold(opEq)},
	"pow":        {"pow(x, c)", 2, 2, nil}, // needs the place of the exponent for errors
	"relu": {"relu(x)", 1, 1, func(b *builder, x []int) int {
		return b.binary(opMax, b.constant(0), x[0])
	}},
	"clamp": {"clamp(x, lo, hi)", 3, 3, func(b *builder, x []int) int {
		return b.binary(opMin, b.binary(opMax, x[0], x[1]), x[2])
	}},
	"where": {"where(mask, x, y)", 3, 3, func(b *builder, x []int) int {
		return b.where(x[0], x[1], x[2])
	}},
	"cosh": {"cosh(x)", 1, 1, func(b *builder, x []int) int {
		return b.binary(opMul, b.constant(0.5), b.binary(opAdd, b.unary(opExp, x[0]), b.unary(opExp, b.neg(x[0]))))
	}},
	"sinh": {"sinh(x)", 1, 1, func(b *builder, x []int) int {
		return b.binary(opMul, b.constant(0.5), b.binary(opSub, b.unary(opExpm1, x[0]), b.unary(opExpm1, b.neg(x[0]))))
	}},
}

func one(name string, o op) function {
	return function{name + "(x)", 1, 1, func(b *builder, x []int) int { return b.unary(o, x[0]) }}
}

func fold(o op) func(*builder, []int) int {
	return func(b *builder, x []int) int {
		v := x[0]
		for _, y := range x[1:] {
			v = b.binary(o, v, y)
		}
		return v
	}
}

// Functions lists the functions that Parse accepts, with their arguments and in alphabetical order:
// "abs(x)", "clamp(x, lo, hi)" and so on.
func Functions() []string {
	list := make([]string, 0, len(functions))
	for _, f := range functions {
		list = append(list, f.usage)
	}
	slices.Sort(list)
	return list
}

// synonyms maps names in other languages to names of functions.
var synonyms = map[string]string{
	"ln": "log", "fabs": "abs", "maximum": "max", "minimum": "min", "clip": "clamp",
	"logistic": "sigmoid", "expit": "sigmoid", "if": "where", "ifelse": "where", "sqr": "square",
	"arctan": "atan", "phi": "normcdf", "cdf": "normcdf", "ndtr": "normcdf", "pnorm": "normcdf", "norm_cdf": "normcdf",
	"log_ndtr": "lognormcdf", "logcdf": "lognormcdf",
	"heaviside": "where", "sign": "where", "select": "where", "power": "pow", "log2": "log", "log10": "log",
}

func (p *parser) reserved(name string) bool {
	_, ok := functions[name]
	return ok || name == "u" || name == "pi" || name == "e"
}

// call reads the arguments of the function name, which starts at byte at.
func (p *parser) call(name string, at int) int {
	f, ok := functions[name]
	if !ok {
		if _, value := p.names[name]; value || p.reserved(name) {
			return p.fail(p.pos, "expected an operator before \"(\"; a product is written with *")
		}
		known := make([]string, 0, len(functions))
		for n := range functions {
			known = append(known, n)
		}
		hint := suggest(name, known)
		if hint == "" {
			hint = "; there are " + strings.Join(known, ", ")
		}
		return p.fail(at, "unknown function %s%s", name, hint)
	}
	p.pos++ // (
	var args, places []int
	for p.peek() != ')' || len(args) > 0 {
		p.peek()
		places = append(places, p.pos)
		args = append(args, p.comparison())
		if !p.accept(",") {
			break
		}
	}
	switch next := p.peek(); {
	case next == ')':
		p.pos++
	case next != 0:
		return p.unexpected()
	default:
		return p.fail(p.pos, `expected "," or ")" in the arguments of %s, but the formula ends here`, name)
	}
	if len(args) < f.least || f.most > 0 && len(args) > f.most {
		return p.fail(at, "%s has %d arguments; write %s", name, len(args), f.usage)
	}
	switch name {
	case "pow":
		return p.power(args[0], args[1], places[1])
	case "where":
		if c, constant := p.b.isConst(args[0]); !p.b.code[args[0]].op.mask() && !(constant && (c == 0 || c == 1)) &&
			!p.masks(args[0]) {
			return p.fail(places[0], "the first argument of where must be a comparison, such as u > 0")
		}
	}
	return f.build(p.b, args)
}

// masks reports whether x is a product of comparisons.
func (p *parser) masks(x int) bool {
	in := p.b.code[x]
	return in.op.mask() || in.op == opSquare && p.masks(in.a) || in.op == opMul && p.masks(in.a) && p.masks(in.b)
}

// suggest returns "; did you mean ...?" with the nearest known name, or "".
func suggest(name string, known []string) string {
	lower := strings.ToLower(name)
	if s, ok := synonyms[lower]; ok && slices.Contains(known, s) {
		return "; did you mean " + s + "?"
	}
	slices.Sort(known)
	best, least := "", 3
	if len(lower) == 1 { // every letter has the same distance to a single letter
		least = 1
	}
	for _, k := range known {
		if d := words.Distance(lower, k); d < least && d < max(len(k), 2) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
