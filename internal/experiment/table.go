package experiment

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"dyad/privacy/durable"
)

// Row is the outcome of a run.
type Row struct {
	Data    string
	N, D    int
	Epsilon float64 // infinite for methods that are not private
	Delta   float64
	// Algorithm is the name of an algorithm, a baseline or a peer. Options are its options.
	Algorithm, Options string
	Split              int
	Seed               uint64  // the seed of the noise
	Value              float64 // AUC, or accuracy with task metric
	Seconds            float64 // the time of planning and training
	Passes             float64 // gradients over all pairs, or the count of a peer; 0 if unknown
	// Status is "ok", or the reason why there is no value. It is "refused: ..." if an assumption of the
	// algorithm does not hold, and "failed: ..." otherwise.
	Status string
}

// ok reports whether the row has a value.
func (r Row) ok() bool { return r.Status == statusOK }

const statusOK = "ok"

// key identifies a run. It has all columns before the outcome except d, which the data determine.
func (r Row) key() string {
	f := r.fields()
	return strings.Join(append(f[:2], f[3:9]...), "\x00")
}

// fields are the columns of a row.
func (r Row) fields() []string {
	g := func(v float64) string {
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64)), "+")
	}
	value, seconds, passes := "", "", ""
	if r.ok() {
		value, seconds = strconv.FormatFloat(r.Value, 'f', 6, 64), strconv.FormatFloat(r.Seconds, 'g', 4, 64)
		passes = strconv.FormatFloat(r.Passes, 'g', 4, 64)
	}
	return []string{
		r.Data, strconv.Itoa(r.N), strconv.Itoa(r.D), g(r.Epsilon), g(r.Delta), r.Algorithm, r.Options, strconv.Itoa(r.Split),
		strconv.FormatUint(r.Seed, 10),
		value, seconds, passes, r.Status,
	}
}

// columns returns the columns of the file.
func (p *Plan) columns() []string {
	value := "auc"
	if p.Task == taskMetric {
		value = "accuracy"
	}
	value = cmp.Or(p.Measure, value)
	return []string{"data", "n", "d", "epsilon", "delta", "algorithm", "options", "split", "noise_seed", value, "seconds",
		"passes", "status"}
}

// line is a row as a line of the file.
func (r Row) line() string { return csvLine(r.fields()) }

func csvLine(fields []string) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // to memory
	w.Flush()
	return b.String()
}

// table is a file of rows.
type table struct {
	comments []string // without "# "
	rows     map[string]Row
}

// readTable reads a file of this plan. If the file does not exist, the table is empty. whole is the length up
// to the end of the last whole line, because an interrupted run leaves part of a line.
func (p *Plan) readTable(path string) (t *table, whole int64, err error) {
	t = &table{rows: map[string]Row{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("experiment: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	header := strings.TrimSuffix(csvLine(p.columns()), "\n")
	seen := false
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		bad := func(why string) error {
			return &InputError{fmt.Errorf("experiment: %s, line %d: %s; is this a file that a run of this plan wrote?",
				path, i+1, why)}
		}
		switch {
		case len(text) == 0:
		case strings.HasPrefix(line, "# "):
			if c := line[2:]; !slices.Contains(t.comments, c) {
				t.comments = append(t.comments, c)
			}
		case !seen:
			if seen = line == header; !seen {
				return nil, 0, bad("want the columns " + header)
			}
		default:
			r, err := parseRow(line)
			if err != nil {
				return nil, 0, bad(err.Error())
			}
			if old, twice := t.rows[r.key()]; twice && old != r {
				return nil, 0, bad("the run has another outcome above")
			}
			t.rows[r.key()] = r
		}
	}
	return t, int64(len(text)), nil
}

// part returns the part of a plan that wrote the file, or "" for the whole plan.
func (t *table) part() string {
	for _, c := range t.comments {
		if strings.HasPrefix(c, "part ") {
			return c
		}
	}
	return ""
}

func parseRow(line string) (Row, error) {
	f, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil || len(f) != 13 {
		return Row{}, errors.New("not a row of this table")
	}
	var failed error
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(cmp.Or(s, "0"), 64)
		failed = cmp.Or(failed, err)
		return v
	}
	whole := func(s string) int {
		v, err := strconv.Atoi(s)
		failed = cmp.Or(failed, err)
		return v
	}
	seed, err := strconv.ParseUint(f[8], 10, 64)
	r := Row{
		Data: f[0], N: whole(f[1]), D: whole(f[2]), Epsilon: number(f[3]), Delta: number(f[4]),
		Algorithm: f[5], Options: f[6],
		Split: whole(f[7]), Seed: seed, Value: number(f[9]), Seconds: number(f[10]), Passes: number(f[11]), Status: f[12],
	}
	return r, errors.Join(failed, err)
}

// head sorts the comments of a table: plan, machines, data, peers, others.
func head(comments []string) []string {
	rank := func(c string) int {
		i := slices.IndexFunc([]string{"plan ", "go", "data ", "peer "},
			func(prefix string) bool { return strings.HasPrefix(c, prefix) })
		if i < 0 {
			return 4
		}
		return i
	}
	out := slices.Clone(comments)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return slices.Compact(out)
}

// write replaces the file by the table in the order of the plan. Rows outside of the plan are an error, so that
// no row is lost.
func (p *Plan) write(path string, t *table) error {
	var b bytes.Buffer
	for _, c := range head(t.comments) {
		fmt.Fprintf(&b, "# %s\n", c)
	}
	b.WriteString(csvLine(p.columns()))
	for _, r := range p.rows(t) {
		b.WriteString(r.line())
	}
	return replace(path, b.Bytes())
}

// replace writes a file, whole or not at all.
func replace(path string, text []byte) error {
	name, err := durable.Resolve(path)
	if err == nil {
		err = durable.Write(name, false, true, nil, durable.Text(text))
	}
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return nil
}

// rows returns the rows of the table in the order of the plan.
func (p *Plan) rows(t *table) []Row {
	var out []Row
	for _, b := range p.blocks() {
		for _, r := range b.runs {
			if row, ok := t.rows[r.row.key()]; ok {
				out = append(out, row)
			}
		}
	}
	return out
}

// checkTable returns an error for a table of another plan or of other data.
func (p *Plan) checkTable(path string, t *table, data []string) error {
	known := map[string]bool{}
	for _, b := range p.blocks() {
		for _, r := range b.runs {
			known[r.row.key()] = true
		}
	}
	strange := 0
	for key := range t.rows {
		if !known[key] {
			strange++
		}
	}
	if strange > 0 {
		return &InputError{fmt.Errorf("experiment: %s has %d rows that the plan does not ask for; write to another file, or "+
			"remove them", path, strange)}
	}
	for _, c := range t.comments {
		if name, _, ok := strings.Cut(c, ":"); ok && strings.HasPrefix(c, "data ") && data != nil {
			for _, now := range data {
				if strings.HasPrefix(now, name+":") && now != c {
					return &InputError{fmt.Errorf("experiment: %s was made with other records (%s; now %s); write to another file",
						path, c, now)}
				}
			}
		}
	}
	return nil
}
