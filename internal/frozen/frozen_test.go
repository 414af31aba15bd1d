// Package frozen holds tables of what plans promise and of the weights that seeded runs leave, over the catalogue of
// algorithms and kinds of run. A change of how plans are built leaves them as they are; an intended difference is a
// commit of its own, made by make golden.
package frozen

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/internal/must"
	"dyad/privacy/account"
)

var update = flag.Bool("update", false, "rewrite the tables")

// number finds the numbers of a text.
var number = regexp.MustCompile(`[-+]?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?\b`)

// digest is a short hash of the words of a text: any number is like any other.
func digest(text string) string { return short(number.ReplaceAllString(text, "#")) }

// short is a short hash of a text.
func short(text string) string { return fmt.Sprintf("%.5x", sha256.Sum256([]byte(text))) }

// promise is a plan on one line: the guarantee in numbers, the numbers of its noise in their order, its events, a
// fold of all other numbers of the report and of the record for dyad verify, a digest of the words that a charge, a
// resumed run and dyad verify compare, and a digest of the words that are printed. Printed words may be written anew; a
// run that an earlier version charged must still be finished.
func promise(p *algorithms.Plan) (string, error) {
	report := p.Report()
	values, err := json.Marshal(report)
	if err != nil {
		return "", err
	}
	if _, err := p.Digest(); err != nil { // of a page that is approved
		return "", err
	}
	record, err := p.Record()
	if err != nil {
		return "", err
	}
	g := p.Guarantee
	line := fmt.Sprintf("(%v, %v) mu %v", g.Epsilon, g.Delta, g.Mu)
	if c := g.Claim; c != nil {
		line += fmt.Sprintf(" claimed (%v, %v) %t", c.Epsilon, c.Delta, c.Holds)
	}
	noise, rest, err := numbers(values)
	if err != nil {
		return "", err
	}
	_, recorded, err := numbers(record)
	if err != nil {
		return "", err
	}
	var events []string
	for _, e := range p.Events() {
		text, err := account.Encode(e)
		if err != nil {
			return "", err
		}
		_, more, err := numbers(text)
		if err != nil {
			return "", err
		}
		events = append(events, fmt.Sprintf("%T*%v", e, fold(more)))
	}
	charge := p.Charge("data")
	compared := strings.Join([]string{string(record), p.Objective, charge.Algorithm, charge.Unit, charge.Relation}, "\n")
	printed := strings.Join([]string{report.Text(), string(values), charge.Guarantee, charge.Released}, "\n")
	return fmt.Sprintf("%s; %s; %s; rest %v; compared %s; words %s", line, strings.Join(repeated(noise), " "),
		strings.ReplaceAll(strings.Join(repeated(events), " "), "account.", ""), fold(append(rest, recorded...)), digest(compared), digest(printed)), nil
}

// named are the numbers of a report that promise shows by their names.
var named = map[string]string{"sensitivity": "s", "sigma": "sigma", "scale": "scale", "noise_multiplier": "m", "choice_epsilon": "choice", "score_noise": "score"}

// numbers lists the numbers of a JSON text in their order, apart by name: "s=..." and so on, and all.
func numbers(text []byte) (noise []string, all []float64, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	last := ""
	for {
		token, err := d.Token()
		if err != nil {
			break // the end: texts are made here
		}
		switch v := token.(type) {
		case string:
			last = v
		case json.Number:
			x, err := v.Float64()
			if err != nil {
				return nil, nil, err
			}
			if short := named[last]; short != "" {
				noise = append(noise, short+"="+strconv.FormatFloat(x, 'g', -1, 64))
			}
			if last != "roundoff_share" { // a difference of sensitivities, of which a machine may have other digits
				all = append(all, x)
			}
		}
	}
	return noise, all, nil
}

// fold is one number that moves if any of many moves: a relative change of one by x moves it by x or more.
func fold(all []float64) (sum float64) {
	for i, x := range all {
		if x != 0 {
			sum += (1 + float64(i%8)/8) * (math.Log(math.Abs(x)) + 1)
		}
		if x < 0 {
			sum += 7
		}
	}
	return sum
}

// repeated shortens equal neighbours of a list.
func repeated(list []string) (short []string) {
	for i := 0; i < len(list); {
		times := 1
		for i+times < len(list) && list[i+times] == list[i] {
			times++
		}
		text := list[i]
		if times > 1 {
			text = fmt.Sprintf("%dx%s", times, text)
		}
		short, i = append(short, text), i+times
	}
	return short
}

// arithmetic tells machines apart whose last digits differ: exp with and without fused instructions, and products
// that the compiler fuses with sums.
func arithmetic() string {
	var x []float64
	for i := range 64 {
		v := 1 + float64(i)/7
		x = append(x, math.Exp(v), math.Exp(-v), math.Log(v), math.Erfc(v/4), math.Pow(1000*v, -1.5), fused(v, 1.1+v/11, -1.3-v))
	}
	return short(fmt.Sprint(x))
}

//go:noinline
func fused(x, y, z float64) float64 { return x*y + z }

// table compares rows with the frozen ones of a file: byte by byte where its arithmetic is that of this machine and
// tolerance is 0, else with numbers that differ by at most tolerance, or a thousandth of it relative to them.
func table(t *testing.T, name string, rows []string, tolerance float64) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	got := append([]string{"arithmetic " + arithmetic()}, rows...)
	if *update {
		must.Do(t, os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run make golden", err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if want[0] != got[0] {
		t.Logf("%s was made with other arithmetic than that of this machine (%s): numbers may differ by 1e-10", file, runtime.GOARCH)
		tolerance = max(tolerance, 1e-10)
	}
	for _, d := range differences(want[1:], rows, tolerance) {
		t.Error(d)
	}
}

// differences are the rows that are not as they were, by their keys, which end at the first ": ".
func differences(want, got []string, tolerance float64) (all []string) {
	frozen := map[string]string{}
	for _, row := range want {
		key, _, _ := strings.Cut(row, ": ")
		frozen[key] = row
	}
	seen := map[string]bool{}
	for _, row := range got {
		key, _, _ := strings.Cut(row, ": ")
		old, ok := frozen[key]
		switch {
		case seen[key]:
			all = append(all, "two rows are called "+key)
		case !ok:
			all = append(all, "a new row, for which make golden is run: "+row)
		case !alike(old, row, tolerance):
			all = append(all, "changed:\n  "+old+"\n  "+row)
		}
		seen[key] = true
	}
	for _, row := range want {
		if key, _, _ := strings.Cut(row, ": "); !seen[key] {
			all = append(all, "gone: "+row)
		}
	}
	return all
}

// alike reports whether texts are equal up to a tolerance of their numbers.
func alike(want, got string, tolerance float64) bool {
	if want == got || tolerance == 0 {
		return want == got
	}
	a, b := number.FindAllString(want, -1), number.FindAllString(got, -1)
	if number.ReplaceAllString(want, "#") != number.ReplaceAllString(got, "#") || len(a) != len(b) {
		return false
	}
	for i := range a {
		x, _ := strconv.ParseFloat(a[i], 64)
		y, _ := strconv.ParseFloat(b[i], 64)
		if !(math.Abs(x-y) <= tolerance*max(1, math.Abs(x)/1000)) {
			return false
		}
	}
	return true
}
