package main

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"dyad/engine"
	"dyad/engine/dataset"
)

// set are records of queries, those of a query next to each other.
type set struct {
	records *engine.Records
	groups  []int
	labels  int // different ones
}

func (s set) sizes() (sizes []int) {
	for i, g := range s.groups {
		if i == 0 || g != s.groups[i-1] {
			sizes = append(sizes, 0)
		}
		sizes[len(sizes)-1]++
	}
	return sizes
}

// source are the numbers of queries to train with, and records of as many queries for training and 400 others for the test.
type source struct {
	queries []int
	load    func(shared string, queries int, split uint64) (train, test set, err error)
}

var sources = map[string]source{
	// 20 documents a query, grades 0 to 3, and 2 to 12 of two classes, with features that the query moves as far as documents differ.
	"grades": {[]int{100, 400, 1500}, drawn(20, 20, 20, 4)},
	"clicks": {[]int{100, 400, 1500}, drawn(10, 2, 12, 2)},
	"long":   {[]int{20, 100}, drawn(10, 150, 300, 2)}, // several parts
	// Records of Adult are compared within their education; queries are records here.
	"education": {[]int{2000, 20000}, ofColumn("adult", "education", "adult/adult.data.gz", "adult/adult.test.gz")},
	// Queries of 16 records in the order of the split.
	"pima":     {[]int{16, 32}, inOrder("pima", "pima/pima-indians-diabetes.data")},
	"debrecen": {[]int{16, 32}, inOrder("debrecen", "debrecen/messidor_features.arff")},
}

func drawn(d, least, most, grades int) func(string, int, uint64) (set, set, error) {
	return func(_ string, queries int, split uint64) (train, test set, err error) {
		rng := rand.New(rand.NewPCG(split, 25))
		truth := make([]float64, d)
		for k := range truth {
			truth[k] = rng.NormFloat64() * math.Pow(0.8, float64(k))
		}
		make := func(queries int) (s set, err error) {
			var x, y []float64
			for q := range queries {
				mean, level := normal(rng, d), rng.NormFloat64()
				for range least + rng.IntN(most-least+1) {
					row, score := normal(rng, d), level+rng.NormFloat64()
					for k := range row {
						score += 1.5 * truth[k] * row[k]
						x = append(x, (row[k]+mean[k])/4/math.Sqrt(float64(d)))
					}
					grade := min(max(math.Floor(score/2+float64(grades)/2), 0), float64(grades-1))
					y, s.groups = append(y, 2*grade/float64(grades-1)-1), append(s.groups, q)
				}
			}
			s.labels = grades
			s.records, err = engine.NewRecords(x, y, d, engine.UnitBounds())
			return s, err
		}
		if train, err = make(queries); err == nil {
			test, err = make(400)
		}
		return train, test, err
	}
}

func normal(rng *rand.Rand, d int) []float64 {
	x := make([]float64, d)
	for k := range x {
		x[k] = rng.NormFloat64()
	}
	return x
}

// ofColumn makes a query of each value of a column.
func ofColumn(schema, column string, files ...string) func(string, int, uint64) (set, set, error) {
	return func(shared string, n int, split uint64) (train, test set, err error) {
		s, err := dataset.LoadSchema(filepath.Join("schemas", schema+".yaml"))
		if err != nil {
			return train, test, err
		}
		for i, c := range s.Columns {
			if c.Name == column {
				s.Columns[i] = dataset.Column{Name: c.Name, Field: c.Field, Position: c.Position, Role: dataset.RoleGroup}
			}
		}
		var also []string
		for _, f := range files[1:] {
			also = append(also, filepath.Join(shared, f))
		}
		d, err := dataset.Load(filepath.Join(shared, files[0]), s, dataset.Options{Also: also})
		if err != nil {
			return train, test, err
		}
		return cut(d.Records, n, split, func(row, _ int) int { return int(d.Groups[row]) })
	}
}

// inOrder makes queries of 16 records, one after the other.
func inOrder(schema, file string) func(string, int, uint64) (set, set, error) {
	return func(shared string, queries int, split uint64) (train, test set, err error) {
		s, err := dataset.LoadSchema(filepath.Join("schemas", schema+".yaml"))
		if err != nil {
			return train, test, err
		}
		d, err := dataset.Load(filepath.Join(shared, file), s, dataset.Options{})
		if err != nil {
			return train, test, err
		}
		return cut(d.Records, 16*queries, split, func(_, place int) int { return place / 16 })
	}
}

// cut takes n records to train with, and groups both parts.
func cut(r *engine.Records, n int, split uint64, group func(row, place int) int) (train, test set, err error) {
	keep, out, err := dataset.Split(r.Len(), float64(n)/float64(r.Len()), split)
	if err != nil {
		return train, test, err
	}
	of := func(rows []int) set {
		ids := make(map[int]int, len(rows))
		for place, row := range rows {
			ids[row] = group(row, place)
		}
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b int) int { return ids[a] - ids[b] })
		s := set{records: r.Subset(rows), labels: 2}
		for _, row := range rows {
			s.groups = append(s.groups, ids[row])
		}
		return s
	}
	return of(keep), of(out), nil
}
