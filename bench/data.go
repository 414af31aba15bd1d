package bench

import (
	"dyad/engine"
	"dyad/engine/dataset"
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

// Split cuts records into n to train and the others, at random by seed.
func Split(r *engine.Records, n int, seed uint64) (train, test *engine.Records, err error) {
	keep, out, err := dataset.Split(r.Len(), float64(n)/float64(r.Len()), seed)
	if err != nil {
		return nil, nil, err
	}
	return r.Subset(keep), r.Subset(out), nil
}
