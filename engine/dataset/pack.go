package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"sync"

	"dyad/engine"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
	"dyad/internal/pages"
	"dyad/internal/tasks"
)

// A pack is a file of encoded records. It is memory-mapped instead of parsed (docs/data.md#packs). All numbers
// are little-endian, and every section begins at a multiple of packPage:
//
//	packMagic, version (4 bytes)
//	features   rows x dim float32 or float64, projected and then rounded, as used in training
//	labels     rows float64
//	persons    only if there are persons: persons + 1 int64, the first row of each person, then the number of rows
//	groups     only if there are query groups: rows (or persons, if there are any) int32, ascending
//	hashes     SHA-256 of each packChunk bytes of the sections above, in their order
//	header     packHeader as JSON
//	SHA-256 of the header, its length (8 bytes), packMagic
//
// The positions of the sections follow from the numbers in the header alone. The header contains the hash of
// the section of hashes, so the hash of the header identifies the content.
const (
	packMagic   = "DYADPACK"
	packVersion = 1
	packPage    = 4096
	packChunk   = 16 << 20
	packTail    = sha256.Size + 8 + len(packMagic)
	packLongest = 64 << 20 // largest length of a header
)

// packHeader describes the content of a pack.
type packHeader struct {
	Version    int             `json:"version"`
	Schema     json.RawMessage `json:"schema"`      // schema in the form that a model file has, with store
	SchemaHash string          `json:"schema_hash"` // SHA-256 of the schema, in hex
	Rows       int64           `json:"rows"`
	Features   int             `json:"features"` // number of features of a record
	Persons    int64           `json:"persons,omitempty"`
	Groups     int             `json:"groups,omitempty"`
	Bounds     packBounds      `json:"bounds"`
	ChunkBytes int64           `json:"chunk_bytes"`
	Hashes     string          `json:"hashes"` // SHA-256 of the section of hashes, in hex
}

type packBounds struct {
	FeatureNorm float64 `json:"feature_norm"`
	LabelAbs    float64 `json:"label_abs"`
}

func boundsOfPack(b engine.Bounds) packBounds { return packBounds{b.FeatureNorm, b.LabelAbs} }

// section is a part of a pack.
type section struct{ from, bytes int64 }

// packSections holds the sections with numbers in their order. hashes is the last section, and end is the
// position at which the header begins.
type packSections struct {
	features, labels, persons, groups, hashes section
	end                                       int64
}

func pageAfter(at int64) int64 { return (at + packPage - 1) / packPage * packPage }

// units returns the number of records: persons if there are persons, otherwise rows.
func (h *packHeader) units() int64 {
	if h.Persons > 0 {
		return h.Persons
	}
	return h.Rows
}

// sections computes the sections from the numbers of a header. The numbers must have been checked.
func (h *packHeader) sections(narrow bool) packSections {
	size := int64(8)
	if narrow {
		size = 4
	}
	var s packSections
	at, chunks := int64(packPage), int64(0)
	place := func(bytes int64) section {
		p := section{at, bytes}
		at, chunks = pageAfter(at+bytes), chunks+(bytes+packChunk-1)/packChunk
		return p
	}
	s.features, s.labels = place(h.Rows*int64(h.Features)*size), place(8*h.Rows)
	if h.Persons > 0 {
		s.persons = place(8 * (h.Persons + 1))
	}
	if h.Groups > 0 {
		s.groups = place(4 * h.units())
	}
	s.hashes = section{at, chunks * sha256.Size}
	s.end = pageAfter(at + s.hashes.bytes)
	return s
}

// hashed returns the sections that have hashes.
func (s packSections) hashed() []section { return []section{s.features, s.labels, s.persons, s.groups} }

// Rules for packs.
const (
	rulePackCut     = "the pack is truncated, or the file is not a pack; make the pack again with \"dyad data pack\""
	rulePackHeader  = "the pack's header does not match its contents; make it again with \"dyad data pack\""
	rulePackChanged = `a disk or a program changed the pack, so its hashes differ; make it again with "dyad data ` +
		`pack"`
	rulePackOutside = "the pack has a record outside the bounds of its schema; make the pack again from the data"
	rulePackSchema  = `the pack was made with another schema; give that schema, or make the pack again ("dyad data ` +
		`pack")`
	rulePackStore = "the pack stores %s, but %s was requested; leave out store (flag and schema), or make the pack " +
		"again with --store %s"
	rulePackIDs     = "a pack has no ids; give the file from which the pack was made"
	rulePackScan    = "a pack has encoded records, but no rows; give the file from which the pack was made"
	rulePackStream  = "a pack must be an uncompressed file, not a pipe"
	rulePackVersion = "the pack has version %d, but this program reads version %d; make the pack again with \"dyad " +
		"data pack\" of this program"
	rulePackOfSparse = "sparse records cannot be packed; set dense: true in the schema if there are few features, " +
		"or use the file itself"
	rulePackOfPack = "the file is a pack already"
)

// readPackHeader reads the header of a pack with the given size and checks every number that is a position or a
// length. content is the text of the header, whose hash identifies the whole pack. An error is a *ParseError
// without a file, or a read error.
func readPackHeader(r io.ReaderAt, size int64) (h *packHeader, e *schema.Encoder, content []byte, err error) {
	bad := func(rule string) (*packHeader, *schema.Encoder, []byte, error) {
		return nil, nil, nil, &source.ParseError{Rule: rule}
	}
	first, tail := make([]byte, len(packMagic)+4), make([]byte, packTail)
	if size < packPage+int64(packTail) {
		return bad(rulePackCut)
	}
	if _, err := r.ReadAt(first, 0); err != nil {
		return nil, nil, nil, err
	}
	if string(first[:len(packMagic)]) != packMagic {
		return bad(rulePackCut)
	}
	if v := binary.LittleEndian.Uint32(first[len(packMagic):]); v != packVersion {
		return bad(fmt.Sprintf(rulePackVersion, v, packVersion))
	}
	if _, err := r.ReadAt(tail, size-int64(packTail)); err != nil {
		return nil, nil, nil, err
	}
	length := binary.LittleEndian.Uint64(tail[sha256.Size:])
	if string(tail[sha256.Size+8:]) != packMagic || length > packLongest || int64(length) > size-packPage-int64(packTail) {
		return bad(rulePackCut)
	}
	content = make([]byte, length)
	if _, err := r.ReadAt(content, size-int64(packTail)-int64(length)); err != nil {
		return nil, nil, nil, err
	}
	if hash := sha256.Sum256(content); !bytes.Equal(hash[:], tail[:sha256.Size]) {
		return bad(rulePackChanged)
	}
	h, e = new(packHeader), new(schema.Encoder)
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if dec.Decode(h) != nil || dec.More() || h.Version != packVersion || e.UnmarshalJSON(h.Schema) != nil {
		return bad(rulePackHeader)
	}
	hash := sha256.Sum256(h.Schema)
	byPerson, byGroup := e.Schema().ByPerson(), e.GroupColumn != nil
	switch {
	case h.SchemaHash != hex.EncodeToString(hash[:]), e.Schema().IsSparse(), h.Features != e.Dim(),
		h.Bounds != boundsOfPack(e.Bounds()),
		h.ChunkBytes != packChunk, h.Rows < 2, h.Rows > math.MaxInt32, h.Rows > math.MaxInt64/64/int64(h.Features),
		byPerson != (h.Persons > 0), h.Persons < 0, h.Persons > h.Rows,
		byGroup != (h.Groups > 0), h.Groups < 0, int64(h.Groups) > h.units():
		return bad(rulePackHeader)
	}
	if h.sections(e.Schema().IsNarrow()).end+int64(length)+int64(packTail) != size {
		return bad(rulePackCut)
	}
	return h, e, content, nil
}

// isPack reports whether head, the first bytes of a file, is the beginning of a pack.
func isPack(head []byte) bool { return bytes.HasPrefix(head, []byte(packMagic)) }

// IsPack reports whether the file begins like a pack.
func IsPack(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(packMagic))
	n, _ := f.ReadAt(head, 0)
	return isPack(head[:n])
}

// Used is a pack from which records were loaded.
type Used struct {
	Name string // name of the file

	content []byte         // content that openContent returns
	file    *pages.Mapping // nil if the records are in memory
	chunks  [][]byte
	hashes  []byte // hashes of the chunks at the time the pack was opened
}

// Unchanged checks that the records in use have not changed since Load checked them. It returns an error wrapping
// ErrChanged if the file was written to (pages.Mapping.Unchanged) or a chunk has another hash. It reads the whole pack
// on all processors. If the records were copied to memory, it reads nothing.
func (u *Used) Unchanged() error {
	if u.file == nil {
		return nil
	}
	changed := fmt.Errorf("%w: the run still reads pack %s; restore the pack",
		source.ErrChanged, u.Name)
	if err := u.file.Unchanged(); errors.Is(err, pages.ErrChanged) {
		return changed
	} else if err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	return checkChunks(u.chunks, u.hashes, func(same bool) error {
		if !same {
			return changed
		}
		return nil
	})
}

// openContent opens the bytes that identify the content of a data file. For most files these are the bytes of
// the file. For a pack these are the bytes of its header, which contains the hashes of all other bytes. The
// hashes are checked when the pack is loaded.
func openContent(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil || !IsPack(name) {
		return f, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	_, _, content, err := readPackHeader(f, info.Size())
	if err != nil {
		return nil, inFile(name, err)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// inFile adds the name of the file to an error of readPackHeader.
func inFile(name string, err error) error {
	if e, ok := err.(*source.ParseError); ok {
		e.File = name
		return e
	}
	return fmt.Errorf("dataset: %s: %w", name, err)
}

// checkChunks compares the hashes of chunks, on all processors. It calls tell with the outcome for each chunk, one call
// at a time. If tell returns an error, checkChunks stops and returns the error.
func checkChunks(chunks [][]byte, hashes []byte, tell func(same bool) error) error {
	var mu sync.Mutex
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	_ = tasks.Each(ctx, runtime.GOMAXPROCS(0), len(chunks), func(_, i int) { // its error is the cause below
		sum := sha256.Sum256(chunks[i])
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := tell(bytes.Equal(sum[:], hashes[i*sha256.Size:][:sha256.Size])); err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}
