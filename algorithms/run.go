package algorithms

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"dyad/engine"
	"dyad/privacy"
)

// Run runs plan p of algorithm a on records, by Execute.
func Run(ctx context.Context, records *engine.Records, a Algorithm, p *Plan, o Options) (*Result, error) {
	if a.Info().Name != p.Algorithm {
		return nil, fmt.Errorf("algorithms: a plan of %s cannot be run by %s", p.Algorithm, a.Info().Name)
	}
	bind := func(context.Context) (engine.Evaluator, error) { return p.Spec.Kernel.Bind(records) }
	digest := func(_ context.Context, format string) (string, error) { return hashRecords(records, format), nil }
	if o.Team != nil {
		if err := o.Team.Leads(p.Spec.Kernel, records); err != nil {
			return nil, err
		}
		bind = o.Team.Bind
		digest = func(ctx context.Context, format string) (string, error) {
			if format == oldCheckpoint && records.IsShard() {
				return "", fmt.Errorf("%w: the checkpoint is of an earlier version; resume the run in one process, "+
					"not in a team", ErrCheckpoint)
			}
			if format == oldCheckpoint {
				return hashRecords(records, format), nil
			}
			return o.Team.Digest(ctx)
		}
	} else if err := p.Spec.Kernel.Problem().Fits(records); err != nil {
		return nil, err
	}
	return Execute(ctx, Job{
		Plan:      p,
		Team:      o.Team != nil,
		Withholds: a.Info().Withholds && !embedsAlgorithm(a),
		Records:   digest,
		Train: func(ctx context.Context, s privacy.Session, t Tracker) ([]float64, error) {
			ev, err := bind(ctx)
			if err != nil {
				return nil, err
			}
			o.at("bound")
			w, err := a.Train(ctx, ev, p, s, t)
			return w, errors.Join(err, ev.Close())
		},
	}, o)
}

// embedsAlgorithm reports whether a may embed an algorithm and inherit its Info. The promise in such an Info
// does not cover the Train of a.
func embedsAlgorithm(a Algorithm) bool {
	t := reflect.TypeOf(a)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	algorithm := reflect.TypeFor[Algorithm]()
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(algorithm) || reflect.PointerTo(f.Type).Implements(algorithm)) {
			return true
		}
	}
	return false
}

// CheckTried returns an error if a search or a curve cannot use the result of the algorithm: the algorithm may reveal a
// release before its end, or it returns other values besides weights.
func CheckTried(a Algorithm, p *Plan) error {
	if m := p.Moments(); m != nil && m.Pairs != nil {
		return errors.New("algorithms: a search or a curve cannot use choose_interactions; name pairs in " +
			"interactions instead")
	}
	if m, ok := a.(interface{ appends() bool }); ok && m.appends() {
		return errors.New("algorithms: a search or a curve uses weights of features only; leave Intervals, LogOdds " +
			"and Blocks out")
	}
	if i := a.Info(); !i.Withholds || embedsAlgorithm(a) {
		return fmt.Errorf("algorithms: %s may release results before the run ends, so a search or a curve cannot "+
			"use it",
			i.Name)
	}
	return nil
}
