package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/privacy/durable"
)

// storeFlag is the flag for the storage type of dense records.
type storeFlag struct {
	Store string `enum:",float64,float32,mmap" default:"" placeholder:"S" help:"How records are held: float64; float32, which halves the memory and rounds features toward zero, as the model states; mmap, in the file of \"dyad data pack\". The arithmetic stays float64. Default: what the schema says, else float64; mmap for a pack."`
}

// options returns o with the flag applied, for a file and its schema.
func (f storeFlag) options(s *dataset.Schema, from dataFiles, o dataset.Options) (dataset.Options, error) {
	switch f.Store {
	case "":
	case "mmap":
		if len(from.names) != 1 || !dataset.IsPack(from.names[0]) {
			return o, badInput(`--store mmap needs a pack, but %s is not a pack; "dyad data pack %s --schema FILE `+
				`-o NAME.dyadpack" makes a pack`, from, from)
		}
	default:
		s.Store, o.InMemory = f.Store, true
		if err := s.Validate(); err != nil {
			return o, asInput(err)
		}
	}
	return o, nil
}

type dataPackCmd struct {
	File   string `arg:"" help:"Data file. A folder or a quoted pattern is packed as one file."`
	Schema string `required:"" placeholder:"FILE"`
	Out    string `writes:"pack" short:"o" required:"" placeholder:"FILE" help:"Pack to write, by custom NAME.dyadpack."`
	Store  string `enum:",float64,float32" default:"" placeholder:"S" help:"float64, or float32 (half the size, rounded toward zero). Default: the schema's key store, else float64."`
	Force  bool
	labelsFlag
}

// packResult is the output of data pack. For a private file, it omits numbers that would reveal facts about
// records: the number of rows of persons, and hashes of records.
type packResult struct {
	Out      string `json:"out"`
	Records  int    `json:"records"` // number of records, or of persons
	Unit     string `json:"unit"`
	Features int    `json:"features"`
	Groups   int    `json:"groups,omitempty"`
	Store    string `json:"store"`
}

func newPackResult(name string, p *dataset.Packed) packResult {
	return packResult{Out: name, Records: cmp.Or(p.Persons, p.Rows), Unit: pick(p.Persons > 0, "persons", "records"),
		Features: p.Features, Groups: p.Groups, Store: p.Store}
}

func (r packResult) text() string {
	return fmt.Sprintf("%d %s of %d features written to %s (%s)\n", r.Records, r.Unit, r.Features, r.Out, r.Store)
}

// Run writes a pack.
func (c *dataPackCmd) Run(a *app) error {
	s, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return asInput(err)
	}
	s.Store = cmp.Or(c.Store, s.Store)
	out, err := files.NewOutput(c.Out, c.Force, c.File, c.Schema, c.Labels)
	if err != nil {
		return err
	}
	progress, done := a.rowProgress("packing")
	if s.ByPerson() { // the same condition as in readData
		progress = func(int) error { return a.ctx.Err() }
	}
	made, err := writePack(a, out, func(w io.Writer, o dataset.PackOptions) (*dataset.Packed, error) {
		o.LabelsFile, o.Progress = c.Labels, progress
		return dataset.Pack(w, c.File, s, o)
	})
	done()
	if err != nil {
		return err
	}
	r := newPackResult(c.Out, made)
	return a.emit(r, r.text())
}

// writePack writes a complete pack or none. Content that breaks a rule is a bad input error; a disk error is not.
func writePack(a *app, out *files.Output, pack func(io.Writer, dataset.PackOptions) (*dataset.Packed,
	error)) (made *dataset.Packed, err error) {
	err = out.Fill(files.Private, func(w io.Writer) error {
		var err error
		made, err = pack(w, dataset.PackOptions{Folder: filepath.Dir(out.Path), Prefix: durable.TempPrefix})
		return err
	})
	return made, a.filled(err)
}

// filled is asInput for the error of a file that was filled. An error of the disk does not concern the content.
func (a *app) filled(err error) error {
	var full *os.PathError
	var link *os.LinkError
	if a.ctx.Err() == nil && (errors.As(err, &full) || errors.As(err, &link)) {
		return err
	}
	return a.asInput(err)
}
