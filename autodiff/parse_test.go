package autodiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyad/internal/must"
)

func TestParse(t *testing.T) {
	u := U()
	params := map[string]float64{"s": 2, "margin": 0.5, "t1": 7}
	for _, c := range []struct {
		text string
		want Expr
	}{
		{"u", u},
		{" 1 + 2*u - u/4 ", Sub(Add(Const(1), Mul(Const(2), u)), Div(u, Const(4)))},
		{"log1p(exp(-u))", Softplus(Neg(u))},
		{"log(1 + exp(-u))", Softplus(Neg(u))},
		{"max(0, 1-u)^2", Square(Max(Const(0), Sub(Const(1), u)))},
		{"-u^2", Neg(Square(u))},
		{"(-u)^2", Square(u)},
		{"2^-1", Const(0.5)},
		{"2^3^2", Const(512)},
		{"u^-1", Div(Const(1), u)},
		{"u - 1 - 2", Sub(Sub(u, Const(1)), Const(2))},
		{"8/4/2", Const(1)},
		{"- -u", u},
		{"+u", u},
		{"where(u > s, 0, (s-u)^2)", Where(Gt(u, Const(2)), Const(0), Square(Sub(Const(2), u)))},
		{"where(u <= margin, 1, 0)", Where(Ge(Const(0.5), u), Const(1), Const(0))},
		{"(u < 1)*u", Mul(Gt(Const(1), u), u)},
		{"where((u < 1)*(u > 0), 1, 2)", Where(Mul(Gt(Const(1), u), Gt(u, Const(0))), Const(1), Const(2))},
		{"max(1, u, 3)", Max(Max(Const(1), u), Const(3))},
		{"clamp(u, -1, 1)", Min(Max(u, Const(-1)), Const(1))},
		{"relu(u)", Max(Const(0), u)},
		{"pow(u, 1.5)", Pow(u, 1.5)},
		{"1e-3 + .5e+2", Const(1e-3 + .5e+2)},
		{"2*pi", Const(2 * math.Pi)},
		{"e^u", Expr{}}, // an error, below
		{"a = u + 1; b2 = a*a; b2 - a", Sub(Square(Add(u, Const(1))), Add(u, Const(1)))},
		{"t1*u", Mul(Const(7), u)},
		{"1e", Expr{}},
	} {
		got, err := Parse(c.text, params)
		if c.text == "e^u" || c.text == "1e" {
			if err == nil {
				t.Errorf("%s: accepted as %v", c.text, got)
			}
			continue
		}
		if err != nil || got.String() != c.want.String() {
			t.Errorf("%s: got %v (%v), want %v", c.text, got, err, c.want)
		}
	}
	if got := parsed(t, "cosh(u) - sinh(u) - exp(-u)").Eval(0.7); math.Abs(got) > 1e-15 {
		t.Errorf("cosh - sinh - exp(-u) = %v", got)
	}
}

func TestParseErrors(t *testing.T) {
	params := map[string]float64{"margin": 1}
	for _, c := range []struct {
		text   string
		column int
		hint   string
	}{
		{"", 1, "expected a number"},
		{"1 +", 4, "found the end"},
		{"log1p(exp(-u)", 14, "expected \",\" or \")\""},
		{"(1 - u", 7, "( in column 1"},
		{"1 - u)", 6, "no matching ("},
		{"2u", 2, "written with *"},
		{"u (1)", 3, "written with *"},
		{"3 u", 3, "written with *"},
		{"(u)(u)", 4, "written with *"},
		{"u ** 2", 3, "written with ^"},
		{"focal(u)", 1, "there are abs, atan,"},
		{"|u|", 1, "written abs(u)"},
		{"lgo(u)", 1, "did you mean log?"},
		{"sigmod(u)", 1, "did you mean sigmoid?"},
		{"ln(u)", 1, "did you mean log?"},
		{"clip(u, 0, 1)", 1, "did you mean clamp?"},
		{"marign - u", 1, "did you mean margin?"},
		{"1 - U", 5, "did you mean u?"},
		{"x + 1", 1, "use u for the variable"},
		{"exp + 1", 1, "write exp(x)"},
		{"exp()", 1, "0 arguments"},
		{"exp(u, u)", 1, "2 arguments"},
		{"where(u > 0, 1)", 1, "where(mask, x, y)"},
		{"where(u, 1, 2)", 7, "comparison"},
		{"u^u", 3, "constant"},
		{"pow(u, u)", 8, "constant"},
		{"u == 1", 3, "equality"},
		{"0 < u < 1", 7, "cannot be chained"},
		{"max(1,, 2)", 7, "expected a number"},
		{"max(1, )", 8, "expected a number"},
		{"u $ 2", 3, "found \"$\""},
		{"1.2.3", 1, "not a number"},
		{"1e999", 1, "not a number"},
		{"α + u", 1, "found \"α\""},
		{"margin(u)", 7, "written with *"},
		{"a = 1 u", 7, "expected ;"},
		{"u = 1; u", 1, "already has a meaning"},
		{"margin = 1; u", 1, "already has a meaning"},
		{strings.Repeat("(", 2000) + "u", 0, "nested"},
	} {
		e, err := Parse(c.text, params)
		var p *ParseError
		if !errors.As(err, &p) {
			t.Errorf("%q: %v (%v)", c.text, e, err)
			continue
		}
		if p.Column != c.column && c.hint != "nested" || !strings.Contains(p.Reason, c.hint) ||
			!strings.HasPrefix(err.Error(), "autodiff: ") {
			t.Errorf("%q: column %d: %s; want column %d and %q", c.text, p.Column, p.Reason, c.column, c.hint)
		}
	}
	var p *ParseError
	if _, err := Parse("1 + + * u", nil); !errors.As(err, &p) || p.Caret() != "1 + + * u\n      ^" {
		t.Errorf("caret:\n%s", p.Caret())
	}
	for name, v := range map[string]float64{"u": 1, "exp": 1, "pi": 1, "1a": 1, "": 1, "a b": 1, "a": nan, "b": inf} {
		must.Err(Parse("u", map[string]float64{name: v}))(t, "parameter %q = %v accepted", name, v)
	}
	must.Err(Parse(strings.Repeat("u+", 20000)+"u", nil))(t, "40001 bytes accepted")
}

// sameFunction compares two expressions at points where the first is defined, up to
// what differently ordered roundings make of it.
func sameFunction(t testing.TB, text string, a, b Expr) {
	t.Helper()
	for _, u := range []float64{-3.7, -1, -0.3, 0, 0.1, 1, 2.9} {
		v, err := a.evalErr(u)
		w, err2 := b.evalErr(u)
		if finite(v) && finite(w) && !(math.Abs(v-w) <= 1e3*(err+err2)+1e-9*math.Abs(v)) {
			t.Fatalf("%s at %v: %v, and %v after String and Parse (%v)", text, u, v, w, b)
		}
	}
}

// TestRoundTrip: String writes what Parse reads, also for derivatives and for long
// formulas with definitions.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	long := 0
	for k := range 3000 {
		e := randomExpr(rng, 1+rng.IntN(5), k%2 == 0)
		if k%3 == 0 {
			e = e.Derivative()
		}
		text := e.String()
		if strings.Contains(text, ";") {
			long++
		}
		back := must.Get(Parse(text, nil))(t, text)
		if k%2 == 0 { // rounding may turn comparisons
			sameFunction(t, text, e, back)
		}
		again, err := Parse(back.String(), nil)
		if err != nil || again.Size() > back.Size() {
			t.Fatalf("%s: second round trip: %v, %v", text, again, err)
		}
	}
	if long < 20 {
		t.Errorf("only %d formulas with definitions", long)
	}
}

var parseSeeds = []string{
	"log1p(exp(-u))", "max(0, 1-u)^2", "where(u > s, 0, (s-u)^2)", "a = u; a*a", "1e-3*u", "2u", "((",
	"u^-1.5", "- - u", "clamp(u, -1, 1)", "ge(u, eq(u, 0))", "π", "\x00", "u<=1", "pow(2, 0.5)", "1/0", "0*log(u)",
}

// FuzzParse: no input panics, errors have a place in the text, and what is
// accepted can be written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range parseSeeds {
		f.Add(s)
	}
	f.Fuzz(checkParse)
}

// TestParseMutated is FuzzParse on mutations of the seeds.
func TestParseMutated(t *testing.T) {
	n := 30000
	if testing.Short() {
		n = 3000
	}
	rng := rand.New(rand.NewPCG(25, 26))
	const letters = "u01.e+-*/^(),;= <>sπ\xffmaxexp"
	accepted := 0
	for range n {
		text := []byte(parseSeeds[rng.IntN(len(parseSeeds))] + parseSeeds[rng.IntN(len(parseSeeds))])
		for range 1 + rng.IntN(6) {
			i := rng.IntN(len(text))
			switch rng.IntN(3) {
			case 0:
				text[i] = letters[rng.IntN(len(letters))]
			case 1:
				text = append(text[:i:i], text[i+1:]...)
			default:
				text = append(text[:i:i], append([]byte{letters[rng.IntN(len(letters))]}, text[i:]...)...)
			}
			if len(text) == 0 {
				text = []byte("u")
			}
		}
		checkParse(t, string(text))
		if _, err := Parse(string(text), nil); err == nil {
			accepted++
		}
	}
	if accepted < n/300 {
		t.Errorf("only %d of %d accepted", accepted, n)
	}
}

func checkParse(t *testing.T, text string) {
	e, err := Parse(text, map[string]float64{"s": 2})
	var p *ParseError
	if errors.As(err, &p) {
		if p.Column < 1 || p.Column > len([]rune(text))+1 || p.Reason == "" {
			t.Fatalf("%q: %v", text, err)
		}
		return
	}
	if err != nil {
		return
	}
	e.Eval(0.5)
	s := e.String()
	if strings.Contains(s, "Inf") || strings.Contains(s, "NaN") {
		return
	}
	if _, err := Parse(s, nil); err != nil && len(s) < maxText/2 {
		t.Fatalf("%q was written as %q: %v", text, s, err)
	}
}
