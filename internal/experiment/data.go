package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyad/engine"
	"dyad/engine/dataset"
	"dyad/engine/dataset/catalog"
	"dyad/internal/input"
)

// loaded is a data set in memory.
type loaded struct {
	records, test        *engine.Records // test is nil if the test records are the remaining records of a split
	columns, testColumns *columns        // nil if no peer needs them, or there are none
	schema               *dataset.Schema // of a file, else nil
	encoder              *dataset.Encoder
}

// load reads all data sets of the plan, so that missing data are found before any run.
func (p *Plan) load(ctx context.Context, folders []string) ([]loaded, error) {
	out := make([]loaded, len(p.Data))
	var missing []error
	for i := range p.Data {
		d := &p.Data[i]
		var err error
		if out[i], err = d.load(ctx, p, folders); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			missing = append(missing, fmt.Errorf("experiment: data set %s: %w", d.Name, err))
			continue
		}
		for _, n := range d.N {
			if have := out[i].records.Units(); n > have || n == have && out[i].test == nil {
				missing = append(missing, p.at(fmt.Sprintf("data[%d].n", i),
					"experiment: data set %s: n is %d, but there are only %d records", d.Name, n, have))
			}
		}
	}
	if len(missing) > 0 {
		return nil, input.As(errors.Join(missing...))
	}
	return out, nil
}

func (d *Data) load(ctx context.Context, p *Plan, folders []string) (loaded, error) {
	out, err := d.read(ctx, p, folders)
	for _, r := range []**engine.Records{&out.records, &out.test} {
		if err == nil && *r != nil && d.NoiseColumns > 0 {
			*r, err = dataset.WithNoise(*r, d.NoiseColumns, d.Seed)
		}
	}
	return out, err
}

// read is load without noise.
func (d *Data) read(ctx context.Context, p *Plan, folders []string) (loaded, error) {
	if d.Given != nil {
		return loaded{records: d.Given}, nil
	}
	if d.Synthetic != "" {
		r, err := generators()[d.Synthetic].make(d.Records, d.Features, d.Seed)
		return loaded{records: r}, err
	}
	schema, err := p.schema(d.Schema)
	if err != nil {
		return loaded{}, err
	}
	out, err := d.readBy(ctx, schema, folders)
	if err != nil || out.records.Units() != out.records.Len() ||
		!slices.ContainsFunc(p.Peers, func(q Peer) bool { return q.Columns }) {
		return out, err
	}
	read := func(name string) (*columns, error) {
		path, err := FindData(name, folders)
		if err != nil {
			return nil, err
		}
		return readColumns(ctx, path, schema)
	}
	if out.columns, err = read(d.File); err == nil && d.Test != "" {
		out.testColumns, err = read(d.Test)
	}
	return out, err
}

// readBy reads the files by a schema.
func (d *Data) readBy(ctx context.Context, schema *dataset.Schema, folders []string) (out loaded, err error) {
	out.schema = schema
	read := func(name string) (*engine.Records, error) {
		path, err := FindData(name, folders)
		if err != nil {
			return nil, err
		}
		set, err := dataset.Load(path, schema, dataset.Options{Progress: func(int) error { return ctx.Err() }})
		if err != nil {
			return nil, err
		}
		out.encoder = set.Encoder
		return set.Records, set.CheckPairs()
	}
	if out.records, err = read(d.File); err == nil && d.Test != "" {
		out.test, err = read(d.Test)
	}
	return out, err
}

// UseSchemas makes the plan read its schemas from files instead of from the folder of the plan. A schema
// is found by the last part of its path.
func (p *Plan) UseSchemas(files fs.FS) { p.schemas = files }

func (p *Plan) schema(name string) (*dataset.Schema, error) {
	if p.schemas == nil {
		return dataset.LoadSchema(filepath.Join(p.dir, name))
	}
	text, err := fs.ReadFile(p.schemas, filepath.Base(name))
	if err != nil {
		return nil, err
	}
	return dataset.ParseSchema(text)
}

// MissingFiles returns a sentence for each data file that is not in the folders. The sentence tells how to get
// the file.
func (p *Plan) MissingFiles(folders []string) (out []string) {
	for _, d := range p.Data {
		for _, name := range []string{d.File, d.Test} {
			if name == "" {
				continue
			}
			if _, err := FindData(name, folders); err != nil {
				out = append(out, err.Error())
			}
		}
	}
	return out
}

// FindData returns the path of the file DATASET/NAME, or of its compressed form DATASET/NAME.gz, in the first
// folder that contains one of them. The error states where to get the file.
func FindData(name string, folders []string) (string, error) {
	for _, folder := range folders {
		for _, path := range []string{filepath.Join(folder, name), filepath.Join(folder, name+".gz")} {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	set, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	remedy := "put it there"
	if e, ok := catalog.Find(set); ok {
		remedy = fmt.Sprintf("\"dyad data fetch %s\" fetches it (%s)", e.Name, e.Page)
	}
	return "", fmt.Errorf("the file %s is missing in %s; %s, or name another data folder", name,
		strings.Join(folders, " or "), remedy)
}

// rows are the units of a training set and of its test records.
func (l loaded) rows(n, seed int) (keep, out []int, err error) {
	every := func(r *engine.Records) (all []int) {
		for i := range r.Units() {
			all = append(all, i)
		}
		return all
	}
	if all := l.records.Units(); n == all { // only with test records of their own
		keep = every(l.records)
	} else if keep, out, err = dataset.Split(all, float64(n)/float64(all), uint64(seed)); err != nil {
		return nil, nil, err
	}
	if l.test != nil {
		out = every(l.test)
	}
	return keep, out, nil
}

// split is the training set of a block and its test records.
func (l loaded) split(n, seed int) (train, test *engine.Records, err error) {
	if n == l.records.Units() {
		return l.records, l.test, nil
	}
	keep, out, err := l.rows(n, seed)
	if err != nil {
		return nil, nil, err
	}
	if l.test != nil {
		return l.records.UnitSubset(keep), l.test, nil
	}
	return l.records.UnitSubset(keep), l.records.UnitSubset(out), nil
}

// describe identifies the encoded records of a data set in the head of a table.
func (l loaded) describe(name string) string {
	h := sha256.New()
	size := fmt.Sprint(l.records.Len())
	add := func(r *engine.Records) {
		row := make([]float64, r.Dim()+1)
		for i := range r.Len() {
			r.Row(i, row[:r.Dim()])
			row[r.Dim()] = r.Label(i)
			_ = binary.Write(h, binary.LittleEndian, row) // a hash does not fail
		}
	}
	add(l.records)
	if l.test != nil {
		size += fmt.Sprintf(" + %d", l.test.Len())
		add(l.test)
	}
	return fmt.Sprintf("data %s: %s records, %d features, encoded %s", name, size, l.records.Dim(),
		hex.EncodeToString(h.Sum(nil)[:6]))
}

// generator makes synthetic data from the number of records, the number of features (0 if fixed) and a seed.
type generator struct {
	features bool // d is free
	make     func(n, d int, seed uint64) (*engine.Records, error)
}

// generators maps every name to its generator.
func generators() map[string]generator {
	all := map[string]generator{
		"clinical": {false, func(n, _ int, seed uint64) (*engine.Records, error) {
			s, err := dataset.SyntheticClinical(n, seed)
			if err != nil {
				return nil, err
			}
			return s.Records, nil
		}},
		"scores": {true, dataset.SyntheticScores},
		"ar1":    {true, dataset.SyntheticAR1},
	}
	for _, kind := range dataset.SyntheticMetricKinds() {
		draw := func(n, _ int, seed uint64) (*engine.Records, error) { return dataset.SyntheticMetric(kind, n, seed) }
		all[kind] = generator{false, draw}
	}
	return all
}

// checkSynthetic validates a data set that is generated.
func (d *Data) checkSynthetic() error {
	g, ok := generators()[d.Synthetic]
	switch {
	case !ok:
		return fmt.Errorf("the generator %q is unknown; want one of %v",
			d.Synthetic, slices.Sorted(maps.Keys(generators())))
	case d.Records < 3 || d.Records > math.MaxInt32:
		return fmt.Errorf("records is %d, but must be at least 3", d.Records)
	case g.features && d.Features < 1:
		return fmt.Errorf("features is %d, but must be at least 1", d.Features)
	case !g.features && d.Features != 0:
		return fmt.Errorf(`the generator %s sets the number of features; remove the key "features"`, d.Synthetic)
	}
	return nil
}
