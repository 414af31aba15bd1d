package algorithms

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"dyad/engine"
	"dyad/privacy"
)

// Kind is a kind of run that releases statistics of records instead of a model. An implementation describes its
// releases as rows of a plan and computes their exact values. The rows determine noise, guarantee, charge,
// record, session and audit of a run. A Kind never sees a session, so its report can only depend on released
// values.
//
// A Kind is a struct whose fields, exported or not, are bools, ints, float64s, strings, or structs of these types. The
// objective of its plan lists all fields, so that a resumed run can be compared with its first attempt. PlanKind
// refuses other types, such as pointers, slices and funcs.
type Kind interface {
	// Info describes the kind by the fields Name, Title and Released.
	Info() Info
	// Rows returns the releases without noise, each with a certificate, from public numbers. Rows with a share of 0
	// get equal shares.
	Rows(KindShape) (Releases, error)
	// Exact returns the numbers of a row before noise is added, given the released values of the rows before it. Their
	// number is the row's Coordinates. The certificate of the row must hold for every value of released. Exact must not
	// fail on any records.
	//
	// The guarantee rests on the following conditions, which no type enforces. The numbers are a deterministic function
	// of the fields of the kind, r, row and released alone. Exact keeps nothing between calls, in package variables or
	// elsewhere. It reads no file, clock or random number, and it does not change r or released. Exact is called for
	// every row, again in a resumed run, and on other records by an audit.
	Exact(r *engine.Records, row int, released [][]float64) []float64
	// Figures returns the report of the releases. released has one vector for each row, with its noise.
	Figures(s KindShape, rows Releases, released [][]float64) Facts
}

// KindShape holds the public numbers from which PlanKind plans a run.
type KindShape struct {
	Records, Features int // the numbers n and d, at least 1
	PersonRows        int // largest number of rows of a person; 0 if a record is a row
	Budget            privacy.Budget
	Provenance
}

// KindPlan describes a run of a Kind: its releases and their guarantee.
type KindPlan struct {
	Plan
	Shape KindShape
	kind  Kind
}

// PlanKind plans a run of k. It reads no data. If s.PersonRows is not 0, the error wraps ErrAssumption, because the
// certificates are for rows.
func PlanKind(k Kind, s KindShape) (*KindPlan, error) {
	fields, err := fieldsOf(reflect.ValueOf(k))
	if err != nil {
		return nil, fmt.Errorf("algorithms: kind %T: %w", k, err)
	}
	name := k.Info().Name
	switch {
	case s.PersonRows != 0:
		return nil, Refused(name, " protects rows, but the schema has persons with several rows; make a table of one row "+
			"for each person")
	case s.Records < 1 || s.Features < 1:
		return nil, Refused(name, " has %d records with %d features, want at least one record and one feature",
			s.Records, s.Features)
	}
	if err := s.Budget.Validate(); err != nil {
		return nil, err
	}
	rows, err := k.Rows(s)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("algorithms: %s releases nothing", name)
	}
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].Times > 1 || rows[i].Cost != nil || rows[i].Part != 0 {
			return nil, fmt.Errorf("algorithms: release %d of %s must not set Times, Cost or Part", i+1, name)
		}
		if rows[i].Share == 0 {
			rows[i].Share = 1 / float64(len(rows))
		}
	}
	if err := rows.Calibrate(s.Budget); err != nil {
		return nil, err
	}
	p := &KindPlan{Shape: s, kind: k}
	p.Plan = Plan{Algorithm: name, Mode: Certified,
		Objective: fmt.Sprintf("%s %s of %d records, %d features", name, fields, s.Records, s.Features)}
	p.Facts.Line("kind", "%s: %s", p.Facts.Add("kind", name), k.Info().Title)
	p.Facts.Line("records", "n = %d of %d features", p.Facts.Add("records", s.Records),
		p.Facts.Add("features", s.Features))
	released, why := rows.Told()
	g := s.Rows().Guarantee(released+", with noise", why,
		fmt.Sprintf("public: n = %d, the schema and all options", s.Records))
	return p, p.Promise(s.Budget, s.Records, s.Provenance, g, rows)
}

// fieldsOf returns all fields of a kind as text, "{Sign:1 half:0.5}". Two kinds of one type are equal if their texts
// are equal. For this reason an ambiguous string is quoted, and no String method is called.
func fieldsOf(v reflect.Value) (string, error) {
	if v.Kind() != reflect.Struct {
		return "", fmt.Errorf("it is a %v, but must be a struct (not a pointer to one)",
			v.Kind())
	}
	var all []string
	for i := range v.NumField() {
		f, text := v.Field(i), ""
		switch f.Kind() {
		case reflect.Bool:
			text = strconv.FormatBool(f.Bool())
		case reflect.Int:
			text = strconv.FormatInt(f.Int(), 10)
		case reflect.Float64:
			text = fmt.Sprint(f.Float())
		case reflect.String:
			if text = f.String(); strings.ContainsAny(text, " :{}\"") {
				text = strconv.Quote(text)
			}
		case reflect.Struct:
			var err error
			if text, err = fieldsOf(f); err != nil {
				return "", err
			}
		default:
			return "", fmt.Errorf("field %s of %v is a %v; want bool, int, float64, string or a struct of these types",
				v.Type().Field(i).Name, v.Type(), f.Type())
		}
		all = append(all, v.Type().Field(i).Name+":"+text)
	}
	return "{" + strings.Join(all, " ") + "}", nil
}

// Release releases every row of the plan through a session and returns the released numbers.
func (p *KindPlan) Release(ctx context.Context, r *engine.Records, s privacy.Session) ([]float64, error) {
	return p.release(ctx, r, s, Tracker{})
}

func (p *KindPlan) release(ctx context.Context, r *engine.Records, s privacy.Session,
	t Tracker) (flat []float64, err error) {
	var released [][]float64
	for i, row := range p.Releases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x := p.kind.Exact(r, i, released)
		if len(x) != row.Coordinates {
			// the message leaves out len(x), which may depend on records
			return nil, fmt.Errorf("algorithms: for row %d of %s, Exact must return %d numbers, as planned",
				i+1, p.Algorithm, row.Coordinates)
		}
		if err := s.Release(x, row.Certificate, row.Noise); err != nil {
			return nil, err
		}
		released, flat = append(released, x), append(flat, x...)
		t.Step(i+1, len(p.Releases))
	}
	return flat, nil
}

// Job returns the job that runs the plan on the records. A run of the job can be resumed, because released
// numbers leave the job only in its result.
func (p *KindPlan) Job(r *engine.Records) Job {
	return Job{Plan: &p.Plan, Withholds: true, Train: func(ctx context.Context, s privacy.Session, t Tracker) ([]float64, error) {
		return p.release(ctx, r, s, t)
	}}
}

// Fits returns an error if the records do not have the shape of the plan.
func (p *KindPlan) Fits(r *engine.Records) error {
	if r.ByPerson() || r.Len() != p.Shape.Records || r.Dim() != p.Shape.Features {
		return fmt.Errorf("algorithms: the plan of %s needs %d records of %d features, with one row each",
			p.Algorithm, p.Shape.Records, p.Shape.Features)
	}
	return nil
}

// Figures returns the report of a result of Job.
func (p *KindPlan) Figures(flat []float64) (Facts, error) {
	var released [][]float64
	for _, row := range p.Releases {
		if len(flat) < row.Coordinates {
			break
		}
		released, flat = append(released, flat[:row.Coordinates]), flat[row.Coordinates:]
	}
	if len(released) != len(p.Releases) || len(flat) != 0 {
		return Facts{}, fmt.Errorf("algorithms: the numbers of the result do not fit the plan of %s", p.Algorithm)
	}
	return p.kind.Figures(p.Shape, p.Releases, released), nil
}
