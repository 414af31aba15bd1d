package export

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dyad/engine/dataset"
)

// maxSQL is the largest number of columns in a statement. PostgreSQL allows 1664 in a SELECT.
const maxSQL = 800

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// SQL returns a SELECT that adds a score to the rows of a table, in one of the SQL formats. It uses the
// column names of the file. If dyad predict refuses a row, the score of this row is NULL.
func (f *Function) SQL(format, table string) ([]byte, error) {
	d, ok := dialects[format]
	if !ok {
		return nil, fmt.Errorf("export: %q is not an SQL format", format)
	}
	s, err := f.snippet(words{d.name, d.literal})
	if err != nil {
		return nil, err
	}
	if s.Narrow && d.real == "" {
		return nil, fmt.Errorf("export: the model rounds its features to 32 bits, but %s has no 32-bit numbers; "+
			"choose another format, or train with store: float64", format)
	}
	var raw, values, weights, products, squares, nonZeros, stored, sum []string
	count := 0
	add := func(to *[]string, table, value, weight string) (place string) {
		count++
		place = fmt.Sprintf("%s.v%d", table, count)
		y := place + "/p.n"
		*to = append(*to, fmt.Sprintf("%s AS v%d", value, count))
		squares = append(squares, place+"*"+place)
		nonZeros = append(nonZeros, fmt.Sprintf("CASE WHEN %s <> 0 THEN 1 ELSE 0 END", place))
		if s.Narrow {
			stored = append(stored, fmt.Sprintf("CAST(CASE WHEN abs(CAST(%[1]s AS %[2]s)) > abs(%[1]s) THEN CAST(CAST(%[1]s AS "+
				"%[2]s)*%[3]s AS %[2]s) ELSE CAST(%[1]s AS %[2]s) END AS %[4]s) AS s%[5]d", y, d.real, d.sqlNumber(1-floatRadix),
				d.double, count))
			y = fmt.Sprintf("s.s%d", count)
		}
		sum = append(sum, weight+"*"+y)
		return place
	}
	outputs := make([]sqlOutputs, 0, len(s.Numbers)+len(s.Categories))
	for k, in := range append(slices.Clone(s.Numbers), s.Categories...) {
		c := fmt.Sprintf("c.c%d", k+1)
		raw = append(raw, fmt.Sprintf("%s AS c%d", d.sqlRaw(in.Input), k+1))
		out := sqlOutputs{d: d, in: in.Input, c: c}
		switch weight := d.sqlNumber(in.Weights[0]); {
		case in.Numeric:
			for j, value := range d.sqlNumbers(in, c) {
				out.places = append(out.places, add(&values, "e", value, d.sqlNumber(in.Weights[j])))
			}
		case len(in.Weights) > 1:
			weight = fmt.Sprintf("e.w%d", k+1)
			of := d.sqlCase(in.Input, c, func(code int) string { return d.sqlNumber(in.Weights[code]) })
			weights = append(weights, fmt.Sprintf("%s AS w%d", of, k+1))
			fallthrough
		default:
			out.places = []string{add(&values, "e", d.sqlCategory(in.Input, c, s.Factor), weight)}
		}
		outputs = append(outputs, out)
	}
	for _, p := range s.Pairs {
		a, b := outputs[p.A], outputs[p.B]
		for i, u := range a.factors(p.WidthA) {
			for j, v := range b.factors(p.WidthB) {
				weight := a.weight(i, func(i int) string {
					return b.weight(j, func(j int) string { return d.sqlNumber(p.Weights[i*p.WidthB+j]) })
				})
				add(&products, "q", fmt.Sprintf("%s*%s*%s", u, d.sqlNumber(p.Scale), v), weight)
			}
		}
	}
	if count > maxSQL {
		return nil, fmt.Errorf("export: a record has %d numbers, but at most %d fit into one SELECT; export the model as ONNX",
			count, maxSQL)
	}
	name := f.outputName(f.Encoder.Inputs())
	var b strings.Builder
	b.WriteString("-- Scores of a model, from its raw columns. Written by dyad export.\n")
	for _, a := range s.About {
		fmt.Fprintf(&b, "-- %s\n", a)
	}
	fmt.Fprintf(&b, "SELECT r.*, z.%s\nFROM %s AS r\n", name, d.sqlTable(table))
	row := func(name string, parts []string) {
		fmt.Fprintf(&b, "%s%s%s AS %s\n", d.open, strings.Join(parts, d.between), d.end, name)
	}
	row("c", raw)
	row("e", append(values, weights...))
	if s.Pairs != nil {
		row("q", products)
	}
	row("p", []string{fmt.Sprintf("greatest(%s, sqrt(\n    %s)) AS n", fmt.Sprintf(d.number, "1e0"),
		strings.Join(squares, "\n    + "))})
	if s.Narrow {
		row("s", stored)
	}
	score := strings.Join(sum, "\n  + ")
	if s.NonZeros > 0 {
		score = fmt.Sprintf("CASE WHEN %s <= %d THEN %s END", strings.Join(nonZeros, " + "), s.NonZeros, score)
	}
	row("z", []string{score + " AS " + name})
	return []byte(strings.TrimSuffix(b.String(), "\n") + ";\n"), nil
}

// sqlRaw returns the expression of the column as a number or a text.
func (d dialect) sqlRaw(in dataset.Input) string {
	name := "r." + in.Field
	switch {
	case in.Date:
		return fmt.Sprintf("CAST(%s AS %s) - %s", fmt.Sprintf(d.days, name), d.double, d.sqlNumber(in.Shift))
	case in.Numeric || in.ByNumber:
		return fmt.Sprintf("CAST(%s AS %s)", name, d.double)
	}
	return fmt.Sprintf("CAST(%s AS %s)", name, d.text)
}

// sqlCategory returns the expression of the encoded categorical column before the projection.
func (d dialect) sqlCategory(in dataset.Input, c string, factor float64) string {
	return d.sqlCase(in, c, func(code int) string {
		if in.Width > 1 {
			return d.sqlNumber(factor)
		}
		return d.sqlNumber(float64(2*code-1) * factor)
	})
}

// sqlNumbers returns the expressions of the features of a number before the projection.
func (d dialect) sqlNumbers(in snippetColumn, c string) []string {
	missing := fmt.Sprintf("%s IS NULL OR %s", c, is(d.nan, c))
	for _, v := range in.MissingNumbers {
		missing += fmt.Sprintf(" OR %s = %s", c, d.sqlNumber(v))
	}
	u := fmt.Sprintf("least(greatest(%s, %s), %s)", c, d.sqlNumber(in.Lo), d.sqlNumber(in.Hi))
	if in.Log1p {
		u = fmt.Sprintf(d.ln, "1 + "+u)
	}
	u = fmt.Sprintf("least(greatest((%s - %s)/%s, -1), 1)", u, d.sqlNumber(in.Center), d.sqlNumber(in.Half))
	all := make([]string, len(in.Factors))
	for k, factor := range in.Factors {
		feature := u
		if in.Cosines > 0 && (k > 0 || !in.Line) {
			feature = d.sqlCosine(k+1, u)
		}
		if in.Spike {
			above, zero := feature, "0"
			if k == in.Cosines {
				above, zero = "0", "1"
			}
			feature = fmt.Sprintf("CASE WHEN %s <= %s THEN %s ELSE %s END", c, d.sqlNumber(in.Lo), zero, above)
		}
		all[k] = fmt.Sprintf("CAST(CASE WHEN %s THEN %s WHEN %s THEN NULL ELSE %s*%s END AS %s)", missing,
			d.sqlNumber(in.MissingOutputs[k]), is(d.infinite, c), feature, d.sqlNumber(factor), d.double)
	}
	return all
}

// sqlCosine returns cos(k t + k pi/2) for t = u pi/2. This is a sine or a cosine of k t, with a sign.
func (d dialect) sqlCosine(k int, u string) string {
	shape := [...]string{"cos(%s*%s)", "-sin(%s*%s)", "-cos(%s*%s)", "sin(%s*%s)"}[k%4]
	return fmt.Sprintf(shape, u, d.sqlNumber(float64(k)*math.Pi/2))
}

// sqlOutputs holds the outputs of a column: one entry for each output, or a single entry if only the output of the
// row's category is not 0.
type sqlOutputs struct {
	d      dialect
	in     dataset.Input
	c      string
	places []string
}

// factors returns the entries of the first outputs.
func (o sqlOutputs) factors(width int) []string { return o.places[:min(width, len(o.places))] }

// weight returns of(k) for output k, or for the output that is not 0.
func (o sqlOutputs) weight(k int, of func(k int) string) string {
	if o.in.Numeric || o.in.Width == 1 {
		return of(k)
	}
	return o.d.sqlCase(o.in, o.c, of)
}

// sqlCase returns a CASE expression that maps the codes of categories.
func (d dialect) sqlCase(in dataset.Input, c string, of func(code int) string) string {
	value := func(code int) string {
		switch code {
		case dataset.CodeRefused:
			return "NULL"
		case dataset.CodeZero:
			return "0"
		}
		return of(code)
	}
	var b strings.Builder
	empty := c + " = ''"
	if in.ByNumber {
		empty = is(d.nan, c)
	}
	fmt.Fprintf(&b, "CAST(CASE WHEN %s IS NULL OR %s THEN %s", c, empty, value(in.MissingCode))
	for _, k := range in.Categories {
		is := d.equal(c, k.Text)
		if in.ByNumber {
			is = c + " = " + d.sqlNumber(k.Number)
		}
		fmt.Fprintf(&b, " WHEN %s THEN %s", is, value(k.Code))
	}
	fmt.Fprintf(&b, " ELSE %s END AS %s)", value(in.UnknownCode), d.double)
	return b.String()
}

// sqlNumber returns a literal with an exponent, which has type DOUBLE in DuckDB.
func (d dialect) sqlNumber(v float64) string {
	if math.IsNaN(v) {
		return "NULL"
	}
	return fmt.Sprintf(d.number, strconv.FormatFloat(v, 'e', -1, 64))
}

// sqlTable returns the quoted name of a table, including the names of its schema and catalogue.
func (d dialect) sqlTable(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if !plainName.MatchString(p) {
			parts[i] = d.name(p)
		}
	}
	return strings.Join(parts, ".")
}
