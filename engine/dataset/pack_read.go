package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dyad/engine"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/pages"
)

// readPack maps a pack and checks all of its content: its length, its schema against the schema asked for,
// every hash, the norm of every record, every label, the persons and the groups. It trusts no part of the file.
func (t *table) readPack(in *source.Input) error {
	bad := func(rule string) error { return t.errorf(0, "", 0, rule) }
	switch {
	case t.scan != nil:
		return bad(rulePackScan)
	case t.o.KeepIDs:
		return bad(rulePackIDs)
	case in.File == nil || in.Opened == nil:
		return bad(rulePackStream)
	}
	h, made, content, err := readPackHeader(in.File, in.Size)
	if err != nil {
		return inFile(t.name, err)
	}
	e, err := t.packEncoder(made.Schema())
	if err != nil {
		return err
	}
	file, err := pages.File(in.File)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", t.name, err)
	}
	all := file.Bytes
	if int64(len(all)) != in.Size {
		return bad(rulePackCut)
	}
	s := h.sections(e.Schema().IsNarrow())
	part := func(p section) []byte { return all[p.from : p.from+p.bytes : p.from+p.bytes] }
	hashes := bytes.Clone(part(s.hashes))
	if sum := sha256.Sum256(hashes); hex.EncodeToString(sum[:]) != h.Hashes {
		return bad(rulePackChanged)
	}
	var chunks [][]byte
	for _, p := range s.hashed() {
		chunks = slices.AppendSeq(chunks, slices.Chunk(part(p), packChunk))
	}
	done := int64(0)
	err = checkChunks(chunks, hashes, func(same bool) error {
		if !same {
			return bad(rulePackChanged)
		}
		if t.o.Progress == nil {
			return nil
		}
		done++
		return t.o.Progress(int(h.Rows * done / int64(len(chunks))))
	})
	if err != nil {
		return err
	}
	y := pages.Slice[float64](part(s.labels))
	var records *engine.Records
	if e.Schema().IsNarrow() {
		records, err = storedRecords(pages.Slice[float32](part(s.features)), y, e, t.o.InMemory)
	} else {
		records, err = storedRecords(pages.Slice[float64](part(s.features)), y, e, t.o.InMemory)
	}
	switch {
	case errors.Is(err, engine.ErrStored):
		return bad(rulePackOutside)
	case err != nil:
		return fmt.Errorf("dataset: %s: %w", t.name, err)
	}
	used := &Used{Name: in.Name, content: content}
	if !t.o.InMemory {
		used.file, used.chunks, used.hashes = file, chunks, hashes
	}
	return t.takePack(e, records, used, pages.Slice[int64](part(s.persons)), pages.Slice[int32](part(s.groups)), h)
}

// storedRecords returns the records of a pack, either mapped or copied.
func storedRecords[T float32 | float64](x []T, y []float64, e *schema.Encoder, copied bool) (*engine.Records, error) {
	r, err := engine.StoredRecords(x, y, e.Dim(), e.Bounds())
	if err != nil || !copied {
		return r, err
	}
	y = append(pages.Make[float64](len(y))[:0], y...)
	switch x := any(append(pages.Make[T](len(x))[:0], x...)).(type) {
	case []float32:
		return engine.AdoptNarrowRecords(x, y, e.Dim(), e.Bounds())
	case []float64:
		return engine.HeldRecords(x, y, e.Dim(), e.Bounds())
	}
	return nil, err
}

// packEncoder returns the encoder of the schema that was asked for, with the storage type of the pack. made is
// the schema that the pack was written with. Both schemas must encode records and persons in the same way.
// Descriptions, the number of persons and whether the records are public come from the schema that was asked
// for.
func (t *table) packEncoder(made *schema.Schema) (*schema.Encoder, error) {
	asked := *t.e.Schema()
	if asked.Store != "" && asked.IsNarrow() != made.IsNarrow() {
		has, want := schema.StoreFloat64, schema.StoreFloat32
		if made.IsNarrow() {
			has, want = want, has
		}
		return nil, t.errorf(0, "", 0, fmt.Sprintf(rulePackStore, has, want, want))
	}
	asked.Store = made.Store
	same := *made
	same.Public, same.Description, same.LabelsFile = asked.Public, asked.Description, asked.LabelsFile
	if same.Persons > 0 && asked.Persons > 0 {
		same.Persons = asked.Persons
	}
	same.BoundsFromData, same.Draft, same.Columns = asked.BoundsFromData, asked.Draft, slices.Clone(made.Columns)
	for i := range min(len(same.Columns), len(asked.Columns)) { // the origin of a range does not affect the records
		same.Columns[i].FromData, same.Columns[i].KnownFrom = asked.Columns[i].FromData, asked.Columns[i].KnownFrom
	}
	a, errA := json.Marshal(&asked)
	b, errB := json.Marshal(&same)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		return nil, t.errorf(0, "", 0, rulePackSchema)
	}
	return schema.NewEncoder(&asked)
}

// takePack builds the data set of a pack whose sections were checked.
func (t *table) takePack(e *schema.Encoder, r *engine.Records, used *Used, first []int64, groups []int32,
	h *packHeader) error {
	t.e, t.hasLabels = e, true
	d := &Dataset{Encoder: e, HasLabels: t.readsLabels(), Pack: used, name: t.name}
	for _, y := range r.Labels() {
		if !e.Schema().IsGraded() && y != 1 && y != -1 {
			return t.errorf(0, "", 0, rulePackOutside)
		}
		if y > 0 {
			d.Positives++
		}
	}
	for i, g := range groups { // groups must be 0, 1, ..., GroupCount-1, each with rows
		if i == 0 && g != 0 || i > 0 && g != groups[i-1] && int(g) != int(groups[i-1])+1 ||
			i == len(groups)-1 && int(g) != h.Groups-1 {
			return t.errorf(0, "", 0, rulePackHeader)
		}
	}
	d.Negatives = r.Len() - d.Positives
	if len(groups) > 0 {
		d.Groups, d.GroupCount = groups, h.Groups
	}
	if len(first) > 0 {
		starts := make([]int, len(first))
		for i, at := range first {
			starts[i] = int(at)
		}
		people, err := r.WithPersons(starts, e.Schema().PersonCap())
		if err != nil {
			return t.errorf(0, "", 0, rulePackHeader)
		}
		if !t.o.AnyPersons && e.Schema().Persons > 0 && e.Schema().Persons != int(h.Persons) {
			return t.errorf(0, e.PersonColumn.Name, 0, ruleOtherPersons)
		}
		if t.o.Persons == KeepPersons {
			r = people
		} else if groups != nil {
			d.Groups = d.Groups[:0:0]
			for k, g := range groups {
				d.Groups = append(d.Groups, slices.Repeat([]int32{g}, starts[k+1]-starts[k])...)
			}
		}
	}
	if !d.HasLabels {
		r = r.WithoutLabels()
	}
	if !d.HasLabels || e.Schema().IsGraded() || r.ByPerson() {
		d.Positives, d.Negatives = 0, 0
	}
	d.Records, t.packed, t.rows = r, d, r.Len()
	return nil
}
