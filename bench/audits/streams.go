package main

import (
	"errors"
	"fmt"

	"dyad/algorithms"
	"dyad/algorithms/algotest"
	"dyad/algorithms/audit"
	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/privacy"
)

// variant is an online algorithm with options.
type variant struct {
	a    algorithms.Stream
	o    algorithms.StreamOptions
	mode algorithms.Mode
	l2   float64
	loss engine.Loss
}

// streams are all online algorithms with their default options, and what else a
// certificate tells apart: the reading, batches, buffers, the paper's noise. The paper's
// steps begin after 16 L^2/alpha^2 records, so alpha is large there.
func streams() []variant {
	var all []variant
	for _, a := range algorithms.StreamCatalog() {
		if !a.Info().Supports(algorithms.Certified) {
			continue
		}
		l2 := 0.0
		if a.Info().NeedsL2 {
			l2 = 0.1
		}
		for _, loss := range []engine.Loss{audit.Linear{}, engine.Logistic{}, audit.LinearMetric{}, engine.MahalanobisLogistic{}} {
			all = append(all, variant{a: a, l2: l2, loss: loss})
		}
	}
	batches := algorithms.StreamOptions{Batch: 4, Buffer: 6}
	reservoir := algorithms.StreamOptions{Batch: 2, Buffer: 4, Reservoir: true}
	for _, loss := range []engine.Loss{audit.Linear{}, engine.Logistic{}} {
		all = append(all,
			variant{a: algorithms.OnPairC{Reading: algorithms.SecretState}, loss: loss},
			variant{a: algorithms.OnPairStrC{Reading: algorithms.SecretState}, l2: 0.1, loss: loss},
			variant{a: algorithms.OnPairC{}, o: batches, loss: loss},
			variant{a: algorithms.OnPairC{}, o: reservoir, loss: loss},
		)
	}
	kinked := engine.Score{Of: algotest.KinkLosses(0)[0]}
	for _, a := range []algorithms.Stream{algorithms.OnPairC{}, algorithms.DPFTRL{}} {
		all = append(all, variant{a: a, o: algorithms.StreamOptions{Batch: 8, BurnIn: 4}, loss: kinked})
	}
	return append(all,
		variant{a: algorithms.OnPairStrC{}, mode: algorithms.Paper, l2: 10, loss: engine.Logistic{}},
		variant{a: algorithms.OnPairC{PaperAlpha: 200}, mode: algorithms.Paper, loss: engine.Logistic{}},
	)
}

// streamRows audits one online algorithm at one budget.
func (t *table) streamRows(v variant, b privacy.Budget) error {
	v.o.Horizon = t.few
	radius := 1.0
	if _, strong := v.a.(algorithms.OnPairStrC); strong && v.loss == (audit.Linear{}) {
		radius = 1000 // a projection would take part of the move: its steps do not grow with the radius
	}
	if _, kinked := v.loss.(engine.Score); kinked {
		radius = 0.1
	}
	s, err := algorithms.NewStreamSpec(cpu.Backend{Workers: 1}, engine.Problem{D: t.d, Bounds: engine.UnitBounds(), Loss: v.loss, Radius: radius}, v.o, v.l2, b, v.mode)
	if err != nil {
		return err
	}
	p, err := v.a.Plan(s)
	if errors.Is(err, algorithms.ErrAssumption) {
		fmt.Printf("# %s, %s mode, %s loss, n = %d: %v\n", v.a.Info().Name, v.mode, v.loss.Name(), t.few, err)
		return nil
	}
	if err != nil {
		return err
	}
	seed := t.seedOf(v.a.Info().Name, v.mode, v.loss.Name(), b, p.Reading, v.o)
	target, err := audit.WorstStream(t.ctx, p, seed)
	if err != nil {
		return err
	}
	for _, o := range []audit.Options{
		{Access: audit.WhiteBox, Runs: t.streams}, {Access: audit.BlackBox, Runs: t.streams / 2},
	} {
		o.Seed = seed
		if err := t.audit(target, o, v.loss == (audit.Linear{}) && v.mode == algorithms.Certified && o.Access == audit.WhiteBox && !v.o.Reservoir); err != nil {
			return err
		}
	}
	return nil
}
