package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"

	"dyad/engine"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/create"
	"dyad/internal/pages"
)

// PackOptions are the options of Pack.
type PackOptions struct {
	// Folder is the folder of the temporary files, which only this program can read. Labels are stored there
	// until all features are written. If there are persons or groups, rows are stored there, too. The names of
	// the files begin with Prefix.
	Folder, Prefix string
	// LabelsFile and Progress have the same meaning as in Options.
	LabelsFile string
	Progress   func(rows int) error
}

// Packed describes the contents of a pack.
type Packed struct {
	Rows, Features  int
	Persons, Groups int    // number of persons and of query groups, 0 if there are none
	Store           string // StoreFloat64 or StoreFloat32
	Bytes           int64
	Hash            string // hash of the content, in hex
}

// Pack writes the records of a file as a pack. The records are equal, to the bit, to the records that Load returns.
// Rows of one person or one query group are stored next to each other. Of the rows of a person, the pack contains
// only those that training uses. The memory needed does not grow with the number of rows, except for the lists that
// assign rows to persons and groups.
func Pack(w io.Writer, path string, s *schema.Schema, o PackOptions) (*Packed, error) {
	files, err := Expand(path)
	if err != nil {
		return nil, err
	}
	return pack(w, listName(files), s, o, func(t *table) error {
		t.files = files
		return t.readFiles()
	})
}

// PackReader writes the records read from r as a pack, like Pack. name stands for the file in errors.
func PackReader(w io.Writer, name string, r io.Reader, s *schema.Schema, o PackOptions) (*Packed, error) {
	return pack(w, name, s, o, func(t *table) error { return t.read(&source.Input{Name: name, R: r}) })
}

// pack writes the rows that read adds to a table.
func pack(w io.Writer, name string, s *schema.Schema, o PackOptions, read func(t *table) error) (*Packed, error) {
	options := Options{Persons: KeepPersons, LabelsFile: o.LabelsFile, Progress: o.Progress}
	e, err := encoderFor(s, options)
	if err != nil {
		return nil, err
	}
	if e.Schema().IsSparse() {
		return nil, &source.ParseError{File: name, Rule: rulePackOfSparse}
	}
	t := newTable(name, e, options, nil)
	p, err := newPackRows(w, e, o)
	defer p.close()
	if err != nil {
		return nil, err
	}
	t.sink = p
	if err := read(t); err != nil {
		return nil, err
	}
	return p.finish(t)
}

// packRows writes the rows of a pack while the file is read.
type packRows struct {
	e       *schema.Encoder
	out     *packSectionWriter
	ordered bool     // rows are stored temporarily until their persons or groups are known
	x, y    *os.File // temporary files of features and labels
	narrow  []float32
	rows    int
}

// newPackRows creates the temporary files and begins the pack. The result must be closed even after an error.
func newPackRows(w io.Writer, e *schema.Encoder, o PackOptions) (*packRows, error) {
	p := &packRows{e: e, ordered: e.PersonColumn != nil || e.GroupColumn != nil,
		out: &packSectionWriter{w: w, chunk: sha256.New()}}
	for _, f := range []**os.File{&p.x, &p.y} {
		var err error
		if *f, err = create.Temporary(cmp.Or(o.Folder, os.TempDir()), o.Prefix, "", create.Private); err != nil {
			return p, err
		}
		_ = os.Remove((*f).Name()) // a crash leaves no file; Windows removes the file in close
	}
	first := append([]byte(packMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(first[len(packMagic):], packVersion)
	if err := p.out.plain(first); err != nil {
		return p, err
	}
	return p, p.out.pad()
}

// close removes the temporary files.
func (p *packRows) close() {
	for _, f := range []*os.File{p.x, p.y} {
		if f != nil {
			_, _ = f.Close(), os.Remove(f.Name())
		}
	}
}

func (p *packRows) expect(int) {}

func (p *packRows) take(x, y []float64) error {
	p.rows += len(y)
	raw := pages.Bytes(x)
	if p.e.Schema().IsNarrow() {
		if len(p.narrow) < len(x) {
			p.narrow = make([]float32, len(x))
		}
		narrow(p.narrow[:len(x)], x)
		raw = pages.Bytes(p.narrow[:len(x)])
	}
	var err error
	if p.ordered {
		_, err = p.x.Write(raw)
	} else {
		err = p.out.write(raw)
	}
	if err == nil {
		_, err = p.y.Write(pages.Bytes(y))
	}
	return err
}

// finish writes the remaining sections.
func (p *packRows) finish(t *table) (*Packed, error) {
	if t.packed != nil {
		return nil, &source.ParseError{File: t.name, Rule: rulePackOfPack}
	}
	err := t.check()
	if err == nil {
		err = t.flush(0)
	}
	if err != nil {
		return nil, err
	}
	h := packHeader{Version: packVersion, Rows: int64(p.rows), Features: p.e.Dim(), Bounds: boundsOfPack(p.e.Bounds()),
		ChunkBytes: packChunk}
	var rows []int // rows in the order to write; nil for all
	var first []int64
	var groups []int32
	switch {
	case t.people != nil:
		of, count, err := t.persons()
		if err != nil {
			return nil, err
		}
		if p.e.GroupColumn != nil { // the persons of a group are stored next to each other
			if groups, err = t.personGroups(t.groups.of.join(), of, count); err != nil {
				return nil, err
			}
			h.Groups = len(t.groups.number)
			place := make([]int32, count)
			order, _, err := engine.GroupRows(groups, h.Groups, count)
			if err != nil {
				return nil, fmt.Errorf("dataset: %w", err)
			}
			for at, k := range order {
				place[k] = int32(at)
			}
			for i, k := range of {
				of[i] = place[k]
			}
			slices.Sort(groups)
		}
		order, starts, err := engine.GroupRows(of, count, p.e.Schema().PersonCap())
		if err != nil {
			return nil, fmt.Errorf("dataset: %w", err)
		}
		rows, h.Rows, h.Persons = order, int64(len(order)), int64(count)
		for _, at := range starts {
			first = append(first, int64(at))
		}
	case p.e.GroupColumn != nil:
		of := t.groups.of.join()
		h.Groups = len(t.groups.number)
		if rows, _, err = engine.GroupRows(of, h.Groups, len(of)); err != nil {
			return nil, fmt.Errorf("dataset: %w", err)
		}
		for _, i := range rows {
			groups = append(groups, of[i])
		}
	}
	size := 8
	if p.e.Schema().IsNarrow() {
		size = 4
	}
	if p.ordered {
		err = p.copy(p.x, rows, size*p.e.Dim())
	}
	err = errors.Join(err, p.out.end())
	if err == nil {
		err = errors.Join(p.copy(p.y, rows, 8), p.out.end())
	}
	for _, section := range [][]byte{pages.Bytes(first), pages.Bytes(groups)} {
		if err == nil && section != nil {
			err = errors.Join(p.out.write(section), p.out.end())
		}
	}
	if err != nil {
		return nil, err
	}
	return p.header(&h)
}

// header completes the header and writes it.
func (p *packRows) header(h *packHeader) (*Packed, error) {
	var err error
	if h.Schema, err = json.Marshal(p.e.Schema()); err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	schemaSum, hashes := sha256.Sum256(h.Schema), sha256.Sum256(p.out.hashes)
	h.SchemaHash, h.Hashes = hex.EncodeToString(schemaSum[:]), hex.EncodeToString(hashes[:])
	sum, err := writePackHeader(p.out, h)
	if err != nil {
		return nil, err
	}
	made := &Packed{Rows: int(h.Rows), Features: h.Features, Persons: int(h.Persons), Groups: h.Groups,
		Store: schema.StoreFloat64, Bytes: p.out.at, Hash: hex.EncodeToString(sum)}
	if p.e.Schema().IsNarrow() {
		made.Store = schema.StoreFloat32
	}
	return made, nil
}

// writePackHeader writes the section of hashes and a header, and returns the header's hash.
func writePackHeader(out *packSectionWriter, h *packHeader) ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	sum := sha256.Sum256(text)
	end := append(text, sum[:]...)
	end = binary.LittleEndian.AppendUint64(end, uint64(len(text)))
	end = append(end, packMagic...)
	if err := out.plain(out.hashes); err != nil {
		return nil, err
	}
	return sum[:], errors.Join(out.pad(), out.plain(end))
}

// copy writes the given items of a file. Each item has size bytes. If rows is nil, it writes all items.
func (p *packRows) copy(f *os.File, rows []int, size int) error {
	buffer := make([]byte, max(1<<22/size, 1)*size)
	if rows == nil {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for {
			n, err := io.ReadFull(f, buffer)
			if n > 0 {
				if err := p.out.write(buffer[:n]); err != nil {
					return err
				}
			}
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	for i := 0; i < len(rows); {
		filled := 0
		for i < len(rows) && filled < len(buffer) { // copy runs of consecutive rows
			j := i + 1
			for j < len(rows) && rows[j] == rows[j-1]+1 && filled+(j+1-i)*size <= len(buffer) {
				j++
			}
			if _, err := f.ReadAt(buffer[filled:filled+(j-i)*size], int64(rows[i])*int64(size)); err != nil {
				return err
			}
			filled, i = filled+(j-i)*size, j
		}
		if err := p.out.write(buffer[:filled]); err != nil {
			return err
		}
	}
	return nil
}

// packSectionWriter writes sections one after the other.
type packSectionWriter struct {
	w      io.Writer
	at     int64
	chunk  hash.Hash
	filled int // number of bytes in the current chunk
	hashes []byte
}

// plain writes bytes that are not hashed.
func (s *packSectionWriter) plain(b []byte) error {
	n, err := s.w.Write(b)
	s.at += int64(n)
	return err
}

// write writes a part of a section and hashes it.
func (s *packSectionWriter) write(b []byte) error {
	for left := b; len(left) > 0; {
		n := min(len(left), packChunk-s.filled)
		s.chunk.Write(left[:n])
		if s.filled, left = s.filled+n, left[n:]; s.filled == packChunk {
			s.endChunk()
		}
	}
	return s.plain(b)
}

func (s *packSectionWriter) endChunk() {
	if s.filled > 0 {
		s.hashes = s.chunk.Sum(s.hashes)
		s.chunk.Reset()
		s.filled = 0
	}
}

// end ends a section.
func (s *packSectionWriter) end() error {
	s.endChunk()
	return s.pad()
}

func (s *packSectionWriter) pad() error { return s.plain(make([]byte, pageAfter(s.at)-s.at)) }
