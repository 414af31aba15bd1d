package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"dyad"
	"dyad/algorithms"
	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/device"
	"dyad/privacy"
)

// Load reads a data file for a benchmark that treats it as public.
func Load(file, schema string) (*engine.Records, error) {
	s, err := dataset.LoadSchema(schema)
	if err != nil {
		return nil, err
	}
	d, err := dataset.Load(file, s, dataset.Options{})
	if err != nil {
		return nil, err
	}
	return d.Records, nil
}

// Generate writes n records of the columns x1 to xd and y as CSV, and returns their schema. row sets the numbers of
// a record, which are written with these digits, and reports whether it is a positive.
func Generate(w io.Writer, n, d int, lo, hi float64, digits int, row func(x []float64) bool) (schema string) {
	schema = "data_id: drawn\npublic: true\nformat: csv\ncsv: {header: true}\ncolumns:\n"
	for j := range d {
		schema += fmt.Sprintf("  - {name: x%d, range: [%v, %v]}\n", j+1, lo, hi)
		fmt.Fprintf(w, "x%d,", j+1)
	}
	fmt.Fprintln(w, "y")
	x := make([]float64, d)
	for range n {
		y := 0
		if row(x) {
			y = 1
		}
		for _, v := range x {
			fmt.Fprintf(w, "%.*f,", digits, v)
		}
		fmt.Fprintln(w, y)
	}
	return schema + "  - {name: y, role: label, positive: \"1\", negative: \"0\"}\n"
}

// Positive draws a class by its log odds.
func Positive(rng *rand.Rand, odds float64) bool { return rng.Float64() < 1/(1+math.Exp(-odds)) }

// Split cuts records into n to train and the others, at random by seed.
func Split(r *engine.Records, n int, seed uint64) (train, test *engine.Records, err error) {
	keep, out, err := dataset.Split(r.Len(), float64(n)/float64(r.Len()), seed)
	if err != nil {
		return nil, nil, err
	}
	return r.Subset(keep), r.Subset(out), nil
}

// Train returns the weights of a training on public records, on one core. Its noise is seeded. set, if not nil, sets
// options of the algorithm that the rule chose.
func Train(r *engine.Records, shape dyad.Shape, o dyad.Options, seed uint64,
	set func(algorithms.Algorithm) algorithms.Algorithm) ([]float64, error) {
	on, err := device.Open(device.Options{Name: "cpu", Workers: 1})
	if err != nil {
		return nil, err
	}
	o.On = on
	choice, err := o.Choose(shape)
	if err != nil {
		return nil, err
	}
	if set != nil {
		choice.Algorithm = set(choice.Algorithm)
	}
	t, err := o.Plan(choice, shape)
	if err != nil {
		return nil, err
	}
	result, err := algorithms.Run(context.Background(), r, choice.Algorithm, t.Plan,
		algorithms.Options{Public: true, Source: privacy.NewSeededSource(seed)})
	if err != nil {
		return nil, err
	}
	return result.Weights, nil
}
