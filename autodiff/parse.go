package autodiff

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The limits of Parse, against text that is not a formula.
const (
	maxText  = 20000 // bytes
	maxDepth = 1000  // depth of nested parentheses, signs and exponents
)

// ParseError describes an error in a formula and its position.
type ParseError struct {
	// Text is the formula.
	Text string
	// Column is the position of the error, counted in characters from 1.
	Column int
	// Reason describes the error and the correct spelling.
	Reason string
}

// Error returns a text with the column and the reason.
func (e *ParseError) Error() string {
	return fmt.Sprintf("autodiff: formula, column %d: %s", e.Column, e.Reason)
}

// Caret returns the formula and, on a second line, a caret below the position of the error.
func (e *ParseError) Caret() string {
	return e.Text + "\n" + strings.Repeat(" ", e.Column-1) + "^"
}

// Parse reads phi(u) from text, for example "log1p(exp(-u))",
// "max(0, 1-u)^2" or "where(u > s, 0, (s-u)^2)" with a parameter s.
//
//   - Numbers are decimal, as in Go, and rounded to float64. pi and e are constants, and u is the
//     variable. Other names are looked up in params.
//   - The operators are, from the weakest: one comparison < <= > >= (a mask, 1 or 0), the sums + and -,
//     the products * and /, signs, and ^, which associates to the right. An exponent must be
//     constant. -u^2 is -(u^2).
//   - The functions are abs, atan, clamp(x, lo, hi), cos, cosh, erf, exp, expm1, log, log1p,
//     lognormcdf, max and min (two or more arguments), normcdf (the distribution function of the
//     standard normal law), hazard (the normal density divided by normcdf), pow(x, c), relu, sigmoid,
//     sin, sinh, softplus, sqrt, square, tanh, where(mask, x, y), and ge, gt, eq, which String writes.
//   - Definitions "name = formula;" may precede the result.
//
// The Expr is the definition of the loss: constants are folded in float64 when Parse builds it. An
// error in the text is a *ParseError. All other errors concern a parameter. Its value is not
// finite, its name is already the name of a function, a constant or u, or its name is not a valid
// name.
func Parse(text string, params map[string]float64) (Expr, error) {
	p := &parser{text: text, b: newBuilder(), names: make(map[string]int)}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch {
		case !isName(name):
			return Expr{}, fmt.Errorf("autodiff: parameter %q: a name must be a letter followed by letters, digits "+
				"and _", name)
		case p.reserved(name):
			return Expr{}, fmt.Errorf("autodiff: parameter %q: the name already has a meaning in formulas; use another name",
				name)
		case !finite(params[name]):
			return Expr{}, fmt.Errorf("autodiff: parameter %q is %v, but it must be finite", name, params[name])
		}
		p.names[name] = p.b.constant(params[name])
	}
	if len(text) > maxText {
		return Expr{}, fmt.Errorf("autodiff: the formula has %d bytes, but at most %d are allowed", len(text), maxText)
	}
	root, err := p.parsed()
	if err != nil {
		return Expr{}, err
	}
	e := p.b.expr(root)
	if e.Size() > MaxSize {
		return Expr{}, fmt.Errorf("autodiff: the formula has %d operations, but at most %d are allowed", e.Size(), MaxSize)
	}
	return e, nil
}

// parser reads text by recursive descent; pos is the index of the next byte.
type parser struct {
	text  string
	pos   int
	depth int
	b     *builder
	names map[string]int // parameters and definitions
}

// fail ends the parsing with a ParseError at byte pos, see parsed. It has a result so that callers can return it.
func (p *parser) fail(pos int, format string, args ...any) int {
	panic(&ParseError{p.text, len([]rune(p.text[:pos])) + 1, fmt.Sprintf(format, args...)})
}

// parsed is program with the error of fail.
func (p *parser) parsed() (root int, err error) {
	defer func() {
		if e := recover(); e != nil {
			failed, ok := e.(*ParseError)
			if !ok {
				panic(e)
			}
			err = failed
		}
	}()
	return p.program(), nil
}

func (p *parser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// peek returns the next byte after white space, 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) accept(token string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], token) {
		return false
	}
	p.pos += len(token)
	return true
}

// found returns a description of the text at the current position.
func (p *parser) found() string {
	if p.peek() == 0 {
		return "the end"
	}
	for _, r := range p.text[p.pos:] {
		return strconv.Quote(string(r))
	}
	return ""
}

// program reads a sequence of definitions and the result.
func (p *parser) program() int {
	for {
		start := p.pos
		p.peek()
		at := p.pos
		if name := p.name(); name != "" && p.peek() == '=' && !strings.HasPrefix(p.text[p.pos:], "==") {
			if _, taken := p.names[name]; taken || p.reserved(name) {
				return p.fail(at, "%s already has a meaning; use another name", name)
			}
			p.pos++
			id := p.comparison()
			if !p.accept(";") {
				return p.fail(p.pos, "expected ; after the definition of %s, found %s", name, p.found())
			}
			p.names[name] = id
			continue
		}
		p.pos = start
		id := p.comparison()
		if p.peek() != 0 {
			return p.unexpected()
		}
		return id
	}
}

// unexpected fails because of text that follows a complete formula.
func (p *parser) unexpected() int {
	switch c := p.peek(); {
	case c == '=':
		return p.fail(p.pos, "equality is not supported, because phi would jump; use <, <=, > or >=")
	case c == ')':
		return p.fail(p.pos, "this ) has no matching (")
	case c == '(' || isLetter(c) || isDigit(c):
		return p.fail(p.pos, "expected an operator before %s; a product is written with *", p.found())
	}
	return p.fail(p.pos, "expected an operator, found %s", p.found())
}

func (p *parser) comparison() int {
	x := p.sum()
	for _, c := range []struct {
		token   string
		o       op
		swapped bool
	}{{"<=", opGe, true}, {">=", opGe, false}, {"<", opGt, true}, {">", opGt, false}} {
		if !p.accept(c.token) {
			continue
		}
		y := p.sum()
		if next := p.peek(); next == '<' || next == '>' {
			return p.fail(p.pos, "comparisons cannot be chained; multiply two comparisons in parentheses")
		}
		if c.swapped {
			x, y = y, x
		}
		return p.b.binary(c.o, x, y)
	}
	return x
}

func (p *parser) sum() int {
	x := p.product()
	for {
		switch {
		case p.accept("+"):
			x = p.b.binary(opAdd, x, p.product())
		case p.accept("-"):
			x = p.b.binary(opSub, x, p.product())
		default:
			return x
		}
	}
}

func (p *parser) product() int {
	x := p.signed()
	for {
		switch at := p.pos; {
		case p.accept("**"):
			return p.fail(at, "a power is written with ^")
		case p.accept("*"):
			x = p.b.binary(opMul, x, p.signed())
		case p.accept("/"):
			x = p.b.binary(opDiv, x, p.signed())
		default:
			return x
		}
	}
}

func (p *parser) signed() int {
	if p.depth++; p.depth > maxDepth {
		return p.fail(p.pos, "the formula is nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("-"):
		return p.b.unary(opNeg, p.signed())
	case p.accept("+"):
		return p.signed()
	}
	x := p.atom()
	if !p.accept("^") {
		return x
	}
	p.peek()
	at := p.pos
	return p.power(x, p.signed(), at)
}

func (p *parser) power(x, y, at int) int {
	c, ok := p.b.isConst(y)
	if !ok || !finite(c) {
		return p.fail(at, "an exponent must be a finite constant; for other exponents, replace x^y by exp(y*log(x))")
	}
	return p.b.pow(x, c)
}

// atom reads a number, a name, a call or a formula in parentheses.
func (p *parser) atom() int {
	c := p.peek()
	at := p.pos
	switch {
	case isDigit(c) || c == '.':
		return p.number()
	case c == '(':
		p.pos++
		x := p.comparison()
		if !p.accept(")") {
			if next := p.peek(); next != 0 && next != ',' {
				return p.unexpected()
			}
			return p.fail(p.pos, "expected a ) for the ( in column %d, found %s", len([]rune(p.text[:at]))+1, p.found())
		}
		return x
	case isLetter(c):
		name := p.name()
		if p.peek() == '(' {
			return p.call(name, at)
		}
		return p.value(name, at)
	}
	hint := ""
	if c == '|' {
		hint = "; |u| is written abs(u)"
	}
	return p.fail(at, "expected a number, a name or (, found %s%s", p.found(), hint)
}

func (p *parser) number() int {
	at := p.pos
	end := at
	for end < len(p.text) {
		c := p.text[end]
		sign := (c == '+' || c == '-') && end > at && (p.text[end-1] == 'e' || p.text[end-1] == 'E')
		exponent := (c == 'e' || c == 'E') && end+1 < len(p.text) && strings.IndexByte("+-0123456789", p.text[end+1]) >= 0
		if !isDigit(c) && c != '.' && !exponent && !sign {
			break
		}
		end++
	}
	v, err := strconv.ParseFloat(p.text[at:end], 64)
	if err != nil {
		return p.fail(at, "%s is not a number that float64 can hold", p.text[at:end])
	}
	p.pos = end
	return p.b.constant(v)
}

// name reads a name, empty if there is none.
func (p *parser) name() string {
	at := p.pos
	for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || p.pos > at && isDigit(p.text[p.pos])) {
		p.pos++
	}
	return p.text[at:p.pos]
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

func isName(s string) bool {
	p := parser{text: s}
	return p.name() == s && s != "" && s[0] != '_'
}

// value returns the variable, a constant, a parameter or a definition.
func (p *parser) value(name string, at int) int {
	if id, ok := p.names[name]; ok {
		return id
	}
	switch name {
	case "u":
		return p.b.put(instr{op: opVar})
	case "pi":
		return p.b.constant(math.Pi)
	case "e":
		return p.b.constant(math.E)
	}
	if _, ok := functions[name]; ok {
		return p.fail(at, "%s is a function; write %s", name, functions[name].usage)
	}
	known := []string{"u", "pi", "e"}
	for n := range p.names {
		known = append(known, n)
	}
	return p.fail(at, "unknown name %s%s; use u for the variable; a parameter needs a value", name,
		suggest(name, known))
}
