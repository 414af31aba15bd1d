package dataset

import (
	"encoding/json"
	"fmt"
	"testing"

	"dyad/engine/dataset/schema"
	"dyad/internal/hostile"
	"dyad/internal/must"
)

// Whatever is changed in a genuine schema, as YAML or in a model, it is refused, or has an encoder that is written and
// read as the same one, and reads a file.
func FuzzHostileSchema(f *testing.F) {
	var seeds []*hostile.Value
	for _, text := range []string{headerSchema, plainSchema, sparseSchema, denseSchema, mixedSchema, clinicalSchema, basisSchema, pairedSchema, europeanSchema, fmt.Sprintf(visitSchema, 3), fmt.Sprintf(personSchema, "persons: 3")} {
		raw := must.Get(json.Marshal(mustSchema(f, text)))(f)
		v := must.Get(hostile.Parse(raw))(f)
		must.Get(ParseSchema(v.YAML()))(f, string(v.YAML()))
		seeds = append(seeds, v)
	}
	for i, v := range seeds {
		for k := range v.Leaves() {
			if k%len(seeds) == i {
				f.Add(byte(i), byte(8*(k/len(seeds))), []byte{0, byte(k), byte(7 * k)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, way byte, changes []byte) {
		seed, changes := seeds[int(which)%len(seeds)], changes[:min(len(changes), 12)]
		var s *Schema
		if way%16 > 0 { // three times as fast, by the same rules
			var e Encoder
			text := must.Get(json.Marshal(seed.Change(changes)))(t)
			if e.UnmarshalJSON(text) != nil {
				return
			}
			s = e.Schema()
		} else {
			var err error
			if s, err = ParseSchema(seed.Change(changes, hostile.Plain...).YAML()); err != nil {
				return
			}
		}
		if checkEncoder(t, s) == nil || s.Format != "" && s.Format != schema.FormatCSV {
			return
		}
		content := "age,sex,out\n30,f,yes\n40,m,no\n"
		if s.ByIndex() {
			content = "1 1:1 2:0.5\n0 1:0.2\n"
		}
		d, err := load(s, content, Options{Labels: LabelsIgnored, Persons: IgnorePersons})
		if err == nil {
			checkLoaded(t, d, nil)
		}
	})
}
