package command

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"dyad/engine/dataset"
	"dyad/internal/files"
	"dyad/internal/tasks"
)

type dataSynthCmd struct {
	File     string `arg:"" help:"CSV file to write, or a pack: NAME.dyadpack."`
	Schema   string `placeholder:"FILE" help:"Also write its schema."`
	N        int    `positive:"" within:"[2,]" not:"visits" why:"visits take --persons and --visit-rows" short:"n" help:"Number of records. Default: 2000."`
	Seed     uint64 `default:"1" help:"Seed. The same seed and numbers give the same file."`
	Force    bool
	Features int    `positive:"" placeholder:"D" help:"For a pack: D uniform features and a label per record, not clinical values."`
	Store    string `enum:",float64,float32" default:"" placeholder:"S" help:"As in data pack. FILE must be a pack."`
	visitsFlags
}

// visitsFlags are the flags that require --visits.
type visitsFlags struct {
	Visits        bool   `help:"Write hospital visits, several per person, in German number formats."`
	Persons       int    `positive:"" needs:"visits" help:"With --visits: number of persons. Default: 70000."`
	VisitRows     int    `aliases:"rows" positive:"" needs:"visits" help:"With --visits: number of rows. Default: 10/7 of --persons."`
	MaxRows       int    `positive:"" needs:"visits" help:"With --visits: maximum number of rows of a person. Default: 40."`
	Encoding      string `enum:",utf-8,windows-1252" default:"" placeholder:"NAME" needs:"visits" help:"With --visits: utf-8 (default) or windows-1252 (Latin-1)."`
	Answers       string `placeholder:"FILE" needs:"visits" help:"With --visits: also write what the hospital knows of its columns, for \"dyad data schema --answers\"."`
	HeldOut       string `placeholder:"FILE" needs:"visits" help:"With --visits: also write a file with other persons, 1/4 as many."`
	HeldOutSchema string `placeholder:"FILE" needs:"held-out" help:"The schema of the file of --held-out."`
}

type synthResult struct {
	File    string       `json:"file"`
	Schema  string       `json:"schema,omitempty"`
	Records int          `json:"records"`
	Visits  *synthVisits `json:"visits,omitempty"`
}

// synthVisits holds public facts about the visits. AUCs belong to the generator.
type synthVisits struct {
	Persons        int      `json:"persons"`
	MaxRows        int      `json:"max_rows_per_person"`
	AUC            float64  `json:"auc_of_generator"`
	Answers        string   `json:"answers,omitempty"`
	HeldOut        string   `json:"held_out,omitempty"`
	HeldOutSchema  string   `json:"held_out_schema,omitempty"`
	HeldOutPersons int      `json:"held_out_persons,omitempty"`
	HeldOutAUC     *float64 `json:"held_out_auc_of_generator,omitempty"`
}

// synthFile is a file to write. If the path is empty, it is not written.
type synthFile struct {
	path string
	text []byte
}

// Run writes the files.
func (c *dataSynthCmd) Run(a *app) error {
	isPack := strings.HasSuffix(c.File, ".dyadpack")
	for i, path := range []string{c.File, c.HeldOut, c.Schema, c.Answers, c.HeldOutSchema} {
		content := files.Content(pick(i > 1, "schema", "table"))
		if err := checkOut(path, c.Force); err != nil {
			return err
		}
		if err := files.CheckEnding(path, content); err != nil && !(isPack && path == c.File) {
			return err
		}
	}
	r := synthResult{File: c.File, Schema: c.Schema}
	var out []synthFile
	var text string
	switch {
	case !isPack && (c.Features != 0 || c.Store != ""):
		return badInput("--features and --store are only for a pack; give the file a name that ends in .dyadpack")
	case isPack && c.Visits:
		return badInput("visits are written as CSV; make a pack of them with \"dyad data pack\"")
	case isPack:
		return c.pack(a)
	}
	err, interrupted := tasks.Await(a.ctx, func() (err error) {
		if c.Visits {
			out, text, err = c.visits(&r)
		} else {
			out, text, err = c.clinic(&r)
		}
		return err
	})
	if err := cmp.Or(interrupted, err); err != nil {
		return err
	}
	for _, f := range out {
		if f.path == "" {
			continue
		}
		if err := files.Replace(f.path, f.text); err != nil {
			return err
		}
	}
	return a.emit(r, text)
}

// pack writes records as a pack and writes their schema.
func (c *dataSynthCmd) pack(a *app) error {
	n := cmp.Or(c.N, 2000)
	s, err := dataset.SyntheticClinicalSchema()
	if c.Features > 0 {
		s, err = dataset.UniformSchema(c.Features)
	}
	if err != nil {
		return asInput(err)
	}
	s.Store = c.Store
	text, err := s.YAML()
	if err != nil {
		return err
	}
	out, err := files.NewOutput(c.File, c.Force, c.Schema)
	if err != nil {
		return err
	}
	progress, done := a.rowProgress("writing")
	made, err := writePack(a, out, func(w io.Writer, o dataset.PackOptions) (*dataset.Packed, error) {
		o.Progress = progress
		if c.Features > 0 {
			return dataset.PackUniform(w, n, s, c.Seed, o)
		}
		r, csv := io.Pipe()
		writing := tasks.Group{Stop: func() { csv.CloseWithError(io.ErrUnexpectedEOF) }}
		writing.Go(func() { csv.CloseWithError(dataset.WriteSyntheticClinical(csv, n, c.Seed)) })
		made, err := dataset.PackReader(w, s.DataID, r, s, o)
		r.Close() // if the reader stopped early, the writer ends
		writing.Wait()
		return made, err
	})
	done()
	if err != nil {
		return err
	}
	if c.Schema != "" {
		if err := files.Replace(c.Schema, text); err != nil {
			return err
		}
	}
	return a.emit(synthResult{File: c.File, Schema: c.Schema, Records: n}, newPackResult(c.File, made).text())
}

func (c *dataSynthCmd) clinic(r *synthResult) ([]synthFile, string, error) {
	r.Records = cmp.Or(c.N, 2000)
	var records bytes.Buffer
	err := dataset.WriteSyntheticClinical(&records, r.Records, c.Seed)
	return []synthFile{{c.File, records.Bytes()}, {c.Schema, []byte(dataset.SyntheticClinicalYAML())}},
		fmt.Sprintf("%d synthetic records written to %s\n", r.Records, c.File), err
}

func (c *dataSynthCmd) visits(r *synthResult) ([]synthFile, string, error) {
	v := dataset.Visits{Persons: cmp.Or(c.Persons, 70_000), MaxRows: cmp.Or(c.MaxRows, 40), Seed: c.Seed,
		Windows1252: c.Encoding == dataset.EncodingWindows1252}
	v.Rows = cmp.Or(c.VisitRows, min(v.Persons*10/7, v.Persons*v.MaxRows))
	csv, auc, err := v.Generate()
	if err != nil {
		return nil, "", asInput(err)
	}
	r.Records, r.Visits = v.Rows, &synthVisits{Persons: v.Persons, MaxRows: v.MaxRows, AUC: auc, Answers: c.Answers}
	out := []synthFile{{c.File, csv}, {c.Schema, []byte(v.Schema())}, {c.Answers, []byte(v.Answers())}}
	written := func(v dataset.Visits, file string, auc float64) string {
		return fmt.Sprintf("%d synthetic visits of %d persons written to %s\nAUC of the score that drew the labels: "+
			"%.4f\n", v.Rows, v.Persons, file, auc)
	}
	text := written(v, c.File, auc)
	if c.HeldOut != "" {
		v.Part, v.Persons, v.Rows = 1, v.Persons/4, min(v.Rows/4, v.Persons/4*v.MaxRows)
		later, auc, err := v.Generate()
		if err != nil {
			return nil, "", asInput(err)
		}
		r.Visits.HeldOut, r.Visits.HeldOutSchema, r.Visits.HeldOutPersons, r.Visits.HeldOutAUC = c.HeldOut, c.HeldOutSchema,
			v.Persons, &auc
		out = append(out, synthFile{c.HeldOut, later}, synthFile{c.HeldOutSchema, []byte(v.Schema())})
		text += written(v, c.HeldOut, auc)
	}
	return out, text, nil
}
