// Package localaudit attacks the messages of local learners: it draws many messages of
// two records, guesses from them which record it was, and bounds the epsilon of the
// method from below (Clopper-Pearson, see algorithms/audit).
//
// The adversary is the server. It publishes any state, knows both records and sees
// whether a user sends, and what. A state, two records and an event are chosen on
// messages that the bound does not use.
package localaudit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dyad/algorithms/audit"
	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/privacy"
)

// Options of an attack.
type Options struct {
	Runs       int     // on each of the two records; half of them choose the event; >= 100
	Visits     int     // of a user in one run, at the same state; >= 1, 1 for prestige-label
	Confidence float64 // of the bound, in (0, 1)
	Seed       uint64
}

// Report is the outcome of an attack.
type Report struct {
	Method   string `json:"method"`
	Loss     string `json:"loss"`
	Features int    `json:"features"`
	Instance string `json:"instance"`
	Runs     int    `json:"runs"`
	Visits   int    `json:"visits"`
	Seed     uint64 `json:"seed"`
	// Claim is the epsilon that is attacked: the guarantee's for so many visits, or the
	// paper's if there is no guarantee.
	Claim      float64      `json:"claimed_epsilon"`
	Source     string       `json:"claimed_by"`
	Confidence float64      `json:"confidence"`
	LowerBound float64      `json:"audited_epsilon"`
	Sends      [2]float64   `json:"sends"` // frequency with which each record sends a gradient
	Guarantee  privacy.Kind `json:"guarantee"`
	Event      audit.Event  `json:"event"`
	// HalfRefuted is the control: the same attack refutes a claim of half as much. If it
	// does not, a leak of twice the claim would not be seen, and Holds says little.
	HalfRefuted bool         `json:"half_claim_refuted"`
	plan        *local.Plan  // attacked
	state       *local.State // published
	records     [2]engine.Record
	direction   []float64
}

// Holds says that the claim is not refuted.
func (r *Report) Holds() bool { return r.LowerBound <= r.Claim }

// A visit shows that nothing is sent, or the rank of the chosen direction.
const (
	silent = 0
	// maxRanks bounds the ranks that are told apart.
	maxRanks = 64
)

// Attack attacks plan p. Methods without privacy are refused: their messages are exact.
func Attack(ctx context.Context, p *local.Plan, o Options) (*Report, error) {
	if o.Runs < 100 || o.Visits < 1 || !(o.Confidence > 0 && o.Confidence < 1) {
		return nil, fmt.Errorf("localaudit: %d runs of %d visits at confidence %v: want at least 100 runs, 1 visit and a confidence in (0, 1)", o.Runs, o.Visits, o.Confidence)
	}
	if p.Method == local.SGD || p.Method == local.Curriculum {
		return nil, fmt.Errorf("localaudit: method %s sends exact gradients, there is nothing to attack", p.Method)
	}
	if p.Method == local.PrestigeLabel && o.Visits != 1 {
		return nil, errors.New("localaudit: a user of prestige-label answers once; attack one visit")
	}
	src := privacy.NewSeededSource(o.Seed)
	var best *Report
	for _, r := range instances(p) {
		pilot, err := r.draw(ctx, max(100, o.Runs/10), o.Visits, src)
		if err != nil {
			return nil, err
		}
		r.attack(pilot, 0.5) // a choice, no claim
		if best == nil || r.LowerBound > best.LowerBound {
			best = r
		}
	}
	best.Runs, best.Visits, best.Seed, best.Confidence = o.Runs, o.Visits, o.Seed, o.Confidence
	best.Method, best.Loss, best.Features, best.Guarantee = p.Method.String(), p.Loss.Name(), p.Dim, p.Guarantee.Kind
	best.Claim, best.Source = float64(o.Visits)*p.Epsilon, "the guarantee"
	if math.FMA(float64(o.Visits), p.Epsilon, -best.Claim) > 0 { // the product was rounded down
		best.Claim = math.Nextafter(best.Claim, math.Inf(1))
	}
	if p.Guarantee.Kind == privacy.None {
		best.Source = "the paper"
	}
	runs, err := best.draw(ctx, o.Runs, o.Visits, src)
	if err != nil {
		return nil, err
	}
	best.attack(runs, o.Confidence)
	best.HalfRefuted = best.LowerBound > best.Claim/2
	return best, nil
}

// instances are the states and pairs of records that the adversary tries: records
// with opposite gradients, and one in the curriculum against one out of it, at a model
// of norm 0 or R, in the first and the last epoch.
func instances(p *local.Plan) []*Report {
	var all []*Report
	add := func(epoch int, w float64, text string, a, b engine.Record) {
		st := p.Start()
		st.Epoch, st.Visits = epoch, int64(epoch-1)*int64(p.Users)
		st.W[0] = w
		r := &Report{plan: p, state: st, records: [2]engine.Record{a, b}, direction: make([]float64, p.Dim)}
		r.direction[0] = 1
		r.Instance = fmt.Sprintf("epoch %d, w = (%g, 0, ...), %s", epoch, w, text)
		all = append(all, r)
	}
	at := func(x, y float64) engine.Record {
		z := engine.Record{X: make([]float64, p.Dim), Y: y}
		z.X[0] = x * p.FeatureNorm
		return z
	}
	epochs := []int{1, p.Epochs}
	if p.Epochs == 1 {
		epochs = epochs[:1]
	}
	for _, epoch := range epochs {
		for _, w := range []float64{0, p.Radius} {
			add(epoch, w, "x of norm R_x with label 1 against label -1", at(1, 1), at(1, -1))
			if p.Gradual() && p.Method != local.PrestigeLabel { // x is public there
				add(epoch, w, "x of norm R_x against R_x/100, label 1", at(1, 1), at(0.01, 1))
			}
		}
	}
	return all
}

// draw draws the visits of runs of both records: what each shows.
func (r *Report) draw(ctx context.Context, runs, visits int, src *privacy.Source) (out [2][][]uint8, err error) {
	client := local.NewClient(r.plan, src)
	estimate := make([]float64, r.plan.Dim)
	for k, z := range r.records {
		out[k] = make([][]uint8, runs)
		shown := make([]uint8, runs*visits)
		for i := range out[k] {
			out[k][i] = shown[i*visits : (i+1)*visits]
			for v := range out[k][i] {
				if out[k][i][v], err = r.visit(client, z, estimate); err != nil {
					return out, err
				}
			}
			if i%256 == 0 && ctx.Err() != nil {
				return out, ctx.Err()
			}
		}
	}
	return out, nil
}

// visit is one visit: silent, or 1 and the rank of the chosen direction by its inner
// product with the attacked one, among all that the seed of the message offers. The user
// prefers a fixed number of the highest or of the lowest ranks. Ranks beyond maxRanks
// share a value.
func (r *Report) visit(client *local.Client, z engine.Record, estimate []float64) (uint8, error) {
	if r.plan.Method == local.PrestigeLabel {
		y, err := client.Label(z.Y)
		if y > 0 {
			return 1, err
		}
		return 2, err
	}
	m, err := client.Message(r.state, z)
	if err != nil || !m.Takes {
		return silent, err
	}
	inner := func(choice uint16) (float64, error) {
		clear(estimate)
		m := m
		m.Direction.Choice = choice
		err := r.plan.AddEstimate(estimate, m)
		dot := 0.0
		for i, v := range estimate {
			dot += v * r.direction[i]
		}
		return dot, err
	}
	chosen, err := inner(m.Direction.Choice)
	if err != nil {
		return silent, err
	}
	pairs := max(1, r.plan.Pairs)
	rank := 0
	for i := range pairs {
		v, err := inner(uint16(2 * i))
		if err != nil {
			return silent, err
		}
		if v < chosen {
			rank++
		}
		if -v < chosen {
			rank++
		}
	}
	if 2*pairs > maxRanks {
		rank = rank * maxRanks / (2 * pairs)
	}
	return uint8(1 + rank), nil
}

// attack sets the bound: one half of the runs gives the log-likelihood ratios of what a
// visit shows and the threshold for their sum, the other half the counts.
func (r *Report) attack(shown [2][][]uint8, confidence float64) {
	half := len(shown[0]) / 2
	alpha := 1 - confidence
	var ratio [1 + maxRanks]float64
	var counts [2][1 + maxRanks]float64
	for k := range shown {
		total := 0.0
		for _, run := range shown[k][:half] {
			for _, s := range run {
				counts[k][s]++
				total++
			}
		}
		r.Sends[k] = 1 - counts[k][silent]/total
	}
	for s := range ratio {
		ratio[s] = math.Log((counts[0][s] + 0.5) / (counts[1][s] + 0.5))
	}
	score := func(run []uint8) (sum float64) {
		for _, s := range run {
			sum += ratio[s]
		}
		return sum
	}
	var chosen, rest [2][]float64
	for k := range shown {
		for i, run := range shown[k] {
			if i < half {
				chosen[k] = append(chosen[k], score(run))
			} else {
				rest[k] = append(rest[k], score(run))
			}
		}
		slices.Sort(chosen[k])
	}
	// Both directions of both records, at every distinct score.
	best, cut, first, above := -1.0, 0.0, 0, true
	thresholds := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(chosen[0]), chosen[1]...))))
	for _, c := range thin(thresholds, 200) {
		for _, up := range []bool{true, false} {
			for k := range 2 {
				if e := audit.ClopperPearson(count(chosen, k, c, up), 0, alpha); e > best {
					best, cut, first, above = e, c, k, up
				}
			}
		}
	}
	r.Event = count(rest, first, cut, above)
	r.LowerBound = audit.ClopperPearson(r.Event, 0, alpha)
}

// count counts scores at or beyond a threshold; the record numbered likely is the one
// under which that should be frequent.
func count(scores [2][]float64, likely int, cut float64, above bool) audit.Event {
	n := [2]int{}
	for k := range scores {
		for _, s := range scores[k] {
			if above && s >= cut || !above && s <= cut {
				n[k]++
			}
		}
	}
	return audit.Event{Likely: n[likely], LikelyRuns: len(scores[likely]), Rare: n[1-likely], RareRuns: len(scores[1-likely])}
}

// thin keeps at most n values, evenly spaced.
func thin(v []float64, n int) []float64 {
	if len(v) <= n {
		return v
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = v[i*len(v)/n]
	}
	return out
}
