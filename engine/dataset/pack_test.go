package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"testing"

	"dyad/engine/dataset/source"
	"dyad/internal/must"
	"dyad/internal/pages"
	power "dyad/internal/sizes"
)

// packFile packs a file.
func packFile(t testing.TB, from string, s *Schema) (string, *Packed) {
	t.Helper()
	var b bytes.Buffer
	made := must.Get(Pack(&b, from, s, PackOptions{Folder: t.TempDir(), Prefix: "wait"}))(t)
	name := writeFile(t, "data.dyadpack", b.Bytes())
	must.Equal(t, made.Bytes, int64(b.Len()), "bytes that are said")
	return name, made
}

// A pack gives the records, labels, persons and groups that the file gives, to the bit: in both
// storages, mapped and in memory.
func TestPackGivesTheSameRecords(t *testing.T) {
	file := storeFile(t, power.Of(40_000, 60_000)) // several flushes
	for _, store := range []string{"", StoreFloat32} {
		for _, role := range []string{RoleIgnore, RolePerson, RoleGroup} {
			s := storeSchema(t, store, role)
			want := must.Get(Load(file, s, Options{Persons: KeepPersons}))(t)
			name, made := packFile(t, file, s)
			if made.Rows != want.Records.Len() || made.Persons > 0 != (role == RolePerson) || made.Groups != want.GroupCount {
				t.Errorf("%s %s: %+v", store, role, made)
			}
			records := want.Records
			if role == RoleGroup {
				order := make([]int, records.Len())
				for i := range order {
					order[i] = i
				}
				slices.SortStableFunc(order, func(a, b int) int { return int(want.Groups[a]) - int(want.Groups[b]) })
				records = records.Subset(order)
				slices.Sort(want.Groups)
			}
			for _, asked := range []string{store, ""} {
				for _, inMemory := range []bool{false, true} {
					s := storeSchema(t, asked, role)
					rows := 0
					d := must.Get(Load(name, s, Options{Persons: KeepPersons, InMemory: inMemory, Progress: func(n int) error { rows = n; return nil }}))(t, store, role)
					sameRecords(t, d.Records, records)
					if d.Records.InFile() == inMemory || d.Records.IsNarrow() != (store == StoreFloat32) || d.Encoder.Schema().IsNarrow() != (store == StoreFloat32) {
						t.Errorf("%s %s: stored otherwise than asked for", store, role)
					}
					if !slices.Equal(d.Groups, want.Groups) || d.GroupCount != want.GroupCount || d.Positives != want.Positives || d.Negatives != want.Negatives || rows != made.Rows {
						t.Errorf("%s %s: other groups, classes or progress", store, role)
					}
				}
			}
		}
	}
}

// rewrite puts a pack together again after changes of its header and sections, with hashes that fit.
func rewrite(t *testing.T, name string, header func(*packHeader), section func(s packSections, all []byte)) string {
	t.Helper()
	all := must.Get(os.ReadFile(name))(t)
	h, e, _, err := readPackHeader(bytes.NewReader(all), int64(len(all)))
	must.Do(t, err)
	s := h.sections(e.Schema().IsNarrow())
	if section != nil {
		section(s, all)
	}
	hashes := all[s.hashes.from:s.hashes.from]
	for _, p := range s.hashed() {
		for chunk := range slices.Chunk(all[p.from:p.from+p.bytes], packChunk) {
			sum := sha256.Sum256(chunk)
			hashes = append(hashes, sum[:]...)
		}
	}
	sum := sha256.Sum256(hashes)
	h.Hashes = hex.EncodeToString(sum[:])
	if header != nil {
		header(h)
	}
	var out bytes.Buffer
	must.Get(writePackHeader(&packSectionWriter{w: &out, at: s.hashes.from, chunk: sha256.New(), hashes: hashes}, h))(t)
	return writeFile(t, "changed.dyadpack", append(all[:s.hashes.from], out.Bytes()...))
}

// A pack that is cut, changed anywhere, of another version or schema, or made by hand with a record
// outside its bounds is refused, by an error that names the file and what to do.
func TestPackIsChecked(t *testing.T) {
	file := storeFile(t, 50)
	for _, role := range []string{RoleIgnore, RolePerson, RoleGroup} {
		s := storeSchema(t, StoreFloat32, role)
		name, _ := packFile(t, file, s)
		text := must.Get(os.ReadFile(name))(t)
		refused := func(what, name string, s *Schema, o Options, rule string) {
			t.Helper()
			o.Persons = KeepPersons
			_, err := Load(name, s, o)
			wantRule(t, err, source.ParseError{File: name, Rule: rule}, role, ", ", what)
		}
		write := func(text []byte) string {
			t.Helper()
			return writeFile(t, "bad.dyadpack", text)
		}
		h, e, _, err := readPackHeader(bytes.NewReader(text), int64(len(text)))
		must.Do(t, err)
		at := h.sections(e.Schema().IsNarrow())
		for what, place := range map[string]int64{
			"feature": at.features.from + 3, "label": at.labels.from + 7, "hash": at.hashes.from + 1, "header": at.end + 5, "persons": at.persons.from, "groups": at.groups.from,
		} {
			if place == 0 {
				continue // there are none
			}
			changed := bytes.Clone(text)
			changed[place] ^= 1
			refused(what+" changed", write(changed), s, Options{}, rulePackChanged)
		}
		for _, length := range []int{len(packMagic), 100, packPage, len(text) / 2, len(text) - 1} {
			refused("cut", write(text[:length]), s, Options{}, rulePackCut)
		}
		refused("longer", write(append(bytes.Clone(text), text[len(text)-packTail:]...)), s, Options{}, "make it again")
		newer := bytes.Clone(text)
		binary.LittleEndian.PutUint32(newer[len(packMagic):], 2)
		refused("newer", write(newer), s, Options{}, "version 2")
		refused("ids", name, s, Options{KeepIDs: true}, rulePackIDs)
		other := storeSchema(t, "", role)
		other.Columns[1].Range = []float64{0, 2}
		refused("schema", name, other, Options{}, rulePackSchema)
		mine := storeSchema(t, "", role)
		mine.Public, mine.Description = true, "mine"
		if d, err := Load(name, mine, Options{Persons: KeepPersons}); err != nil || !d.Schema().Public || d.Schema().Description != "mine" || !d.Schema().IsNarrow() {
			t.Errorf("%s: the schema that is given does not say what is public: %v", role, err)
		}
		mine.Public = false
		if d, err := Load(name, mine, Options{Persons: KeepPersons}); err != nil || d.Schema().Public {
			t.Errorf("%s: a pack made records public: %v", role, err)
		}
		refused("store", name, storeSchema(t, StoreFloat64, role), Options{}, "stores float32, but float64 was requested")
		must.FailDo(t, Scan(name, s, Options{Persons: KeepPersons}, func(*Row) error { return nil }), rulePackScan, "Scan")

		// By hand, with hashes that fit.
		must.Check(Load(rewrite(t, name, nil, nil), s, Options{Persons: KeepPersons}))(t, role, ": a pack that was put together again unchanged")
		float := func(place int64, v float32) func(packSections, []byte) {
			return func(_ packSections, all []byte) { copy(all[place:], pages.Bytes([]float32{v})) }
		}
		for _, v := range []float32{1.5, float32(math.NaN()), float32(math.Inf(1))} {
			refused("feature by hand", rewrite(t, name, nil, float(at.features.from, v)), s, Options{}, rulePackOutside)
		}
		for _, v := range []float64{0, 2, math.NaN()} {
			refused("label by hand", rewrite(t, name, nil, func(at packSections, all []byte) { copy(all[at.labels.from:], pages.Bytes([]float64{v})) }), s, Options{}, rulePackOutside)
		}
		refused("rows by hand", rewrite(t, name, func(h *packHeader) { h.Rows = 1 << 40 }, nil), s, Options{}, rulePackHeader)
		refused("rows by hand", rewrite(t, name, func(h *packHeader) { h.Rows += packPage }, nil), s, Options{}, rulePackCut)
		refused("bounds by hand", rewrite(t, name, func(h *packHeader) { h.Bounds.FeatureNorm = 2 }, nil), s, Options{}, rulePackHeader)
		refused("version by hand", rewrite(t, name, func(h *packHeader) { h.Version = 3 }, nil), s, Options{}, rulePackHeader)
		refused("persons by hand", rewrite(t, name, func(h *packHeader) { h.Persons++ }, nil), s, Options{}, "make it again")
		switch role {
		case RolePerson:
			refused("no row", rewrite(t, name, nil, func(at packSections, all []byte) { copy(all[at.persons.from+8:], pages.Bytes([]int64{0})) }), s, Options{}, rulePackHeader)
			refused("outside", rewrite(t, name, nil, func(at packSections, all []byte) { copy(all[at.persons.from+8:], pages.Bytes([]int64{1 << 50})) }), s, Options{}, rulePackHeader)
		case RoleGroup:
			refused("group", rewrite(t, name, nil, func(at packSections, all []byte) { copy(all[at.groups.from:], pages.Bytes([]int32{7})) }), s, Options{}, rulePackHeader)
			refused("group", rewrite(t, name, nil, func(at packSections, all []byte) { copy(all[at.groups.from:], pages.Bytes([]int32{-1})) }), s, Options{}, rulePackHeader)
			refused("a group without rows", rewrite(t, name, func(h *packHeader) { h.Groups++ }, nil), s, Options{}, rulePackHeader)
		}
	}
}

// The content of a pack is its header, which changes with any record; of another file it is the file.
func TestOpenContent(t *testing.T) {
	read := func(name string) []byte {
		t.Helper()
		f := must.Get(openContent(name))(t)
		defer f.Close()
		var b bytes.Buffer
		must.Get(b.ReadFrom(f))(t)
		return b.Bytes()
	}
	file := storeFile(t, 50)
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(read(file), text) {
		t.Errorf("the content of a CSV file is not the file: %v", err)
	}
	a, made := packFile(t, file, storeSchema(t, "", RoleIgnore))
	b, again := packFile(t, file, storeSchema(t, "", RoleIgnore))
	if !bytes.Equal(read(a), read(b)) || made.Hash != again.Hash {
		t.Error("two packs of one file have other contents")
	}
	put(t, file, bytes.Replace(text, []byte(",x,"), []byte(",y,"), 1))
	if c, _ := packFile(t, file, storeSchema(t, "", RoleIgnore)); bytes.Equal(read(a), read(c)) {
		t.Error("a pack of another file has the same content")
	}
}

// Sparse records and packs are not packed, and packing that fails leaves no temporary file.
func TestPackRefuses(t *testing.T) {
	dir := t.TempDir()
	sparse := mustSchema(t, "data_id: x\nfeatures: 3\nrange: [0, 1]\ncolumns:\n  - {name: y, role: label, positive: \"1\"}\n")
	must.Fail(Pack(new(bytes.Buffer), "none", sparse, PackOptions{Folder: dir}))(t, "dense", "sparse")
	s := storeSchema(t, "", RoleIgnore)
	name, _ := packFile(t, storeFile(t, 50), s)
	must.Fail(Pack(new(bytes.Buffer), name, s, PackOptions{Folder: dir}))(t, rulePackOfPack, "a pack of a pack")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// No header makes the reader fail otherwise than by an error, ask for much memory, or point outside
// the file.
func FuzzPackHeader(f *testing.F) {
	s := mustSchema(f, "data_id: x\nformat: csv\ncsv: {header: true}\ncolumns:\n  - {name: a, range: [0, 1]}\n  - {name: y, role: label, positive: \"1\"}\n")
	file := writeFile(f, "a.csv", "a,y\n0.5,1\n0.25,0\n")
	name, _ := packFile(f, file, s)
	text := must.Get(os.ReadFile(name))(f)
	_, _, header, err := readPackHeader(bytes.NewReader(text), int64(len(text)))
	must.Do(f, err)
	f.Add(header, int64(len(text)))
	f.Add(bytes.Replace(header, []byte(`"rows":2`), []byte(`"rows":9223372036854775807`), 1), int64(len(text)))
	f.Add(bytes.Replace(header, []byte(`"rows":2`), []byte(`"rows":-1`), 1), int64(len(text)))
	f.Add(bytes.Replace(header, []byte(`"features":1`), []byte(`"features":2`), 1), int64(len(text)))
	f.Add([]byte(`{}`), int64(0))
	body := text[:len(text)-packTail-len(header)]
	f.Fuzz(func(t *testing.T, header []byte, size int64) {
		sum := sha256.Sum256(header)
		all := append(append(bytes.Clone(body), header...), sum[:]...)
		all = binary.LittleEndian.AppendUint64(all, uint64(len(header)))
		all = append(all, packMagic...)
		for _, size := range []int64{size, int64(len(all))} {
			if size < 0 || size > int64(len(all)) {
				continue
			}
			h, e, _, err := readPackHeader(bytes.NewReader(all), size)
			if err != nil {
				continue
			}
			s := h.sections(e.Schema().IsNarrow())
			for _, p := range append(s.hashed(), s.hashes) {
				if p.from < 0 || p.bytes < 0 || p.from+p.bytes > size {
					t.Fatalf("section %+v of %d bytes", p, size)
				}
			}
		}
	})
}
