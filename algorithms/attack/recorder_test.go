package attack

import (
	"errors"
	"testing"

	"dyad/internal/must"
	"dyad/privacy"
	"dyad/privacy/account"
)

// A run that asks for other things on the neighbour, or that returns what it did not release, is found; one that does neither is not.
func TestRunsThatDifferAreFound(t *testing.T) {
	c := must.Get(privacy.ScoreSum{Levels: 1, Name: "sum"}.Certify())(t)
	noise := privacy.Gaussian{Sigma: 1}
	events := []account.Event{noise.Event(c), noise.Event(c), privacy.Gaussian{Sigma: 2}.Event(c)}
	release := func(s privacy.Session, x float64, m privacy.Mechanism) ([]float64, error) {
		w := []float64{x}
		return w, s.Release(w, c, m)
	}
	for name, run := range map[string]func(side int, s privacy.Session) ([]float64, error){
		"": func(side int, s privacy.Session) ([]float64, error) {
			s.Permutation(3)
			return release(s, float64(side), noise)
		},
		"more": func(side int, s privacy.Session) (w []float64, err error) {
			for range 1 + side {
				if w, err = release(s, 0, noise); err != nil {
					return nil, err
				}
			}
			return w, nil
		},
		"fewer": func(side int, s privacy.Session) ([]float64, error) {
			if side == 0 {
				s.UniformBall(make([]float64, 2), 1)
			}
			return nil, nil
		},
		"coins": func(side int, s privacy.Session) ([]float64, error) { s.Permutation(3 + side); return nil, nil },
		"batch": func(side int, s privacy.Session) ([]float64, error) { return nil, s.Sample(make([]int32, 4+side), 2) },
		"noise": func(side int, s privacy.Session) ([]float64, error) {
			return release(s, 0, privacy.Gaussian{Sigma: float64(1 + side)})
		},
		"result": func(side int, s privacy.Session) ([]float64, error) { return []float64{float64(side)}, nil },
	} {
		session := must.Get(privacy.NewPublicSession(privacy.NewSeededSource(1), events))(t)
		if _, _, err := Both(session, run); errors.As(err, new(Violation)) != (name != "") || name == "" && err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
