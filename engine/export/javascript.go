package export

import (
	_ "embed"
	"encoding/json"
	"math"
	"text/template"
)

//go:embed templates/score.mjs.tmpl
var scriptTemplate string

// orNull is a number in JSON that is written as null if it is NaN, because JSON has no NaN.
type orNull float64

func (x orNull) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

func orNulls(xs []float64) []orNull {
	out := make([]orNull, len(xs))
	for k, x := range xs {
		out[k] = orNull(x)
	}
	return out
}

// JavaScript returns a module with the model as plain JSON and a function that scores a row.
func (f *Function) JavaScript() ([]byte, error) {
	type object = map[string]any
	same := func(s string) string { return s } // json.Marshal quotes the texts
	s, err := f.snippet(words{same, same})
	if err != nil {
		return nil, err
	}
	numbers, categories, products := []object{}, []object{}, []object{}
	for _, c := range s.Numbers {
		column := any(c.Field)
		if s.Numbered {
			column = c.Offset
		}
		number := object{"column": column, "low": c.Lo, "high": c.Hi, "log1p": c.Log1p, "centre": c.Center, "half": c.Half,
			"first": c.Shift, "missing": orNulls(c.MissingNumbers),
			"line": c.Line || c.Cosines == 0, "factors": c.Factors, "instead": orNulls(c.MissingOutputs), "weights": c.Weights}
		if c.Spike {
			number["spike"] = true
		}
		numbers = append(numbers, number)
	}
	for _, c := range s.Categories {
		codes := [][2]any{}
		for _, one := range c.Categories {
			code := [2]any{one.Text, one.Code}
			if c.ByNumber {
				code[0] = one.Number
			}
			codes = append(codes, code)
		}
		categories = append(categories, object{"column": c.Field, "numeric": c.ByNumber, "codes": codes,
			"missing": c.MissingCode, "other": c.UnknownCode, "weights": c.Weights})
	}
	for _, p := range s.Pairs {
		products = append(products, object{"a": p.A, "b": p.B, "width_a": p.WidthA, "width_b": p.WidthB, "scale": p.Scale,
			"weights": p.Weights})
	}
	text, err := json.Marshal(object{"numbers": numbers, "categories": categories, "products": products,
		"factor": s.Factor, "radius": s.Slack, "nonzeros": s.NonZeros, "narrow": s.Narrow})
	if err != nil {
		return nil, err
	}
	return f.fill(scriptTemplate, words{same, same}, template.FuncMap{}, string(text))
}
