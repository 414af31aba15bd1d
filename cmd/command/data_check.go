package command

import (
	"strings"

	"dyad/algorithms"
	"dyad/engine/dataset"
)

type dataCheckCmd struct {
	Schema string `arg:"" help:"Schema file (YAML)."`
}

type checkResult struct {
	DataID   string          `json:"data_id"`
	Public   bool            `json:"public"`
	Features []string        `json:"features"`
	Unit     string          `json:"unit"`
	Schema   *dataset.Schema `json:"schema"`
}

// Run checks the schema.
func (c *dataCheckCmd) Run(a *app) error {
	s, err := dataset.LoadSchema(c.Schema)
	if err != nil {
		return asInput(err)
	}
	auto := s.Basis == dataset.BasisAuto
	if auto {
		s = s.WithBasis(dataset.BasisNone)
	}
	e, err := dataset.NewEncoder(s)
	if err != nil {
		return asInput(err)
	}
	r := checkResult{DataID: s.DataID, Public: s.Public, Features: e.FeatureNames(),
		Unit: pick(s.ByPerson(), algorithms.OnePerson, algorithms.OneRecord), Schema: s}
	var b strings.Builder
	line(&b, "schema", "%s is valid: %d encoded features from %d columns; it protects %s", c.Schema, e.Dim(),
		len(e.Columns()), r.Unit)
	if auto {
		line(&b, "basis", "auto: dyad train and dyad plan choose the basis, which is not in the number of features "+
			"above")
	}
	if pairs := e.Interactions(); len(pairs) > 0 {
		line(&b, "pairs", "%d interactions make %d of the features", len(pairs), e.Dim()-pairs[0].Offset)
	}
	line(&b, "label", "%s", direction(s))
	if from := s.FromDataColumns(); len(from) > 0 {
		line(&b, "warning", "the ranges or categories of %s were taken from the data. Replace them by values known "+
			"without the data. If you know the same values from elsewhere, name the source in known_from",
			strings.Join(from, ", "))
	}
	if s.Draft != "" {
		line(&b, "warning", "%s", algorithms.DraftAway)
	}
	return a.emit(r, b.String())
}
