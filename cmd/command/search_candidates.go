package command

import (
	"errors"
	"slices"

	lib "dyad"
	"dyad/algorithms"
	"dyad/algorithms/search"
	"dyad/engine/dataset/strictyaml"
	"dyad/internal/files"
)

// candidate is a setting of a file of candidates.
type candidate struct {
	Name          string   `yaml:"name"`
	Algorithm     string   `yaml:"algorithm"`
	Radius        float64  `yaml:"radius"`
	L2            *float64 `yaml:"l2"`
	Loss          string   `yaml:"loss"`
	Features      []string `yaml:"features"`
	Steps         int      `yaml:"steps"`
	StepSize      float64  `yaml:"step_size"`
	TotalStep     float64  `yaml:"total_step"`
	BatchRecords  int      `yaml:"batch_records"`
	Ridge         float64  `yaml:"ridge"`
	ClipRadius    float64  `yaml:"clip_radius"`
	SecondMoments string   `yaml:"second_moments"`
}

// readCandidates reads a file of candidates.
func readCandidates(path string) ([]candidate, error) {
	text, err := files.ReadStart(path, strictyaml.MaxBytes+1)
	if err != nil {
		return nil, err
	}
	var all struct {
		Candidates []candidate `yaml:"candidates"`
	}
	body, err := strictyaml.Parse(text)
	if err == nil {
		err = strictyaml.Decode(body, &all)
	}
	if err != nil {
		return nil, badInput("%s: %s; want a list \"candidates:\" of settings such as \"- {name: strong, algorithm: "+
			"moments, ridge: 4}\"", path, strictyaml.Describe(err))
	}
	if n := len(all.Candidates); n < 2 || n > search.MaxCandidates {
		return nil, badInput("%s: %d candidates, want 2 to %d", path, n, search.MaxCandidates)
	}
	return all.Candidates, nil
}

// setting returns the candidate as a setting of the library, without its shape.
func (c candidate) setting() (s lib.Setting, err error) {
	if c.Name == "" {
		return s, asInput(errors.New("it has no name; give each candidate its own name"))
	}
	s = lib.Setting{Name: c.Name, Features: c.Features, Options: lib.Options{Task: taskAUC, L2: c.L2, Radius: c.Radius}}
	if c.Algorithm != "" && c.Algorithm != algorithms.AutoName {
		if s.Options.Algorithm, err = algorithms.ByName(c.Algorithm); err != nil {
			return s, asInput(err)
		}
	}
	if c.Loss != "" {
		if s.Options.Loss, err = lib.NewLoss(c.Loss, nil, 0); err != nil {
			return s, asInput(err)
		}
	}
	s.With = slices.DeleteFunc([]algorithms.Option{
		{Name: "steps", Field: "Steps", Value: c.Steps}, {Name: "step_size", Field: "StepSize", Value: c.StepSize},
		{Name: "total_step", Field: "TotalStep", Value: c.TotalStep},
		{Name: "batch_records", Field: "BatchRecords", Value: c.BatchRecords},
		{Name: "ridge", Field: "Ridge", Value: c.Ridge}, {Name: "clip_radius", Field: "ClipRadius", Value: c.ClipRadius},
		{Name: "second_moments", Field: "Second", Value: c.SecondMoments},
	}, unset)
	return s, nil
}
