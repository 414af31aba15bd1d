package export

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dyad/engine/dataset"
)

// Versions and limits of the written graphs.
const (
	onnxIR      = 8
	opset       = 17
	mlOpset     = 3 // opset version of the domain ai.onnx.ml
	mlDomain    = "ai.onnx.ml"
	maxONNX     = 1<<31 - 1 // largest number of bytes of a message
	oneMatrix   = "X"       // name of the input of numbered features
	floatRadix  = 0x1p-24 * (1 + 0x1p-20)
	labelLookup = mlDomain + ":LabelEncoder"
)

// ONNX returns the function as an ONNX model in float64. The model has one input of shape [batch, 1] for every feature
// column, named like the column in the file. Inputs are float64 for numbers, dates (days from January 1, 1970) and
// categories that are all numbers, and text for other categories. NaN and empty texts mean missing. Numbered features
// are one input X of shape [batch, d]; features absent from a sparse row are 0.
func (f *Function) ONNX() ([]byte, error) {
	inputs := f.Encoder.Inputs()
	if !f.numbered() {
		seen := map[string]bool{}
		for _, in := range inputs {
			if seen[in.Field] {
				return nil, fmt.Errorf("export: two columns have the name %q in the file, but the inputs of an ONNX model "+
					"need different names", in.Field)
			}
			seen[in.Field] = true
		}
	}
	g := &graph{prefix: "dyad", known: map[string]string{}}
	for slices.ContainsFunc(inputs, func(in dataset.Input) bool { return strings.HasPrefix(in.Field, g.prefix) }) {
		g.prefix = "_" + g.prefix
	}
	output := f.outputName(inputs)
	x, order := f.encoded(g, inputs)
	x = f.projected(g, x)
	x = f.mapped(g, x, order)
	if f.UnitFloor > 0 {
		x = g.on("Div", x, g.on("Sqrt", g.on("Add", g.rowSum(g.on("Mul", x, x)), g.scalar(f.UnitFloor))))
	}
	if f.Within > 0 {
		norm := g.on("Sqrt", g.rowSum(g.on("Mul", x, x)))
		x = g.on("Div", x, g.on("Max", g.on("Div", norm, g.scalar(f.Within)), g.scalar(1)))
	}
	g.node("Identity", output, []string{x})
	text := f.file(g, output)
	if len(text) > maxONNX {
		return nil, fmt.Errorf("export: the model takes %d bytes, but an ONNX file has at most %d; export NPZ or "+
			"safetensors", len(text), maxONNX)
	}
	return text, nil
}

// mapped adds the layers and returns their output for records.
func (f *Function) mapped(g *graph, x string, order []int) string {
	if f.Steps != nil {
		return steps{g, f.Layers}.run(f.Steps, g.inOrder(x, order))
	}
	for i, l := range f.Layers {
		w := transposed(l)
		if i == 0 {
			w = permuted(w, l.Rows, order)
		}
		x = g.on("MatMul", x, g.doubles(w, len(w)/l.Rows, l.Rows))
		if l.Bias != nil {
			x = g.on("Add", x, g.doubles(l.Bias, 1, l.Rows))
		}
		x = g.activated(x, l.Activation)
	}
	return x
}

// file returns the ModelProto.
func (f *Function) file(g *graph, output string) message {
	var body message
	for _, n := range g.nodes {
		body = body.bytes(1, n)
	}
	body = body.text(2, "dyad")
	for _, c := range g.constants {
		body = body.bytes(5, c)
	}
	for _, in := range g.inputs {
		body = body.bytes(11, in)
	}
	body = body.bytes(12, valueInfo(output, typeDouble, f.Outputs(), "one row for each record"))
	m := message{}.number(1, onnxIR).text(2, "dyad").bytes(7, body).
		bytes(8, operatorSet("", opset)).bytes(8, operatorSet(mlDomain, mlOpset))
	for _, a := range f.About {
		m = m.bytes(14, named(a.Name).text(2, a.Text))
	}
	return m
}

func operatorSet(domain string, version int64) message { return named(domain).number(2, version) }

// encoded returns the record before its projection, numbers first. order[k] is the feature in column k, or noFeature.
func (f *Function) encoded(g *graph, inputs []dataset.Input) (x string, order []int) {
	var numbers []dataset.Input
	var raw, parts []string
	for _, in := range inputs {
		if !in.Numeric {
			continue
		}
		numbers = append(numbers, in)
		if !f.numbered() {
			doc := fmt.Sprintf("number, range [%v, %v], NaN is missing", in.Lo, in.Hi)
			if in.Date {
				doc = "days from January 1, 1970, NaN is missing"
			}
			g.inputs = append(g.inputs, valueInfo(in.Field, typeDouble, 1, doc))
			raw = append(raw, in.Field)
		}
	}
	if f.numbered() {
		g.inputs = append(g.inputs, valueInfo(oneMatrix, typeDouble, len(inputs),
			"features by number; NaN means missing"))
		raw = []string{oneMatrix}
	}
	if len(numbers) > 0 {
		parts = append(parts, g.scaled(g.concat(raw), numbers, f.Encoder.Factor())...)
		for k := range parts {
			for _, in := range numbers {
				if k >= in.Width {
					order = append(order, noFeature)
				} else {
					order = append(order, in.Offset+k)
				}
			}
		}
	}
	for _, in := range inputs {
		if !in.Numeric {
			parts = append(parts, g.category(in, f.Encoder.Factor()))
			for k := range in.Width {
				order = append(order, in.Offset+k)
			}
		}
	}
	x = g.concat(parts)
	if pairs := f.Encoder.Interactions(); len(pairs) > 0 {
		products, of := g.products(x, order, inputs, pairs)
		x, order = g.concat([]string{x, products}), append(order, of...)
	}
	return x, order
}

// products returns the interactions of the columns of x. Column k of x has feature order[k], column k of out feature
// of[k].
func (g *graph) products(x string, order []int, inputs []dataset.Input,
	pairs []dataset.Interaction) (out string, of []int) {
	column := map[int]int64{}
	for k, feature := range order {
		column[feature] = int64(k)
	}
	var left, right []int64
	var scales []float64
	for _, p := range pairs {
		for i := range p.WidthA {
			for j := range p.WidthB {
				left, right = append(left, column[inputs[p.A].Offset+i]), append(right, column[inputs[p.B].Offset+j])
				scales, of = append(scales, p.Scale), append(of, p.Offset+i*p.WidthB+j)
			}
		}
	}
	return g.on("Mul", g.on("Mul", g.pick(x, left), g.doubles(scales, 1, len(scales))), g.pick(x, right)), of
}

// scaled maps the numeric columns x. parts[k] has the k-th feature of every column.
func (g *graph) scaled(x string, columns []dataset.Input, factor float64) (parts []string) {
	constant := func(of func(in dataset.Input) float64) string { return g.constant(columns, of) }
	if slices.ContainsFunc(columns, func(in dataset.Input) bool { return in.Shift != 0 }) {
		x = g.on("Sub", x, constant(func(in dataset.Input) float64 { return in.Shift }))
	}
	missing := g.on("IsNaN", x)
	for _, v := range missingNumbers(columns) {
		// Columns in which the value does not mean missing have NaN here, which equals no number.
		counts := constant(func(in dataset.Input) float64 {
			if slices.Contains(in.MissingNumbers, v) {
				return v
			}
			return math.NaN()
		})
		missing = g.on("Or", missing, g.on("Equal", x, counts))
	}
	finite := g.on("Sub", x, x) // 0 for finite numbers, NaN for infinite ones
	u := g.on("Min", g.on("Max", x, constant(func(in dataset.Input) float64 { return in.Lo })),
		constant(func(in dataset.Input) float64 { return in.Hi }))
	clamped := u
	if slices.ContainsFunc(columns, func(in dataset.Input) bool { return in.Log1p }) {
		// Exact up to a few roundings, unlike log(1 + u): log(w) u/(w - 1) for the rounded w = 1 + u, and u if
		// w is 1. Columns without the transform can have u < -1 and use u = 1.
		logs := constant(func(in dataset.Input) float64 {
			if in.Log1p {
				return 1
			}
			return 0
		})
		isLog := g.on("Greater", logs, g.scalar(0))
		safe := g.on("Where", isLog, u, g.scalar(1))
		w := g.on("Add", safe, g.scalar(1))
		rest := g.on("Sub", w, g.scalar(1))
		none := g.on("Equal", rest, g.scalar(0))
		log := g.on("Div", g.on("Mul", g.on("Log", w), safe), g.on("Where", none, g.scalar(1), rest))
		u = g.on("Where", isLog, g.on("Where", none, safe, log), u)
	}
	u = g.on("Div", g.on("Sub", u, constant(func(in dataset.Input) float64 { return in.Center })),
		constant(func(in dataset.Input) float64 { return in.Half }))
	u = g.on("Min", g.on("Max", u, g.scalar(-1)), g.scalar(1))
	for k, value := range g.spiked(g.features(u, columns), clamped, columns) {
		entry := func(of []float64) float64 {
			if k < len(of) {
				return of[k]
			}
			return 0
		}
		value = g.on("Mul", value, constant(func(in dataset.Input) float64 { return entry(in.Coefficients(factor)) }))
		instead := constant(func(in dataset.Input) float64 { return entry(in.MissingOutputs) })
		parts = append(parts, g.on("Where", missing, instead, g.on("Add", value, finite)))
	}
	return parts
}

// constant adds a number for each column.
func (g *graph) constant(columns []dataset.Input, of func(in dataset.Input) float64) string {
	v := make([]float64, len(columns))
	for k, in := range columns {
		v[k] = of(in)
	}
	return g.doubles(v, 1, len(columns))
}

// features returns, for k = 1 to the largest K, the numbers that Coefficients multiply: s, or cos(pi k (1 + s)/2). It
// computes the cosines with the same formulas as the encoder. It uses a sine, which runtimes support in float64.
func (g *graph) features(s string, columns []dataset.Input) []string {
	most := 1
	isLine := make([]byte, len(columns))
	for k, in := range columns {
		most = max(most, in.Width)
		if in.Cosines == 0 || in.Line {
			isLine[k] = 1
		}
	}
	if !slices.ContainsFunc(columns, func(in dataset.Input) bool { return in.Cosines > 0 }) {
		return []string{s}
	}
	cos := g.on("Sin", g.on("Mul", s, g.scalar(-math.Pi/2)))
	all := []string{g.on("Where", g.bools(isLine, 1, len(columns)), s, cos)}
	before, now, twice := g.scalar(1), cos, g.on("Mul", cos, g.scalar(2))
	for range most - 1 {
		before, now = now, g.on("Min", g.on("Max", g.on("Sub", g.on("Mul", twice, now), before), g.scalar(-1)), g.scalar(1))
		all = append(all, now)
	}
	return all
}

// spiked adds the spikes to features. At the lower end of the range, the last feature of a column with a spike is 1 and
// its other features are 0. Elsewhere, the last feature is 0.
func (g *graph) spiked(features []string, clamped string, columns []dataset.Input) []string {
	where := func(of func(in dataset.Input) bool) string {
		flags := make([]byte, len(columns))
		for k, in := range columns {
			if in.Spike && of(in) {
				flags[k] = 1
			}
		}
		return g.bools(flags, 1, len(columns))
	}
	if !slices.ContainsFunc(columns, func(in dataset.Input) bool { return in.Spike }) {
		return features
	}
	lowest := g.constant(columns, func(in dataset.Input) float64 { return in.Lo })
	zero := g.on("And", g.on("Equal", clamped, lowest), where(func(dataset.Input) bool { return true }))
	for k, value := range features {
		last := where(func(in dataset.Input) bool { return k == in.Cosines })
		features[k] = g.on("Where", last, g.cast(zero, typeDouble), g.on("Where", zero, g.scalar(0), value))
	}
	return features
}

// missingNumbers returns all numbers that count as missing in some column.
func missingNumbers(columns []dataset.Input) []float64 {
	var all []float64
	for _, in := range columns {
		all = append(all, in.MissingNumbers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// category maps a categorical column to its outputs.
func (g *graph) category(in dataset.Input, factor float64) string {
	code := ""
	if in.ByNumber {
		g.inputs = append(g.inputs, valueInfo(in.Field, typeDouble, 1, "the category as a number; NaN means that "+
			"the value is missing"))
		var keys, codes []float64
		for _, c := range in.Categories {
			keys, codes = append(keys, c.Number), append(codes, float64(c.Code))
		}
		is := g.cast(g.on("Equal", in.Field, g.doubles(keys, 1, len(keys))), typeDouble)
		found := g.on("Greater", g.rowSum(is), g.scalar(0))
		code = g.on("Where", found, g.on("MatMul", is, g.doubles(codes, len(keys), 1)), g.scalar(float64(in.UnknownCode)))
		code = g.on("Where", g.on("IsNaN", in.Field), g.scalar(float64(in.MissingCode)), code)
	} else {
		g.inputs = append(g.inputs, valueInfo(in.Field, typeString, 1,
			"the category as it is written in the schema; an empty text means that the value is missing"))
		keys, codes := []string{""}, []float32{float32(in.MissingCode)}
		for _, c := range in.Categories {
			keys, codes = append(keys, c.Text), append(codes, float32(c.Code))
		}
		code = g.cast(g.op(labelLookup, []string{in.Field}, stringsAttribute("keys_strings", keys),
			floatsAttribute("values_floats", codes), floatAttribute("default_float", float32(in.UnknownCode))), typeDouble)
	}
	refused := g.on("Where", g.on("Equal", code, g.scalar(dataset.CodeRefused)), g.scalar(math.NaN()), g.scalar(0))
	var out string
	if in.Width == 1 {
		sign := g.on("Sub", g.on("Mul", code, g.scalar(2)), g.scalar(1))
		out = g.on("Where", g.on("Less", code, g.scalar(0)), g.scalar(0), g.on("Mul", sign, g.scalar(factor)))
	} else {
		places := make([]float64, in.Width)
		for k := range places {
			places[k] = float64(k)
		}
		out = g.on("Mul", g.cast(g.on("Equal", code, g.doubles(places, 1, in.Width)), typeDouble), g.scalar(factor))
	}
	return g.on("Add", out, refused)
}

// projected projects records to the unit ball in the same way as engine.ProjectBall and rounds them as they are stored.
func (f *Function) projected(g *graph, x string) string {
	if bound := f.nonZeros(); bound > 0 {
		count := g.rowSum(g.cast(g.on("Greater", g.on("Abs", x), g.scalar(0)), typeDouble))
		x = g.on("Add", x, g.on("Where", g.on("Greater", count, g.scalar(float64(bound))), g.scalar(math.NaN()), g.scalar(0)))
	}
	norm := g.on("Sqrt", g.rowSum(g.on("Mul", x, x)))
	slack := g.scalar(f.slack())
	by := g.on("Where", g.on("Greater", norm, slack), g.on("Div", slack, norm), g.scalar(1))
	x = g.on("Mul", x, by)
	if !f.Encoder.Schema().IsNarrow() {
		return x
	}
	// If the nearest float32 n has a larger magnitude than x, take the next one toward zero: n (1 - 2^-24 (1 +
	// 2^-20)) rounded, as the product is 0.5 to 1 units in the last place below n.
	nearest := g.cast(g.cast(x, typeFloat), typeDouble)
	below := g.cast(g.cast(g.on("Mul", nearest, g.scalar(1-floatRadix)), typeFloat), typeDouble)
	return g.on("Where", g.on("Greater", g.on("Abs", nearest), g.on("Abs", x)), below, nearest)
}

// permuted returns the matrix with row order[k] of t in row k, and zeros for noFeature. Rows have the given width.
func permuted(t []float64, width int, order []int) []float64 {
	out := make([]float64, 0, len(t))
	for _, k := range order {
		if k == noFeature {
			out = append(out, make([]float64, width)...)
		} else {
			out = append(out, t[k*width:][:width]...)
		}
	}
	return out
}
