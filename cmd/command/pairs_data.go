package command

import (
	lib "dyad"
	"dyad/engine/dataset"
)

// identityFlag is the flag that determines which ids belong to one individual.
type identityFlag struct {
	LookAlikeIDs string `name:"look-alike-ids" default:"refuse" enum:"refuse,allow" help:"What to do with ids that differ only in case, white space, quotes, invisible characters or forms of the same letters. refuse: stop, as they may name one individual; allow: treat them as different individuals."`
}

// pairSource holds the flags for the source of labelled pairs.
type pairSource struct {
	Data        dataFiles `required:"" placeholder:"FILE" help:"As for train: the records of the individuals."`
	Schema      string    `required:"" placeholder:"FILE" help:"As for train; for --pairs one of its columns has role id, and no label column is needed."`
	Pairs       string    `placeholder:"FILE" help:"Labelled pairs: CSV with a header, or Parquet, with the columns first, second and label."`
	PairColumns []string  `values:"3" placeholder:"A,B,L" help:"Names of these three columns in the file."`
	LabelValues []string  `values:"2" placeholder:"V,W" help:"The two values of a pair's label. Default: dissimilar,similar. For preferences: first,second, which names the preferred individual; without a label column it is the first."`
	PublicData  bool      `help:"The data are public: no budget is charged, and the report says so."`
	identityFlag
}

// load reads the records, and reads or draws their pairs.
func (s pairSource) load(a *app, f pairFlags, classes bool) (*lib.Pairs, error) {
	if err := f.oneSource(s.Pairs != "", classes); err != nil {
		return nil, err
	}
	from, err := f.source(s.identityFlag, classes)
	if err != nil {
		return nil, err
	}
	from.File = s.Pairs
	if s.LabelValues != nil {
		from.Options.True, from.Options.False = s.LabelValues[0], s.LabelValues[1]
	}
	if s.PairColumns != nil {
		from.Options.Columns = dataset.PairColumns{First: s.PairColumns[0], Second: s.PairColumns[1], Label: s.PairColumns[2]}
	}
	schema, err := from.LoadSchema(s.Schema)
	if err != nil {
		return nil, asInput(err)
	}
	d, err := a.readTraining(s.Data, schema, from.LoadOptions(), s.PublicData)
	if err != nil {
		return nil, err
	}
	return from.Of(d)
}
