package experiment

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"dyad/internal/input"
	"dyad/privacy/durable"
)

// Row is the outcome of a run. The tag csv of a field is the name of its column and the format of its numbers.
type Row struct {
	Data    string  `csv:"data"`
	N       int     `csv:"n"`
	D       int     `csv:"d"`
	Epsilon float64 `csv:"epsilon"` // infinite for methods that are not private
	Delta   float64 `csv:"delta"`
	// Algorithm is the name of an algorithm, a baseline or a peer. Options are its options.
	Algorithm string  `csv:"algorithm"`
	Options   string  `csv:"options"`
	Split     int     `csv:"split"`
	Seed      uint64  `csv:"noise_seed"`   // the seed of the noise
	Value     float64 `csv:"value %.6f"`   // AUC, or accuracy with task metric
	Seconds   float64 `csv:"seconds %.4g"` // the time of planning and training
	Passes    float64 `csv:"passes %.4g"`  // gradients over all pairs, or the count of a peer; 0 if unknown
	// Status is "ok", or the reason why there is no value. It is "refused: ..." if an assumption of the
	// algorithm does not hold, and "failed: ..." otherwise.
	Status string `csv:"status"`
}

// ok reports whether the row has a value.
func (r Row) ok() bool { return r.Status == statusOK }

const statusOK, statusFailed = "ok", "failed: "

// Label names the method.
func (r Row) Label() string { return label(r.Algorithm, r.Options) }

// key identifies a run. It is a row without its outcome and without d, which the data determine.
func (r Row) key() Row {
	r.D, r.Value, r.Seconds, r.Passes, r.Status = 0, 0, 0, 0, ""
	return r
}

// fields are the columns of a row.
func (r Row) fields() []string {
	_, f := csvOf(r)
	if f[3] == "+Inf" {
		f[3] = "inf"
	}
	if !r.ok() {
		clear(f[9:12])
	}
	return f
}

// columns returns the columns of the file.
func (p *Plan) columns() []string {
	names, _ := csvOf(Row{})
	names[9] = strings.ToLower(p.Unit())
	return names
}

// Unit names what a run measures: Plan.Measure if it is set, else accuracy if the task is metric, else AUC.
func (p *Plan) Unit() string {
	if p.Measure == "" && p.Task == taskMetric {
		return "accuracy"
	}
	return cmp.Or(p.Measure, "AUC")
}

// csvOf returns the columns of a row, a struct whose fields have tags such as Row's, and their texts.
func csvOf(row any) (names, texts []string) {
	v := reflect.ValueOf(row)
	for i := range v.NumField() {
		name, format, _ := strings.Cut(v.Type().Field(i).Tag.Get("csv"), " ")
		if name != "" {
			names, texts = append(names, name), append(texts, fmt.Sprintf(cmp.Or(format, "%v"), v.Field(i)))
		}
	}
	return names, texts
}

// parseCSV sets the fields of a row, all of which have tags, to the texts of csvOf. The text "" is 0.
func parseCSV(row any, texts []string) error {
	v := reflect.ValueOf(row).Elem()
	if len(texts) != v.NumField() {
		return errors.New("not a row of this table")
	}
	var failed error
	for i, text := range texts {
		var err error
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = text
		case *int:
			*f, err = strconv.Atoi(cmp.Or(text, "0"))
		case *uint64:
			*f, err = strconv.ParseUint(text, 10, 64)
		case *float64:
			*f, err = strconv.ParseFloat(cmp.Or(text, "0"), 64)
		}
		failed = cmp.Or(failed, err)
	}
	return failed
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
	rows     map[Row]Row
}

// readTable reads a file of this plan. If the file does not exist, the table is empty. whole is the length up
// to the end of the last whole line, because an interrupted run leaves part of a line.
func (p *Plan) readTable(path string) (t *table, whole int64, err error) {
	t = &table{rows: map[Row]Row{}}
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
			return input.As(fmt.Errorf("experiment: %s, line %d: %s; name a file with results of this plan",
				path, i+1, why))
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
			var r Row
			f, err := csv.NewReader(strings.NewReader(line)).Read()
			if err == nil {
				err = parseCSV(&r, f)
			}
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
	if strange := len(t.rows) - len(p.rows(t)); strange > 0 {
		return input.As(fmt.Errorf("experiment: %s has %d rows that the plan does not ask for; write to another file, or "+
			"remove them", path, strange))
	}
	for _, c := range t.comments {
		if name, _, ok := strings.Cut(c, ":"); ok && strings.HasPrefix(c, "data ") && data != nil {
			for _, now := range data {
				if strings.HasPrefix(now, name+":") && now != c {
					return input.As(fmt.Errorf("experiment: %s was made with other records (%s; now %s); write to another file",
						path, c, now))
				}
			}
		}
	}
	return nil
}
