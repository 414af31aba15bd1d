package drafts

import (
	"archive/zip"
	"fmt"
	"math"
	"strings"

	"dyad/engine/dataset/array"
	"dyad/engine/dataset/parse"
	"dyad/engine/dataset/schema"
	"dyad/engine/dataset/source"
)

// numbered drafts the schema of LIBSVM files and arrays. It reads the file with the widest possible schema,
// which checks the rows and finds the number of features, the range and the labels.
func (p *profile) numbered() ([]byte, error) {
	probe := &schema.Schema{
		DataID: "draft", Format: p.format, Features: schema.MaxColumns,
		Range:   []float64{-math.MaxFloat64 / 4, math.MaxFloat64 / 4},
		Columns: []schema.Column{{Name: "label", Role: schema.RoleLabel, Positive: "1"}},
	}
	group, arrays, constant, comment := "", "", "0", "FROM THE DATA"
	if p.grouped {
		probe.Columns = append(probe.Columns, schema.Column{Name: "query", Role: schema.RoleGroup})
		group = "  - {name: query, role: group} # the qid of a row\n"
	}
	var lo, hi float64 // the range includes 0, because indices absent from a LIBSVM row stand for 0
	var kind array.Element
	if p.format != schema.FormatLIBSVM {
		err := p.read(func(in *source.Input, u *source.Unpacked) (err error) {
			kind, err = p.openArrays(in, u, probe)
			return err
		})
		if err != nil {
			return nil, err
		}
		probe.Missing = &schema.Missing{Policy: schema.MissingMiddle}
		lo, hi, constant = math.Inf(1), math.Inf(-1), "the same"
		if a := probe.Arrays; a != nil {
			arrays = fmt.Sprintf("arrays: {x: %s, y: %s}\n", schema.QuoteYAML(a.X), schema.QuoteYAML(a.Y))
		}
	}
	labels := newColumnStats()
	features, nonzeros := 0, 0
	err := p.scan(p.path, probe, func(r *schema.Row) error {
		labels.add([]byte(r.Label))
		stored := 0
		for j, v := range r.Value {
			if v < lo {
				lo = v
			}
			if v > hi {
				hi = v
			}
			if v != 0 {
				stored++
			}
			if r.Index != nil {
				features = max(features, int(r.Index[j])+1)
			}
		}
		nonzeros = max(nonzeros, stored)
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case kind.Kind == 'b':
		lo, hi, comment, p.typed = 0, 1, "of the type bool", true
	case kind.Kind == 'u' && kind.Size == 1:
		lo, hi, comment, p.typed = 0, 255, "of the type: bytes", true
	}
	switch {
	case len(labels.texts) != 2:
		return nil, p.errorf(0, "the file must have exactly two different labels; write the schema by hand")
	case !(lo < hi) || math.IsInf(hi-lo, 0):
		return nil, p.errorf(0, "every feature is "+constant+", or a value is too large to scale; write the schema by hand")
	}
	width := fmt.Sprintf("features: %d\n", probe.Features)
	if p.format == schema.FormatLIBSVM {
		width = fmt.Sprintf("features: %d # FROM THE DATA: the largest index\nnonzeros: %d # FROM THE DATA: the "+
			"most nonzero features of a row\n", features, nonzeros)
	}
	positive, negative, _ := labels.guessClasses()
	return fmt.Appendf(nil, `format: %s
%s%srange: [%s, %s] # %s
columns:
  - {name: label, role: label, positive: %s, negative: %s} # check which class should score high
%s`, p.format, arrays, width, parse.Format(lo), parse.Format(hi), comment, schema.QuoteYAML(positive), schema.QuoteYAML(negative), group), nil
}

// openArrays sets the features and the arrays of the probe and returns the element type of the features. In an
// archive it uses the first matrix and the first vector.
func (p *profile) openArrays(in *source.Input, u *source.Unpacked, probe *schema.Schema) (array.Element, error) {
	if p.format != schema.FormatNPZ {
		x, err := array.Open(p.format, in, u)
		if err != nil {
			return array.Element{}, err
		}
		probe.Features = x.Width
		return x.Element, nil
	}
	z, err := zip.NewReader(in.At, in.Size)
	if err != nil {
		return array.Element{}, p.errorf(0, array.RuleBadZip)
	}
	names := &schema.ArrayNames{}
	var kind array.Element
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		a, closer, err := array.OpenMember(in, z, name, true, "")
		if err != nil {
			continue // the member is not an array of numbers
		}
		closer()
		switch axes := len(a.Shape); {
		case names.X == "" && axes == 2 && a.Width > 1:
			names.X, probe.Features, kind = name, a.Width, a.Element
		case names.Y == "" && (axes == 1 || axes == 2 && a.Width == 1):
			names.Y = name
		}
	}
	if names.X == "" || names.Y == "" {
		return kind, p.errorf(0, "the archive needs a matrix for features and a vector for labels; write the "+
			"schema by hand")
	}
	probe.Arrays = names
	return kind, nil
}
