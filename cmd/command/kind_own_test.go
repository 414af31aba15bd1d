//go:build unix

package command

import (
	"os"

	"dyad/algorithms"
	"dyad/engine"
	"dyad/privacy"
)

// sums is a kind of two releases: the sum of all features, and that of their directions from it on either side.
type sums struct {
	Sign   float64
	defect string
}

func (sums) Info() algorithms.Info {
	return algorithms.Info{Name: "sums", Title: "Release sums", Released: "two sums"}
}

func (k sums) Rows(s algorithms.KindShape) (rows algorithms.Releases, err error) {
	radius := 1.0
	if k.defect == "half of the certificate" {
		radius = 0.5
	}
	for _, name := range []string{"sum", "second sum"} {
		c, err := privacy.RecordSum{Radius: radius, Weight: 1, Error: 1e-9, Name: name}.Certify()
		if err != nil {
			return nil, err
		}
		rows = append(rows, algorithms.Release{Name: name, Coordinates: s.Features, Certificate: c})
	}
	return rows, nil
}

func (k sums) Exact(r *engine.Records, row int, released [][]float64) []float64 {
	x, sum := make([]float64, r.Dim()), make([]float64, r.Dim())
	for i := range r.Len() {
		r.Row(i, x)
		if k.defect == "a panic on equal records" && i == 0 && x[0] > 0.1 {
			panic("records")
		}
		sign := 1.0
		if row > 0 && x[0] < released[0][0] {
			sign = -1
		}
		if k.defect == "the last record counts twice" && i == r.Len()-1 {
			sign *= 2
		}
		for j, v := range x {
			sum[j] += sign * v
		}
	}
	return sum
}

func (sums) Figures(_ algorithms.KindShape, _ algorithms.Releases, released [][]float64) (f algorithms.Facts) {
	f.Line("sum", "%.3g", f.Add("sum", released[0][0]))
	return f
}

// KindDefect is the defect of the kind in a child that must fail.
const KindDefect = "DYAD_TEST_KIND_DEFECT"

// KindsOfTests is With of a program with a kind of its own, for tests and their children.
func KindsOfTests() With {
	return With{Kinds: []algorithms.Kind{sums{defect: os.Getenv(KindDefect)}}}
}
