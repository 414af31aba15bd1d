// Package localaudit attacks the messages of local learners. It draws many messages of two records and guesses
// from each message which record it came from. The guesses give a lower bound on the epsilon of the method
// (Clopper-Pearson, see algorithms/audit).
//
// The adversary is the server. It publishes any state, knows both records and sees whether a user sends a
// message, and the message. The attack chooses a state, two records and an event. It chooses them by
// messages that the bound does not use.
package localaudit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"dyad/algorithms/audit"
	"dyad/algorithms/local"
	"dyad/engine"
	"dyad/privacy"
)

// Options are the options of an attack.
type Options struct {
	// Runs is the number of runs on each of the two records, at least 100. Half of them choose the event.
	Runs int
	// Visits is the number of visits of a user in one run. All visits are at the same state. Visits must
	// be at least 1, and exactly 1 for prestige-label.
	Visits int
	// Confidence is the confidence of the bound, in (0, 1).
	Confidence float64
	Seed       uint64
}

// Report is the outcome of an attack.
type Report struct {
	Method   string `json:"method"`
	Loss     string `json:"loss"`
	Features int    `json:"features"`
	Network  string `json:"network,omitempty"` // the name of the network, "" for a linear model
	// Parameters is the number of parameters of a network.
	Parameters int    `json:"parameters,omitempty"`
	Instance   string `json:"instance"`
	Runs       int    `json:"runs"`
	Visits     int    `json:"visits"`
	Seed       uint64 `json:"seed"`
	// Claim is the attacked epsilon. It is the epsilon that a plan with this number of visits prints, or the
	// paper's epsilon if the plan has no guarantee.
	Claim      float64 `json:"claimed_epsilon"`
	Source     string  `json:"claimed_by"`
	Confidence float64 `json:"confidence"`
	LowerBound float64 `json:"audited_epsilon"`
	// Estimate is the logarithm of the ratio of the event's two frequencies, and StandardError its standard
	// error. Estimate is 0 if the event never happened for one of the records. Unlike a bound, it has no
	// safety margin, so it shows how near the attack comes to the claim.
	Estimate      float64      `json:"estimated_epsilon"`
	StandardError float64      `json:"standard_error"`
	Sends         [2]float64   `json:"sends"` // the frequency with which each record sends a gradient
	Guarantee     privacy.Kind `json:"guarantee"`
	Event         audit.Event  `json:"event"`
	// HalfRefuted reports the control: whether the same attack refutes a claim of half the size. If it is
	// false, the attack would miss a leak of twice the claim, and Holds is weak evidence.
	HalfRefuted bool         `json:"half_claim_refuted"`
	plan        *local.Plan  // the attacked plan
	state       *local.State // the published state
	records     [2]engine.Record
	// along holds the directions by which candidates are ranked. If the second direction is nil, the second
	// rank is the position of the pair in the message.
	along [2][]float64
}

// Holds reports whether the claim is not refuted.
func (r *Report) Holds() bool { return r.LowerBound <= r.Claim }

// A visit is recorded as either no message or two ranks of the chosen direction.
const (
	silent = 0
	// maxRanks and maxPlaces are the largest numbers of ranks that are distinguished.
	maxRanks  = 16
	maxPlaces = 2
	shows     = 1 + maxRanks*maxPlaces
)

// sender is a user's side: a local.Client, or in a test a client with a defect.
type sender interface {
	Message(*local.State, engine.Record) (local.Message, error)
	Label(y float64) (float64, error)
}

// Attack attacks plan p. It returns an error for methods without privacy, whose messages are exact.
func Attack(ctx context.Context, p *local.Plan, o Options) (*Report, error) {
	src := privacy.NewSeededSource(o.Seed)
	return attack(ctx, p, o, local.NewClient(p, src))
}

// attack attacks a sender. The sender draws from its own source.
func attack(ctx context.Context, p *local.Plan, o Options, client sender) (*Report, error) {
	if o.Runs < 100 || o.Visits < 1 || !(o.Confidence > 0 && o.Confidence < 1) {
		return nil, fmt.Errorf("localaudit: Runs is %d, Visits %d and Confidence %v; want Runs >= 100, Visits >= 1 "+
			"and Confidence in (0, 1)", o.Runs, o.Visits, o.Confidence)
	}
	if p.Method == local.SGD || p.Method == local.Curriculum {
		return nil, fmt.Errorf("localaudit: method %s sends exact gradients, so there is nothing to attack", p.Method)
	}
	if p.Method == local.PrestigeLabel && o.Visits != 1 {
		return nil, errors.New("localaudit: a user of prestige-label answers only once; attack one visit")
	}
	var best *Report
	tried, err := linearInstances(p), error(nil)
	if p.Network != nil {
		tried, err = networkInstances(p)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range tried {
		pilot, err := r.draw(ctx, max(100, o.Runs/10), o.Visits, client)
		if err != nil {
			return nil, err
		}
		r.attack(pilot, 0.95) // this choice makes no claim
		if best == nil || r.LowerBound > best.LowerBound {
			best = r
		}
	}
	best.Runs, best.Visits, best.Seed, best.Confidence = o.Runs, o.Visits, o.Seed, o.Confidence
	best.Method, best.Loss, best.Features, best.Guarantee = p.Method.String(), p.Loss.Name(), p.Dim, p.Guarantee.Kind
	if p.Network != nil {
		best.Network, best.Parameters = p.NetworkName(), p.Parameters
	}
	if best.Claim, best.Source, err = printed(p, o.Visits); err != nil {
		return nil, err
	}
	runs, err := best.draw(ctx, o.Runs, o.Visits, client)
	if err != nil {
		return nil, err
	}
	best.attack(runs, o.Confidence)
	best.HalfRefuted = best.LowerBound > best.Claim/2
	return best, nil
}

// printed returns the epsilon that a plan with this number of visits prints, and its source. The epsilon of the paper
// is for one visit, so it is multiplied here. The epsilon of a guarantee is taken from the plan, because an audit of
// a recomputed number would miss a guarantee that counts visits wrongly.
func printed(p *local.Plan, visits int) (epsilon float64, source string, err error) {
	if visits != p.Epochs {
		shorter := p.Protocol
		shorter.Epochs = visits
		if p, err = shorter.Plan(); err != nil {
			return 0, "", err
		}
	}
	if p.Guarantee.Kind == privacy.None {
		return privacy.DecimalTimes(visits, p.Guarantee.Claim.Epsilon), "the paper", nil
	}
	return p.Guarantee.Epsilon, "the guarantee", nil
}

// linearInstances returns the states and pairs of records that the adversary tries. One pair has opposite
// gradients. Another pair has one record in the curriculum and one outside of it, whose gradient is replaced by
// zero. Gradients are along the first axis or across it. The model has norm 0 or R, in the first or the last
// epoch.
func linearInstances(p *local.Plan) []*Report {
	var all []*Report
	add := func(epoch int, w float64, text string, a, b engine.Record) {
		st := p.Start()
		st.Epoch, st.Visits = epoch, int64(epoch-1)*int64(p.Users)
		st.W[0] = w
		r := &Report{plan: p, state: st, records: [2]engine.Record{a, b}, along: [2][]float64{axis(p.Dim, 0)}}
		r.Instance = fmt.Sprintf("epoch %d, w = (%g, 0, ...), %s", epoch, w, text)
		all = append(all, r)
	}
	for _, epoch := range slices.Compact([]int{1, p.Epochs}) {
		for _, w := range []float64{0, p.Radius} {
			add(epoch, w, "x of norm R_x with label 1 against label -1", along(p, 0, 1, 1), along(p, 0, 1, -1))
			if p.Gradual() && p.Method != local.PrestigeLabel { // x is public for that method
				add(epoch, w, "x of norm R_x against R_x/100, label 1", along(p, 0, 1, 1), along(p, 0, 0.01, 1))
				if p.Dim > 1 {
					add(epoch, w, "x = (0, ..., R_x) against x = (-R_x, 0, ...), label 1", along(p, p.Dim-1, 1, 1),
						along(p, 0, -1, 1))
					all[len(all)-1].along = [2][]float64{axis(p.Dim, p.Dim-1), axis(p.Dim, 0)}
				}
			}
		}
	}
	return all
}

// along returns a record along axis k, with its norm in units of the bound.
func along(p *local.Plan, k int, x, y float64) engine.Record {
	z := engine.Record{X: axis(p.Dim, k), Y: y}
	z.X[k] = x * p.FeatureNorm
	return z
}

// axis returns a unit vector.
func axis(d, i int) []float64 {
	v := make([]float64, d)
	v[i] = 1
	return v
}

// draw makes the visits of runs of both records and returns their codes.
func (r *Report) draw(ctx context.Context, runs, visits int, client sender) (out [2][][]uint8, err error) {
	estimate := make([]float64, r.plan.Parameters)
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

// visit makes one visit. It returns a code for silence, or for a message and two ranks of the chosen direction.
// The first rank is by the inner product with the first direction, among all candidates that the seed of the
// message offers. The second rank is by the size of the inner product of its pair with the second direction, or
// by the number of the pair. The user prefers a fixed number of the highest or of the lowest first ranks. The
// second ranks show whether the directions of a zero gradient are all equally likely. High ranks share one
// code.
func (r *Report) visit(client sender, z engine.Record, estimate []float64) (uint8, error) {
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
	coordinates := func(choice uint16) (first, second float64, err error) {
		clear(estimate)
		m := m
		m.Direction.Choice = choice
		err = r.plan.AddEstimate(estimate, m)
		if second = -float64(choice / 2); r.along[1] != nil {
			second = math.Abs(floats.Dot(estimate, r.along[1]))
		}
		return floats.Dot(estimate, r.along[0]), second, err
	}
	chosen, size, err := coordinates(m.Direction.Choice)
	if err != nil {
		return silent, err
	}
	pairs := max(1, r.plan.Pairs)
	rank, place := 0, 0
	for i := range pairs {
		v, s, err := coordinates(uint16(2 * i))
		if err != nil {
			return silent, err
		}
		if v < chosen {
			rank++
		}
		if -v < chosen {
			rank++
		}
		if s > size {
			place++
		}
	}
	if 2*pairs > maxRanks {
		rank = rank * maxRanks / (2 * pairs)
	}
	if pairs > maxPlaces {
		place = place * maxPlaces / pairs
	}
	return uint8(1 + rank*maxPlaces + place), nil
}

// attack sets the bound. One half of the runs gives the log-likelihood ratios of the codes of a visit and the
// threshold for their sum. The other half gives the counts.
func (r *Report) attack(shown [2][][]uint8, confidence float64) {
	half := len(shown[0]) / 2
	alpha := 1 - confidence
	var ratio [shows]float64
	var counts [2][shows]float64
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
	}
	r.Event = audit.BestGuess(chosen[0], chosen[1], len(rest[0]), 0, alpha).Count(rest[0], rest[1])
	r.LowerBound = audit.ClopperPearson(r.Event, 0, alpha)
	if e := r.Event; e.Likely > 0 && e.Rare > 0 {
		p, q := float64(e.Likely)/float64(e.LikelyRuns), float64(e.Rare)/float64(e.RareRuns)
		r.Estimate = math.Log(p / q)
		r.StandardError = math.Sqrt((1-p)/float64(e.Likely) + (1-q)/float64(e.Rare))
	}
}
