package pairs

import (
	"cmp"
	"fmt"

	"dyad/algorithms"
	"dyad/privacy"
)

// facts returns the facts that a plan reports.
func (p *Plan) facts() (f algorithms.Facts) {
	s := p.Spec
	terms, _, size := s.epoch()
	paper, what := "", ""
	listed := s.listed()
	name := f.Add("algorithm", p.Algorithm)
	if listed {
		paper = fmt.Sprintf(" (%s)", f.Add("paper", "[Li20]"))
	}
	mode := f.Add("mode", s.Mode.String())
	if listed {
		what = fmt.Sprintf(", noise on %s", f.Add("method", s.Method.String()))
		f.Add("unit", s.Unit.String())
	}
	f.Line("algorithm", "%s, %s mode%s%s", name, mode, paper, what)
	f.Add("individuals", s.Individuals)
	switch {
	case listed:
		f.Line("pairs", "%d pairs of %d individuals, kappa = %d, unit %s", f.Add("pairs", s.Pairs), s.Individuals,
			f.Add("kappa", s.Kappa), s.Unit)
	case s.AllPairs:
		f.Line("pairs", "all %d of %d records", terms, s.Individuals)
	default:
		f.Line("tuples", "%d tuples of %d records per epoch, from %d individuals; the ids and the seed %d "+
			"determine the tuples", terms, s.Tuple,
			s.Individuals, s.Seed)
	}
	f.Line("features", "d = %d, %s norm at most %g", f.Add("features", s.Dim), f.Add("norm", s.Norm().String()),
		f.Add("norm_bound", s.Bound))
	f.Add("rows", s.Rows)
	if s.Network != nil {
		f.Line("network", "%s, %d parameters; %s", f.Add("network", s.Network.Model.Network.Name()),
			f.Add("parameters", s.weights()), s.Network.Origin)
	}
	loss := f.Add("loss", s.Loss.Name())
	if name, value := s.Loss.Parameter(); name != "" {
		loss = fmt.Sprintf("%s with %s %g", loss, name, value)
		if !listed {
			f.Add(name, value)
		}
	}
	if s.Method == Moments {
		f.Line("metric", "%s; no loss is minimised; the margin is the root mean square distance of pairs; the "+
			"matrix has size %d x %d",
			loss, s.Rows, s.Dim)
		p.momentFacts(&f)
		return f
	}
	of := "pairs"
	if listed {
		if s.Sampling != Fixed {
			f.Add("sampling", s.Sampling.String())
		}
	} else {
		f.AddSome("tuple", s.Tuple)
		f.AddSome("tuple_seed", s.Seed)
		f.Add("terms_per_epoch", terms)
		if s.Tuple > 0 {
			of = "tuples"
		}
	}
	if s.Network != nil {
		f.Line("loss", "%s, of embeddings of dimension %d", loss, s.Rows)
	} else {
		f.Line("loss", "%s, matrix of %d x %d", loss, s.Rows, s.Dim)
	}
	f.Add("batch", size)
	f.Add("batches_per_epoch", p.Batches)
	f.Add("epochs", s.Epochs)
	clip := "not clipped"
	if s.Mode != algorithms.NonPrivate {
		clip = fmt.Sprintf("clipped to %g", f.AddSome("clip", s.Clip))
	}
	if listed && f.Add("shrinking_clip", s.Shrink) == true {
		clip += ", or to the bound at the public matrix if it is smaller"
	}
	joint := "joint"
	if s.Sampling == Poisson {
		joint = "one pair's"
		of += fmt.Sprintf(" on average; each pair enters a batch by a secret coin, with probability %.4g", s.rate())
	}
	each := "the gradient of each"
	if _, ok := s.softmax(); ok {
		each = "the gradient of each cosine"
	}
	f.Line("batches", "%s of %s of %d %s; %s is %s", counted(s.Epochs, "epoch", "epochs"),
		counted(p.Batches, "batch", "batches"), size, of, each, clip)
	eta, rule := f.Add("step_size", s.StepSize), any(s.StepRule())
	if listed || s.Network != nil {
		f.Add("step_sizes", rule)
	}
	f.Line("steps", "eta0 = %g, %s", eta, rule)
	if p.Noise() == nil {
		return f
	}
	// The sensitivity covers all releases, in units of the clip. For Poisson batches it is the move of one
	// release by one added pair.
	sensitivity, known := f.AddSome("sensitivity", p.Certificate().Sensitivity()),
		f.AddSome("epsilon_of_full_batches", p.KnownBatches())
	f.Line("noise", "%s on the mean gradient of every batch, in units of the clip; %s sensitivity %.6g%s",
		f.Add("noise", p.Noise().String()), joint, sensitivity, f.NoiseMultiplier(p.Noise(), p.Certificate()))
	if s.Sampling == Poisson {
		f.Line("", "the guarantee needs secret batches; full batches with this noise would have epsilon %s",
			privacy.FormatUp(known.(float64)))
	}
	if ratio := f.AddSome("noise_to_signal", p.NoiseToSignal()).(float64); ratio > 1 {
		more := "more records, smaller tuples"
		if listed {
			more = "more pairs in a batch"
		}
		f.Line("", "the noise of one batch is about %.2g times the largest gradient; use %s, fewer epochs, fewer "+
			"rows or a larger epsilon", ratio, more)
	}
	return f
}

// StepRule describes the step sizes in words.
func (s Spec) StepRule() string {
	if s.Method == Moments {
		return "one pass over the pairs"
	}
	if s.Network != nil {
		return cmp.Or(s.Network.Optimizer.String(), "plain, constant steps")
	}
	if s.PrintedSteps {
		return "eta0/sqrt(tau!) at batch number tau, as in the paper; after about nine batches, steps have no use"
	}
	return "eta0/sqrt(tau) at batch tau"
}

// objective describes all inputs that a resumed run must share with the charged run and that the events of the
// run do not contain.
func (s Spec) objective(batches int) string {
	if s.Method == Moments {
		return fmt.Sprintf("%s%+v, %d rows, moments of %d pairs, clip %v", s.Loss.Name(), s.Loss, s.Rows, s.Pairs, s.Clip)
	}
	what := fmt.Sprintf("%s%+v, %d rows, ", s.Loss.Name(), s.Loss, s.Rows)
	switch {
	case s.listed():
		if s.Network != nil {
			what += s.Network.identify() + ", "
		}
		return what + fmt.Sprintf("%s batches of %d of %d pairs, %d epochs, clip %g, shrinking %t, steps %g, as printed %t",
			s.Sampling, s.Batch, s.Pairs, s.Epochs, s.Clip, s.Shrink, s.StepSize, s.PrintedSteps)
	case s.AllPairs:
		what += "all pairs"
	default:
		what += fmt.Sprintf("tuples of %d, seed %d", s.Tuple, s.Seed)
		if s.Network != nil {
			what += ", " + s.Network.identify()
		}
	}
	return what + fmt.Sprintf(", %d batches of %d, %d epochs, clip %g, steps %g", batches, s.Batch, s.Epochs,
		s.Clip, s.StepSize)
}

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
