package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"dyad/engine"
	"dyad/internal/sizes"
)

// TeamSizes are the numbers of members of RunTeams: one, a few, and more than there are chunks.
var TeamSizes = []int{1, 2, 3, 7, 129}

// RunTeams checks a backend with a team of each size in TeamSizes. The sums must have the same bits as
// the sums of one process. It checks moments, and gradients of p over all pairs. It also repeats each sum
// and checks the result again. The shards of the records have different labels. The function `of` returns
// the backend of a member of a team, and `of(nil)` is the backend of one process.
func RunTeams(t T, of func(engine.Team) engine.Backend, p engine.Problem, r *engine.Records) {
	t.Helper()
	name := fmt.Sprintf("%s n=%d d=%d sparse=%v persons=%v groups=%d", p.Loss.Name(), p.N, p.D, r.IsSparse(),
		r.ByPerson(), len(p.Groups))
	type way struct {
		name string
		plan func(engine.Backend) (engine.Kernel, error)
		sum  engine.Query
	}
	rng := rand.New(rand.NewPCG(uint64(p.N), 23))
	w := fill(p.Loss.ParamDim(p.D), func(int) float64 { return rng.NormFloat64() })
	scaleTo(w, p.Radius)
	centre := fill(p.D, func(int) float64 { return rng.NormFloat64() })
	scaleTo(centre, p.Bounds.FeatureNorm/3)
	gradient, X := engine.Gradient(w, p.Pairs()), p.Bounds.FeatureNorm
	moved := gradient
	moved.Centre, moved.Radius = centre, X/2
	grouped := func(b engine.Backend) (engine.Kernel, error) { return (engine.Grouped{Backend: b}).Plan(p) }
	ways := []way{{"gradients", grouped, gradient}}
	_, score := p.Loss.(engine.ScoreLoss) // moments ignore the loss
	if _, err := of(nil).PlanMoments(p); err == nil && score && len(p.Groups) > 0 {
		ways = append(ways, way{"moments within groups",
			func(b engine.Backend) (engine.Kernel, error) { return engine.PlanGroupMoments(b, p) },
			engine.Query{Radius: X / 2, Signed: true, Second: engine.DiagonalSecond}})
	} else if err == nil && score {
		for _, second := range []engine.SecondMoments{engine.NoSecond, engine.DiagonalSecond, engine.FullSecond} {
			if second == engine.FullSecond && p.D > 64 {
				continue
			}
			ways = append(ways, way{"moments, " + second.String(),
				func(b engine.Backend) (engine.Kernel, error) { return b.PlanMoments(p) },
				engine.Query{Centre: centre, Radius: X / 2, Signed: true, Offset: 0.2, Second: second}})
		}
		ways = append(ways, way{"gradients of moved records",
			func(b engine.Backend) (engine.Kernel, error) { return engine.PlanRecentred(b, p) }, moved})
	}
	for i, way := range ways {
		evaluate := func(k engine.Kernel, err error) ([]float64, error) {
			if err != nil {
				return nil, err
			}
			e, err := k.Bind(r)
			if err != nil {
				return nil, err
			}
			length := len(w)
			if way.sum.Pairs == nil {
				length = 1 + p.D + way.sum.Second.Len(p.D)
			}
			sums, again := make([]float64, length), make([]float64, length)
			err = errors.Join(e.Sum(context.Background(), sums, way.sum), e.Sum(context.Background(), again, way.sum))
			if err == nil && !sameBits(sums, again) {
				err = errors.New("other bits when repeated")
			}
			return sums, errors.Join(err, e.Close())
		}
		want, err := evaluate(way.plan(of(nil)))
		if err != nil {
			t.Errorf("%s, %s, one process: %v", name, way.name, err)
			continue
		}
		for _, size := range TeamSizes {
			if size > 100 && i > 0 && i < len(ways)-2 && !sizes.Full() {
				continue // the last moments include it
			}
			got, err := evaluate(planTeam(size, func(t engine.Team) (engine.Kernel, error) { return way.plan(of(t)) }))
			if err != nil {
				t.Errorf("%s, %s, team of %d: %v", name, way.name, size, err)
			} else if !sameBits(got, want) {
				t.Errorf("%s, %s: a team of %d gives other bits than one process", name,
					way.name, size)
			}
		}
	}
}
