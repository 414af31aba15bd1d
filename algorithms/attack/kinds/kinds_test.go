package kinds

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"dyad/algorithms"
	"dyad/algorithms/attack"
	"dyad/algorithms/audit"
	"dyad/internal/must"
	"dyad/internal/sizes"
	"dyad/privacy"
)

// doubled is a session of a program that computes twice of what its certificates are for.
type doubled struct{ privacy.Session }

func (s doubled) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	for k := range x {
		x[k] *= 2
	}
	return s.Session.Release(x, c, m)
}

func (s doubled) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	for k := range scores {
		scores[k] *= 2
	}
	return s.Session.Choose(scores, c, epsilon)
}

func (s doubled) Best(x privacy.Selection, run func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	return s.Session.Best(x, func(i int, one privacy.Session) ([]float64, error) { return run(i, doubled{one}) })
}

// peeking is a session of a program that sees what it must not tell.
type peeking struct {
	privacy.Session
	saw *float64
}

func (s peeking) Release(x []float64, c privacy.Certificate, m privacy.Mechanism) error {
	for _, v := range x {
		*s.saw += v
	}
	return s.Session.Release(x, c, m)
}

func (s peeking) Choose(scores []int64, c privacy.Certificate, epsilon float64) (int, error) {
	*s.saw += float64(scores[0])
	return s.Session.Choose(scores, c, epsilon)
}

func (s peeking) Best(x privacy.Selection, run func(int, privacy.Session) ([]float64, error)) (int, []float64, error) {
	return s.Session.Best(x, func(i int, one privacy.Session) ([]float64, error) { return run(i, peeking{one, s.saw}) })
}

// worst is the largest share of a certificate that drawn neighbours move, and the first violation. Largest has it by the name of the release.
func worst(t *testing.T, pair Pair, tries int, seed uint64, largest map[string]float64, defect func(algorithms.Job) algorithms.Job) (share float64, found error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	for try := range tries {
		data, neighbour := must.Get2(pair(rng))(t)
		moves, err := attack.Jobs(context.Background(), defect(data), defect(neighbour), seed+uint64(try))
		if err != nil && !errors.As(err, new(attack.Violation)) {
			t.Fatal(err)
		}
		found = errors.Join(found, err)
		for _, m := range moves {
			share, largest[m.Name] = max(share, m.Share()), max(largest[m.Name], m.Share())
		}
	}
	return share, found
}

// computed is the error of a distance that is computed.
const computed = 1e-12

func sound(j algorithms.Job) algorithms.Job { return j }

// At all sizes, and wherever the record stands, replacing it moves whatever a kind of run releases, or chooses by, by no more than the certificate
// and by nearly all of it, and with the same releases the result has the same bits.
func TestKindsOfEverySize(t *testing.T) {
	for _, row := range Jobs() {
		t.Run(row.Name, func(t *testing.T) {
			sized := 0
			for i, c := range sizes.Cells(t, row.Work, 1) {
				if c.N < row.Least {
					continue
				}
				text, _, _, pair := row.Draw(rand.New(rand.NewPCG(uint64(i), 1)), Size{c.N, c.D, c.Unit})
				if _, _, err := pair(rand.New(rand.NewPCG(1, 1))); errors.Is(err, algorithms.ErrAssumption) {
					t.Logf("%v, %s: %v", c, text, err) // too few records for it
					continue
				}
				sized++
				largest := map[string]float64{}
				most, err := worst(t, pair, row.Tries, uint64(i), largest, sound)
				if err != nil || most > 1+computed || most < max(row.Reach, 0.25) {
					t.Errorf("%v, %s: a release moves by %v of its certificate, %v", c, text, most, err)
				}
				for name, share := range largest {
					if share < row.Reach && !slices.Contains(row.Loose, name) {
						t.Errorf("%v, %s: replacing a record moves the %s by %v of the certificate only", c, text, name, share)
					}
				}
			}
			if sized < 5 {
				t.Errorf("attacked at %d sizes", sized)
			}
		})
	}
}

// No audit of a kind of run refutes what its plan prints, and where few runs are enough they refute half of it.
func TestKindsAreAudited(t *testing.T) {
	sizes.NotShort(t, "slow")
	refuted := 0
	for _, row := range Jobs() {
		at, power := must.Get2(row.Audited(t.Context(), 3))(t)
		runs := min(power.Runs, sizes.Of(1000, 10_000))
		r := must.Get(audit.Run(t.Context(), at, audit.Options{Runs: runs, Seed: 3}))(t)
		if r.HalfRefuted {
			refuted++
		}
		if !r.Holds() || !r.HalfRefuted && runs == power.Runs {
			t.Errorf("%s, %s: audited epsilon %v of %v, moves %v, half refuted: %t", row.Name, at.Instance, r.LowerBound, r.Epsilon, r.Move, r.HalfRefuted)
		}
	}
	if refuted < 7 {
		t.Errorf("half of the claims of %d kinds are refuted", refuted)
	}
}

// Every kind of run that is a job is found out where its program computes twice of what its certificates are for, and where its result has
// something that was not released; as it is, it is the control.
func TestDefectsOfKindsAreFound(t *testing.T) {
	defects := map[string]func(algorithms.Job) algorithms.Job{
		"": sound,
		"doubled": func(j algorithms.Job) algorithms.Job {
			train := j.Train
			j.Train = func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
				return train(ctx, doubled{s}, t)
			}
			return j
		},
		"peeking": func(j algorithms.Job) algorithms.Job {
			train := j.Train
			j.Train = func(ctx context.Context, s privacy.Session, t algorithms.Tracker) ([]float64, error) {
				saw := 0.0
				out, err := train(ctx, peeking{s, &saw}, t)
				return append(out, saw), err
			}
			return j
		},
	}
	for _, row := range Jobs() {
		for name, defect := range defects {
			most, violation := 0.0, error(nil)
			for seed := range uint64(4) {
				_, _, _, pair := row.Draw(rand.New(rand.NewPCG(seed, 1)), Size{})
				share, err := worst(t, pair, 12, seed, map[string]float64{}, defect)
				most, violation = max(most, share), errors.Join(violation, err)
			}
			if refuted := most > 1+computed || violation != nil; refuted != (name != "") || name != "peeking" && most < 0.6 {
				t.Errorf("%s %s: moves %v, %v", row.Name, name, most, violation)
			}
		}
	}
}

// A row is attacked in exactly one way, and all rows have different names.
func TestRowsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Table() {
		ways := 0
		for _, has := range []bool{r.Draw != nil, r.Test != "", r.Refused != ""} {
			if has {
				ways++
			}
		}
		if ways != 1 || len(r.Commands) == 0 || names[r.Name] || r.Draw != nil && (r.Work == 0 || r.Tries == 0) {
			t.Errorf("%+v", r)
		}
		names[r.Name] = true
	}
}
