package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/engine"
	"dyad/engine/enginetest"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/kernels"
	"dyad/privacy"
)

// gpuTeam returns the backend of a member of a team whose ranks have three GPUs; alter, if not nil, is a
// defect of what they exchange.
func gpuTeam(t *testing.T, alter func(x []float64, counts, at []int)) func(engine.Team) Backend {
	t.Helper()
	var devices []Backend
	for range 3 {
		devices = append(devices, openFake(t, newFake()))
	}
	return func(of engine.Team) Backend {
		if of == nil {
			return devices[0]
		}
		b := devices[of.Rank()%len(devices)]
		if b.Team = of; alter != nil {
			b.Team = alteredTeam{of, alter}
		}
		return b
	}
}

type alteredTeam struct {
	engine.Team
	alter func(x []float64, counts, at []int)
}

func (t alteredTeam) AllGather(ctx context.Context, x []float64, counts, at []int) error {
	err := t.Team.AllGather(ctx, x, counts, at)
	t.alter(x, counts, at)
	return err
}

// teamCase is a sum that the GPUs of a team share.
type teamCase struct {
	name      string
	n, d      int
	labels    int
	radius    float64
	query     engine.Query // of moments, if it has a radius
	persons   []int        // rows of each, in turn
	groups    int          // records of a query group
	loss      engine.Loss  // in place of the logistic one
	method    Method
	slow      bool // in a team of two, and records of them only at full size
	recentred bool
	part      int // records of a batch
	panels    bool
}

func (c teamCase) plan(b engine.Backend, p engine.Problem) (engine.Kernel, error) {
	switch {
	case c.groups > 0 && c.query.Radius > 0:
		return engine.PlanGroupMoments(b, p)
	case c.part > 0:
		return engine.Parts{Backend: b, Sizes: []int{c.part}}.Plan(p)
	case c.recentred:
		return engine.PlanRecentred(b, p)
	case c.query.Radius > 0:
		return b.PlanMoments(p)
	}
	return b.Plan(p)
}

// sums are those of a backend, twice.
func (c teamCase) sums(b engine.Backend, p engine.Problem, r *engine.Records, w []float64) ([]float64, error) {
	k, err := c.plan(b, p)
	if err != nil {
		return nil, err
	}
	e, err := k.Bind(r)
	if err != nil {
		return nil, err
	}
	q, length := c.query, 1+p.D+c.query.Second.Len(p.D)
	if q.Radius == 0 || c.recentred {
		q.W, q.Pairs, length = w, p.Pairs(), len(w)
	}
	if c.part > 0 {
		order := make([]int32, p.N)
		for i := range order {
			order[i] = int32((7*i + 3) % p.N)
		}
		q.Pairs = engine.SubsetPairs{Order: order, From: 50, N: c.part}
		if p.N%7 == 0 {
			return nil, errors.New("no permutation")
		}
	}
	sums := make([]float64, 2*length)
	err = errors.Join(e.Sum(context.Background(), sums[:length], q), e.Sum(context.Background(), sums[length:], q), e.Close())
	if err == nil && !slices.Equal(sums[:length], sums[length:]) {
		err = errors.New("other bits when repeated")
	}
	return sums, err
}

// limited is a member whose rows do not fit: it copies them tile by tile.
type limited struct{ Backend }

func (b limited) on(k engine.Kernel, err error) Backend {
	if k, ok := k.(planned); ok && err == nil {
		g, other := grid{}, uint64(0)
		switch k := k.(type) {
		case *kernel:
			g, other = k.grid, k.columnBytes()
		case *momentsKernel:
			g, other = k.grid, k.columnBytes()
		}
		b.Memory = other + personRoom(k.Problem()) + driverBytes + uint64(8*g.d*(g.chunks()+2)+2*g.tileBytes())
	}
	return b.Backend
}

func (b limited) Plan(p engine.Problem) (engine.Kernel, error) {
	return b.on(b.Backend.Plan(p)).Plan(p)
}

func (b limited) PlanMoments(p engine.Problem) (engine.Kernel, error) {
	return b.on(b.Backend.PlanMoments(p)).PlanMoments(p)
}

// different are the sizes of teams whose sums have other bits than one GPU.
func (c teamCase) different(t *testing.T, teams []int, gpu func(engine.Team) Backend) (wrong []error) {
	t.Helper()
	of := func(team engine.Team) Backend {
		b := gpu(team)
		b.Method = c.method
		return b
	}
	p, r, w := records(t, c.n, c.d, c.labels)
	if p.Radius = 1; c.radius > 0 {
		p.Radius = c.radius
	}
	if c.persons != nil {
		p, r = personsOf(t, p, r, c.persons...)
	}
	if c.groups > 0 {
		p.Groups = slices.Repeat([]int{c.groups}, p.N/c.groups)
	}
	if c.loss != nil {
		p.Loss = c.loss
	}
	if _, ok := c.loss.(engine.MetricLoss); ok {
		p, w = metricMeasured(p)
	}
	want := must.Get(c.sums(of(nil), p, r, w))(t, c.name)
	if c.panels {
		k, err := c.plan(limited{of(enginetest.Members(2)[0])}, p)
		if f, ok := ForecastOf(k); err != nil || !ok || !f.Panels {
			t.Fatalf("%s: %+v, %v, want panels", c.name, f, err)
		}
	}
	for _, size := range teams {
		member := func(team engine.Team) engine.Backend {
			if c.panels {
				return limited{of(team)}
			}
			return of(team)
		}
		got, err := c.sums(enginetest.Teamed(size, member), p, r, w)
		if err != nil || !slices.Equal(got, want) {
			wrong = append(wrong, fmt.Errorf("%s, team of %d: other bits than one GPU, %v", c.name, size, err))
		}
	}
	return wrong
}

var teamCases = []teamCase{
	{name: "moments", n: 1100, d: 3, labels: 2, query: engine.Query{Radius: 0.7, Signed: true, Second: engine.FullSecond}},
	{name: "moments of many features", n: 600, d: 33, labels: 2, query: engine.Query{Radius: 0.7, Class: 1, Second: engine.DiagonalSecond}},
	{name: "moments in panels", n: 1100, d: 2, labels: 2, query: engine.Query{Radius: 0.7, Signed: true}, panels: true},
	{name: "moments of persons", n: 900, d: 2, labels: 2, query: engine.Query{Radius: 0.7, Signed: true, Second: engine.DiagonalSecond}, persons: []int{1, 3, 1, 7, 150}},
	{name: "moments of one chunk", n: 200, d: 2, labels: 2, query: engine.Query{Radius: 0.7}},
	{name: "moments within groups", n: 80, d: 2, labels: 2, query: engine.Query{Radius: 0.7, Signed: true}, groups: 16},
	{name: "near-linear", n: 1100, d: 3, labels: 2},
	{name: "near-linear, five labels, in panels", n: 1100, d: 2, labels: 5, panels: true},
	{name: "near-linear, many columns", n: 600, d: 66, labels: 2},
	{name: "near-linear, many terms", n: 600, d: 2, labels: 2, radius: 2.5},
	{name: "near-linear, persons", n: 900, d: 2, labels: 2, persons: []int{1, 3, 1, 7, 15}},
	{name: "near-linear, persons in panels", n: 1100, d: 2, labels: 5, persons: []int{4, 1}, panels: true},
	{name: "near-linear of a part", n: 701, d: 2, labels: 2, part: 400},
	{name: "near-linear of one chunk", n: 200, d: 2, labels: 2},
	{name: "pair by pair, two labels", n: 300, d: 3, labels: 2, method: Direct},
	{name: "pair by pair, five labels", n: 200, d: 3, labels: 5, method: Direct},
	{name: "pair by pair, persons", n: 150, d: 2, labels: 2, method: Direct, persons: []int{1, 3, 1, 7, 50}},
	{name: "pair by pair, groups", n: 160, d: 2, labels: 5, groups: 80},
	{name: "pairs of metrics", n: 1100, d: 2, labels: 2, loss: engine.MahalanobisLogistic{}, slow: true},
	{name: "pairs of metrics of persons", n: 1030, d: 2, labels: 2, loss: engine.MahalanobisLogistic{}, persons: []int{1, 3, 1, 7, 50}, slow: true},
	{name: "gradients of moved records", n: 600, d: 2, labels: 2, query: engine.Query{Radius: 0.5}, recentred: true},
	{name: "moments of persons within query groups", n: 120, d: 3, labels: 2, persons: []int{1, 3, 2}, groups: 6, query: engine.Query{Radius: 0.7, Signed: true, Second: engine.FullSecond}},
}

// TestTeamsOfGPUs: the sums of the GPUs of a team have the bits of one, also where their shares are not equal and
// where a rank has none. A rank whose share is left out, and one whose share counts twice, have not.
func TestTeamsOfGPUs(t *testing.T) {
	for _, program := range []string{"rows", "clipped", "nearlinear"} { // what they round depends on the GPU's make otherwise
		if strings.Contains(kernels.PTX(program), ".approx") {
			t.Errorf("%s has an approximate instruction", program)
		}
	}
	of := gpuTeam(t, nil)
	for _, c := range teamCases {
		teams := sizes.Of([]int{2, 3}, []int{1, 2, 3, 7})
		if c.slow {
			if teams = []int{2}; (testing.Short() || c.persons == nil) && !sizes.Full() {
				continue
			}
		}
		for _, err := range c.different(t, teams, of) {
			t.Error(err)
		}
	}
	last := func(counts []int) int {
		r := len(counts) - 1
		for ; r > 0 && counts[r] == 0; r-- {
		}
		return r
	}
	for name, alter := range map[string]func(x []float64, counts, at []int){
		"a share is left out": func(x []float64, counts, at []int) { clear(x[at[last(counts)]:][:counts[last(counts)]]) },
		"a share counts twice": func(x []float64, counts, at []int) {
			copy(x[at[1]:][:counts[1]], x[at[0]:][:counts[0]])
		},
	} {
		defect := gpuTeam(t, alter)
		for _, i := range []int{0, 3, 6, 10, 15, 16} {
			if wrong := teamCases[i].different(t, []int{3}, defect); len(wrong) != 1 {
				t.Errorf("%s, %s: not found: %v", teamCases[i].name, name, wrong)
			}
		}
	}
}

// TestReplayInATeam: releases of a team of GPUs move between neighbours by at most what the plan is charged for, and
// by a good part of it; moments move by more if a share counts twice.
func TestReplayInATeam(t *testing.T) {
	const n, d = 520, 2
	of := func(alter func(x []float64, counts, at []int)) engine.Backend {
		member := gpuTeam(t, alter)
		return enginetest.Teamed(3, func(t engine.Team) engine.Backend { return member(t) })
	}
	for name, algorithm := range map[string]algorithms.Algorithm{
		"gradients": algorithms.GradientPerturbation{Steps: 1}, "moments": algorithms.Moments{},
	} {
		worst := func(b engine.Backend) (float64, error) {
			p := engine.Problem{N: n, D: d, Bounds: engine.UnitBounds(), Loss: engine.Logistic{}, Radius: 1}
			spec := must.Get(algorithms.NewSpec(b, p, 0, privacy.Budget{Epsilon: 1, Delta: 1e-5}, algorithms.Certified))(t)
			plan := must.Get(algorithm.Plan(spec))(t)
			data, neighbour := attack.WorstCase(n, d, 0, p.Bounds)
			return attack.Replay(algorithm, plan, data, []*engine.Records{neighbour}, 9)
		}
		must.Within(t, must.Get(worst(of(nil)))(t), 0.5, 1, "%s: the largest move is ... of the certificate", name)
		if name != "moments" {
			continue
		}
		if ratio, err := worst(of(func(x []float64, counts, at []int) { copy(x[at[1]:][:counts[1]], x[at[0]:][:counts[0]]) })); err == nil {
			t.Errorf("%s: with a share that counts twice the largest move is %v of the certificate: not found", name, ratio)
		}
	}
}

// TestTeamsRefuse: what the GPUs of a team do not share is refused with the reason, before a record is read.
func TestTeamsRefuse(t *testing.T) {
	b := gpuTeam(t, nil)(enginetest.Members(2)[0])
	p, _, _ := records(t, 100, 3, 2)
	p.Groups = []int{50, 50}
	b.Method = NearLinear
	if _, err := b.Plan(p); !errors.Is(err, engine.ErrUnsupported) || !strings.Contains(err.Error(), "within query groups") || !strings.Contains(err.Error(), "team of GPUs") {
		t.Errorf("near-linear groups: %v", err)
	}
	b.Method = AnyMethod
	// A sum that is cut among the ranks has the bound of one GPU, and each holds its share.
	p, _, _ = records(t, 100_000, 8, 2)
	for _, plan := range []func(Backend) (engine.Kernel, error){
		func(b Backend) (engine.Kernel, error) { return b.Plan(p) }, func(b Backend) (engine.Kernel, error) { return b.PlanMoments(p) },
	} {
		one, shared := must.Get(plan(Backend{Device: b.Device}))(t), must.Get(plan(b))(t)
		for _, q := range []engine.Query{{Pairs: p.Pairs()}, {Radius: 0.5, Second: engine.FullSecond}} {
			if a, b := one.Bounds(q), shared.Bounds(q); a.Sum != b.Sum || a.OneRecord() != b.OneRecord() || a.Second != b.Second || a.Positives != b.Positives {
				t.Errorf("%s: bounds %+v of one GPU, %+v of two", one.Method(), a, b)
			}
		}
		whole, half := one.(planned).bytes()-driverBytes-64<<20, shared.(planned).bytes()-driverBytes-64<<20
		must.Near(t, float64(half)/float64(whole), 0.5, 0.1, "%s: a rank of two holds ... of the bytes of one GPU", one.Method())
	}
}
