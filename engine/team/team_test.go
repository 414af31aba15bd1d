package team_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/enginetest"
	"dyad/engine/team"
	"dyad/internal/must"
	"dyad/kernels"
)

// data are 9001 records whose labels are sorted, so that a shard has one class, and their problem.
func data(t *testing.T) (engine.Problem, *engine.Records) {
	t.Helper()
	const n, d = 9001, 4
	rng := rand.New(rand.NewPCG(5, 6))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		y[i] = math.Copysign(1, float64(i-n/2))
		for k := range d {
			x[i*d+k] = (rng.Float64()*2 - 1 + 0.2*y[i]) / 2
		}
	}
	r := must.Get(engine.NewRecords(x, y, d, engine.UnitBounds()))(t)
	return engine.Problem{N: n, D: d, Bounds: r.Bounds(), Loss: engine.Logistic{}, Radius: 1}, r
}

// each runs f for every member and returns what they return.
func each(members []engine.Team, f func(t engine.Team) error) []error {
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for rank, t := range members {
		all.Go(func() { errs[rank] = f(t) })
	}
	all.Wait()
	return errs
}

// planned runs f for every member with its kernel and its shard of the records, and returns what they return.
func planned(members []engine.Team, p engine.Problem, r *engine.Records, f func(m engine.Team, k engine.Kernel, own *engine.Records) error) []error {
	return each(members, func(m engine.Team) error {
		k, err := cpu.Backend{Workers: 1, Method: cpu.NearLinear, Team: m}.Plan(p)
		if err != nil {
			return err
		}
		return f(m, k, r.Shard(engine.Share(k, m.Rank())))
	})
}

// points are parameters at which gradients are compared: at a single one, sums that are added in
// another order may round to the same bits, as they did with AVX2.
func points() [][]float64 {
	var points [][]float64
	for k := range 8 {
		scale := 1 / float64(k+1)
		points = append(points, []float64{0.5 * scale, -0.3 * scale, 0.2, 0.6 * scale})
	}
	return points
}

// gradients are the sums of the pairs at all points, one after the other.
func gradients(e engine.Evaluator, p engine.Problem) ([]float64, error) {
	sums := make([]float64, len(points())*p.D)
	for k, w := range points() {
		if err := e.Sum(context.Background(), sums[k*p.D:][:p.D], engine.Gradient(w, p.Pairs())); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// gradient has the gradients of a team of the members.
func gradient(t *testing.T, members []engine.Team) []float64 {
	t.Helper()
	p, r := data(t)
	sums := make([][]float64, len(members))
	for rank, err := range planned(members, p, r, func(m engine.Team, k engine.Kernel, own *engine.Records) error {
		e, err := k.Bind(own)
		if err != nil {
			return err
		}
		sums[m.Rank()], err = gradients(e, p)
		return err
	}) {
		must.Do(t, err, "rank ", rank)
	}
	return sums[0]
}

func differ(a, b []float64) bool {
	return !slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// lonely is a member that knows no labels but its own: they arrive in the place of those of others.
type lonely struct{ engine.Team }

func (l lonely) AllGather(ctx context.Context, x []float64, counts, at []int) error {
	own := append([]float64(nil), x[at[l.Rank()]:][:counts[l.Rank()]]...)
	err := l.Team.AllGather(ctx, x, counts, at)
	if len(x) <= 2*l.Size() && len(x) != l.Size() {
		for i := range x {
			x[i] = own[i%len(own)]
		}
	}
	return err
}

// reducer is a member whose network adds: of the chunks of a rank one sum arrives.
type reducer struct{ engine.Team }

func (r reducer) AllGather(ctx context.Context, x []float64, counts, at []int) error {
	if err := r.Team.AllGather(ctx, x, counts, at); err != nil || len(x) <= 2*r.Size() {
		return err
	}
	for rank := range counts {
		part := x[at[rank]:][:counts[rank]]
		const length = 4
		if len(part)%length != 0 || len(x) > 64*length {
			continue // sums of powers
		}
		for i := length; i < len(part); i++ {
			part[i%length] += part[i]
			part[i] = 0
		}
	}
	return nil
}

// TestSeededDefects: what would silently change a gradient does change its bits in these tests, so
// that the suite of package enginetest sees it.
func TestSeededDefects(t *testing.T) {
	p, r := data(t)
	k := must.Get(cpu.Backend{Workers: 1, Method: cpu.NearLinear}.Plan(p))(t)
	e := must.Get(k.Bind(r))(t)
	want := must.Get(gradients(e, p))(t)
	if differ(gradient(t, enginetest.Members(3)), want) {
		t.Error("a sound team has other bits than one process")
	}
	defect := func(name string, wrap func(engine.Team) engine.Team) {
		members := enginetest.Members(2)
		for i := range members {
			members[i] = wrap(members[i])
		}
		if !differ(gradient(t, members), want) {
			t.Errorf("%s: the gradient has the bits of one process, so the tests see nothing", name)
		}
	}
	defect("labels of this rank only", func(m engine.Team) engine.Team { return lonely{m} })
	defect("a network that adds", func(m engine.Team) engine.Team { return reducer{m} })
}

// TestAgree: what the ranks must have in common is compared before anything is charged, and every
// rank gets an error.
func TestAgree(t *testing.T) {
	p, r := data(t)
	for name, c := range map[string]struct {
		says  string // "" agrees
		alter func(rank int, p *engine.Problem, variant *kernels.Variant, from, to *int, plan *string)
	}{
		"all is well":      {"", func(int, *engine.Problem, *kernels.Variant, *int, *int, *string) {}},
		"another plan":     {"on the plan: ranks [1] differ from rank 0", func(rank int, _ *engine.Problem, _ *kernels.Variant, _, _ *int, plan *string) { *plan += " " }},
		"other kernels":    {"on the instructions", func(_ int, _ *engine.Problem, v *kernels.Variant, _, _ *int, _ *string) { *v = kernels.Generic }},
		"chunks of its n":  {"on the problem", func(_ int, p *engine.Problem, _ *kernels.Variant, from, to *int, _ *string) { p.N = *to - *from }},
		"a part twice":     {"must hold 2048 to 6143", func(_ int, _ *engine.Problem, _ *kernels.Variant, from, to *int, _ *string) { *to -= *from; *from = 0 }},
		"a part missing":   {"must hold 2048 to 6143", func(_ int, _ *engine.Problem, _ *kernels.Variant, _, to *int, _ *string) { *to -= 256 }},
		"a row too many":   {"must hold 2048 to 6143", func(_ int, _ *engine.Problem, _ *kernels.Variant, from, _ *int, _ *string) { *from -= 1 }},
		"another data set": {"on the records", nil},
	} {
		members := enginetest.Members(3)
		errs := each(members, func(m engine.Team) error {
			own, variant, plan, records := p, kernels.Best, "plan", r
			k, err := cpu.Backend{Method: cpu.NearLinear, Team: m}.Plan(own)
			if err != nil {
				return err
			}
			from, to := engine.Share(k, m.Rank())
			switch {
			case m.Rank() == 1 && c.alter == nil:
				records = r.Subset(rows(p.N - 1))
			case m.Rank() == 1:
				c.alter(1, &own, &variant, &from, &to, &plan)
			}
			if own.N != p.N {
				if k, err = (cpu.Backend{Method: cpu.NearLinear, Team: m}).Plan(own); err != nil {
					return err
				}
			}
			set, err := kernels.Select(variant)
			if err != nil {
				return err
			}
			return team.Agree(context.Background(), m, k, records.Shard(from, to), []team.Statement{{Name: "the plan", Text: plan}, {Name: "the instructions", Text: set.Variant().String()}})
		})
		for rank, err := range errs {
			switch {
			case c.says == "" && err != nil, c.says != "" && (!errors.Is(err, team.ErrDisagree) || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s: rank %d: %v, want %q", name, rank, err, c.says)
			}
		}
	}
}

func rows(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestTooManyLabels: shards that have few labels each may have too many together.
func TestTooManyLabels(t *testing.T) {
	p, r := data(t)
	y := make([]float64, r.Len())
	for i := range y {
		y[i] = float64(3*i/len(y)) - 1
	}
	three := must.Get(engine.NewRecords(r.Dense(), y, r.Dim(), r.Bounds()))(t)
	for rank, err := range planned(enginetest.Members(2), p, three, func(m engine.Team, k engine.Kernel, own *engine.Records) error {
		return team.Agree(context.Background(), m, k, own, nil)
	}) {
		must.FailDo(t, err, "different labels", "rank ", rank)
	}
}

// TestShardAlone: a kernel without a team, and one that needs all records, refuse a shard.
func TestShardAlone(t *testing.T) {
	p, r := data(t)
	for _, b := range []cpu.Backend{{Method: cpu.NearLinear}, {Method: cpu.Direct}, {Method: cpu.Direct, Team: enginetest.Members(2)[0]}} {
		k := must.Get(b.Plan(p))(t)
		must.Err(k.Bind(r.Shard(0, 4096)))(t, "%v with a team %v bound a shard", b.Method, b.Team != nil)
	}
}

// TestWideDigests: the hash of compressed rows takes the time of what they store, not of all d features, and
// sees a value, a column, a label and a row that ends elsewhere.
func TestWideDigests(t *testing.T) {
	const n, d = 600, math.MaxInt32
	hash := func(alter func(start []int64, index []int32, value, y []float64)) string {
		start, index, value, y := []int64{0}, []int32{}, []float64{}, make([]float64, n)
		for i := range y {
			index, value = append(index, int32(i), int32(d-1-i)), append(value, 0.5, -0.25)
			start = append(start, int64(len(value)))
		}
		alter(start, index, value, y)
		r := must.Get(engine.NewSparseRecords(start, index, value, y, d, engine.UnitBounds()))(t)
		return team.DigestOf(r.Digests(0, n))
	}
	seen := map[string]string{}
	for name, alter := range map[string]func(start []int64, index []int32, value, y []float64){
		"itself":     func([]int64, []int32, []float64, []float64) {},
		"a value":    func(_ []int64, _ []int32, value, _ []float64) { value[7] = -0.125 },
		"a column":   func(_ []int64, index []int32, _, _ []float64) { index[6]++ },
		"a label":    func(_ []int64, _ []int32, _, y []float64) { y[n-1] = 1 },
		"a long row": func(start []int64, index []int32, _, _ []float64) { start[1], index[1] = 1, 0 },
	} {
		got := hash(alter)
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[got] = name
	}
}

// TestDigests: a team hashes its records as one process does, and sees a change of any bit or
// of the order.
func TestDigests(t *testing.T) {
	p, r := data(t)
	want := team.DigestOf(r.Digests(0, p.N))
	hash := func(size int, r *engine.Records) (got string) {
		for _, err := range planned(enginetest.Members(size), p, r, func(m engine.Team, k engine.Kernel, own *engine.Records) error {
			if m.Rank() > 0 {
				return team.Serve(context.Background(), m, k, own, nil)
			}
			var err error
			l := team.Lead(m, k, own)
			if got, err = l.Digest(context.Background()); err != nil {
				return err
			}
			return l.Stop()
		}) {
			must.Do(t, err)
		}
		return got
	}
	for _, size := range []int{1, 2, 3, 40} {
		must.Equal(t, hash(size, r), want, "%d ranks: digest", size)
	}
	x := append([]float64(nil), r.Dense()...)
	x[8000*p.D] = math.Nextafter(x[8000*p.D], 0)
	other := must.Get(engine.NewRecords(x, r.Labels(), p.D, r.Bounds()))(t)
	if hash(3, other) == want {
		t.Error("a digest does not see the last bit of one number")
	}
	swapped := rows(p.N)
	swapped[10], swapped[11] = 11, 10
	if hash(3, r.Subset(swapped)) == want {
		t.Error("a digest does not see the order of records")
	}
}

// TestRefusedAlone: what a sum refuses ends no other rank. Points depend on noise: a run that a refused one
// ends must be closed, and not resumed as after a crash.
func TestRefusedAlone(t *testing.T) {
	p, r := data(t)
	p.N = 400
	r = r.Subset(rows(p.N))
	for rank, err := range each(enginetest.Members(2), func(m engine.Team) error {
		k, err := engine.Parts{Backend: cpu.Backend{Team: m}, Sizes: []int{100}}.Plan(p)
		if err != nil {
			return err
		}
		if m.Rank() > 0 {
			return team.Serve(context.Background(), m, k, r, nil)
		}
		l := team.Lead(m, k, r)
		e, err := l.Bind(context.Background())
		if err != nil {
			return err
		}
		order := make([]int32, p.N)
		for i := range order {
			order[i] = int32(i)
		}
		sum := make([]float64, p.D)
		for _, w := range [][]float64{{2, 0, 0, 0}, {math.NaN(), 0, 0, 0}} {
			if err := e.Sum(context.Background(), sum, engine.Gradient(w, engine.SubsetPairs{Order: order, N: 100})); err == nil || errors.Is(err, engine.ErrTeamLost) {
				t.Errorf("w = %v: %v", w, err)
			}
		}
		return l.Stop() // says if the team is lost
	}) {
		must.CheckDo(t, err, "rank ", rank)
	}
}

// panicking is a member whose process panics in a gather.
type panicking struct {
	engine.Team
	told int // broadcasts
}

func (p *panicking) Broadcast(ctx context.Context, x []float64) error {
	p.told++
	return p.Team.Broadcast(ctx, x)
}

func (*panicking) AllGather(context.Context, []float64, []int, []int) error { panic("gather") }

// TestPanic: after a panic in a sum the leader says nothing more to ranks that wait in the middle of it: MPI
// would take the word for a part of the sum.
func TestPanic(t *testing.T) {
	p, r := data(t)
	m := &panicking{Team: enginetest.Members(1)[0]}
	k := must.Get(cpu.Backend{Method: cpu.NearLinear, Team: m}.Plan(p))(t)
	l := team.Lead(m, k, r)
	func() {
		defer func() { _ = recover() }()
		_, err := l.Bind(context.Background())
		t.Errorf("no panic: %v", err)
	}()
	if err := l.Stop(); err == nil || m.told != 1 {
		t.Errorf("Stop: %v, %d messages, want an error and the 1 of Bind", err, m.told)
	}
}

// TestLostRank: a rank that ends ends the sums of all, in whatever they wait for.
func TestLostRank(t *testing.T) {
	p, r := data(t)
	members := enginetest.Members(3)
	errs := planned(members, p, r, func(m engine.Team, k engine.Kernel, own *engine.Records) error {
		switch m.Rank() {
		case 1:
			m.(interface{ End(error) }).End(errors.New("killed"))
			return nil
		case 2:
			return team.Serve(context.Background(), m, k, own, nil)
		}
		l := team.Lead(m, k, own)
		_, err := l.Bind(context.Background())
		if err == nil {
			return nil
		}
		must.ErrDo(t, l.Stop(), "a lost team was stopped")
		must.Err(l.Bind(context.Background()))(t, "a lost team bound records")
		return err
	})
	for _, rank := range []int{0, 2} {
		must.ErrDo(t, errs[rank], "rank %d did not notice", rank)
	}
}
