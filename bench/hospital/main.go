// Hospital compares, on synthetic visits of persons with up to 40 rows each, a model that protects
// all rows of a person with what one would train instead: rows as records, with the accounting of
// groups of 40, or one row drawn of each person. The AUC is that of other persons, over pairs of
// persons.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"dyad"
	"dyad/algorithms"
	"dyad/bench"
	"dyad/engine/dataset"
	"dyad/privacy"
	"dyad/privacy/account"
)

func main() {
	files := flag.Int("files", 3, "files that are generated, by seeds from 1")
	draws := flag.Int("draws", 3, "draws of the noise for each file")
	epsilon := flag.Float64("epsilon", 1, "epsilon for one person")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr,
			"usage: hospital [flags] PERSONS ...\nTrains on so many persons; a quarter as many others, at least 5000, "+
				"are held out.")
		flag.PrintDefaults()
	}
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	bench.Header(out, "hospital", os.Args[1:])
	fmt.Fprintln(out, "# epsilon: of a person with 40 rows, at delta; AUC of other persons, over pairs of persons")
	fmt.Fprintln(out, "persons,method,algorithm,units,epsilon,delta,file,draw,auc")
	err := func() error {
		for _, arg := range flag.Args() {
			persons, err := strconv.Atoi(arg)
			if err != nil {
				return err
			}
			for seed := range uint64(*files) {
				if err := compare(out, persons, seed+1, *draws, *epsilon); err != nil {
					return err
				}
			}
		}
		return out.Flush()
	}()
	bench.Exit("hospital", err)
}

// mostRows of a person.
const mostRows = 40

// compare trains all models on one file.
func compare(out io.Writer, persons int, seed uint64, draws int, epsilon float64) error {
	visits := dataset.Visits{Persons: persons, Rows: persons * 10 / 7, MaxRows: mostRows, Seed: seed}
	byPerson, err := read(visits, visits.Schema())
	if err != nil {
		return err
	}
	byRow, err := read(visits, rows(visits.Schema()))
	if err != nil {
		return err
	}
	oneRow := *byRow
	oneRow.Records = byRow.Records.Subset(oneOfEach(byRow.IDs, rand.New(rand.NewPCG(seed, 1))))
	visits.Persons = max(persons/4, 5000) // few would blur the AUC
	visits.Rows, visits.Part = visits.Persons*10/7, 1
	held, err := read(visits, visits.Schema())
	if err != nil {
		return err
	}
	delta := privacy.DefaultDelta(persons)
	mu := account.GDPMu(epsilon, delta)
	for _, m := range []struct {
		name            string
		data            *dataset.Dataset
		epsilon, person float64 // of a unit, and of a person
	}{
		{"persons", byPerson, epsilon, epsilon},
		{"rows in groups of 40", byRow, account.GDPEpsilon(mu/mostRows, delta), epsilon},
		{"one row of each person", &oneRow, epsilon, epsilon},
		{"rows alone", byRow, epsilon, account.GDPEpsilon(mu*mostRows, delta)},
		{"no privacy", byPerson, 0, math.Inf(1)},
	} {
		data := dyad.NewData(m.data)
		o := dyad.Options{Epsilon: m.epsilon, Delta: &delta}
		repeat := draws
		if m.epsilon == 0 {
			if o.Algorithm, err = algorithms.ByName("projected-gradient"); err != nil {
				return err
			}
			o.Mode, repeat = algorithms.NonPrivate, 1
		}
		plan, err := dyad.Plan(data.Shape(), o)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for draw := range uint64(repeat) {
			model, err := plan.Run(context.Background(), data,
				dyad.Run{Public: true, Source: privacy.NewSeededSource(1000*seed + draw)})
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			scores, err := model.Score(held.Records)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%d,%s,%s,%d,%s,%.3g,%d,%d,%.4f\n", persons, m.name, plan.Algorithm, data.Shape().Records,
				strings.TrimPrefix(strings.ToLower(privacy.FormatUp(m.person)), "+"), delta, seed, draw, personAUC(held, scores))
		}
	}
	return nil
}

// rows is the schema of visits without persons, whose ids tell whose row is whose.
func rows(schema string) string {
	var b strings.Builder
	for line := range strings.Lines(schema) {
		if !strings.HasPrefix(line, "persons:") && !strings.HasPrefix(line, "max_rows_per_person:") {
			b.WriteString(strings.Replace(line, "role: person", "role: id", 1))
		}
	}
	return b.String()
}

func read(v dataset.Visits, schema string) (*dataset.Dataset, error) {
	text, _, err := v.Generate()
	if err != nil {
		return nil, err
	}
	s, err := dataset.ParseSchema([]byte(schema))
	if err != nil {
		return nil, err
	}
	return dataset.LoadReader("visits.csv", bytes.NewReader(text), s,
		dataset.Options{Persons: dataset.KeepPersons, KeepIDs: true})
}

// oneOfEach are the places of one row of each person. Spellings of an id have the same digits.
func oneOfEach(ids []string, random *rand.Rand) []int {
	of := map[string][]int{}
	var order []string
	for i, id := range ids {
		digits := strings.TrimLeft(strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, id), "0")
		if of[digits] == nil {
			order = append(order, digits)
		}
		of[digits] = append(of[digits], i)
	}
	var chosen []int
	for _, digits := range order {
		chosen = append(chosen, of[digits][random.IntN(len(of[digits]))])
	}
	return chosen
}

// personAUC is the AUC over pairs of rows, each with the weight 1/(m m') of persons with m and m'
// rows. Pairs within a person are counted as well: their weight is below 1/persons of all.
func personAUC(d *dataset.Dataset, scores []float64) float64 {
	weights, order := make([]float64, len(scores)), make([]int, len(scores))
	for k := range d.Records.Units() {
		from, to := d.Records.UnitRows(k)
		for i := from; i < to; i++ {
			weights[i], order[i] = 1/float64(to-from), i
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	var right, below, positive float64
	for _, i := range order { // scores of different rows are different but for negligibly many
		if d.Records.Label(i) > 0 {
			right += weights[i] * below
			positive += weights[i]
		} else {
			below += weights[i]
		}
	}
	return right / (positive * below)
}
