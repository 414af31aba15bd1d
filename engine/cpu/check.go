package cpu

import (
	"errors"
	"fmt"

	"dyad/engine"
)

// fits returns an error unless the records have the shape and the bounds of the problem,
// and no more stored features per row and no more different labels than the problem
// allows. The roundoff bound would not hold for other records.
func fits(p engine.Problem, r *engine.Records) error {
	if r != nil && r.IsShard() {
		return p.Fits(r)
	}
	return fitsShard(p, r)
}

// fitsShard is fits for records that may be a shard.
func fitsShard(p engine.Problem, r *engine.Records) error {
	switch {
	case r == nil:
		return errors.New("cpu: Bind: no records")
	case r.Total() != p.N || r.Dim() != p.D:
		return fmt.Errorf("cpu: Bind: %d records of %d features, but the problem has %d of %d", r.Total(), r.Dim(), p.N, p.D)
	case r.Bounds() != p.Bounds:
		return fmt.Errorf("cpu: Bind: records have bounds %+v, the problem %+v", r.Bounds(), p.Bounds)
	case p.NonZerosPerRow > 0 && r.MaxRow() > p.NonZerosPerRow:
		return fmt.Errorf("cpu: Bind: a row stores more than Problem.NonZerosPerRow = %d features; use compressed rows or "+
			"declare more", p.NonZerosPerRow)
	}
	return p.FitsShard(r)
}
