package account_test

import (
	"fmt"
	"math"
	"strings"

	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/local"
)

// goldenQuantity computes a quantity of the table. below, where the table has
// upper bounds only, is a proved lower bound of the exact value.
type goldenQuantity struct {
	compute func(goldenInputs) (float64, error)
	below   func(goldenInputs) (float64, error)
	upper   string // why the table's value is an upper bound although it says nothing
}

// accounted composes the events into a and reads it.
func accounted(a account.Accountant, read func(account.Accountant) float64, events ...account.Event) (float64, error) {
	for _, e := range events {
		if err := a.Compose(e); err != nil {
			return 0, err
		}
	}
	return read(a), nil
}

func epsilonAt(delta float64) func(account.Accountant) float64 {
	return func(a account.Accountant) float64 { return a.Epsilon(delta) }
}

func deltaAt(epsilon float64) func(account.Accountant) float64 {
	return func(a account.Accountant) float64 { return a.Delta(epsilon) }
}

// leastScale is the smallest scale in lo..hi that meets the budget, by bisection.
func leastScale(lo, hi float64, meets func(scale float64) (bool, error)) (float64, error) {
	for range 60 {
		mid := (lo + hi) / 2
		ok, err := meets(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			hi = mid
		} else {
			lo = mid
		}
		if hi-lo < 1e-8*hi {
			break
		}
	}
	return hi, nil
}

func (in goldenInputs) gaussian() account.Event {
	return account.Repeat(account.GaussianEvent{Sensitivity: in.sensitivity(), Sigma: in.noise()}, in.count())
}

// poisson is Gaussian or Laplace noise on Poisson batches. adjacency "add" and
// "remove" are directions of AddRemove, which both stand for.
func (in goldenInputs) poisson(law account.NoiseLaw) account.Event {
	relation := account.AddRemove
	for _, name := range []string{"adjacency", "neighboring"} {
		switch text := in.text(name); text {
		case "", "add", "remove", "add_remove":
		case "replace", "replace_one":
			relation = account.ReplaceOne
		default:
			in.require(false, "%s is %s, want add_remove or replace_one", name, text)
		}
	}
	return in.poissonUnder(relation, law)
}

func (in goldenInputs) poissonUnder(relation account.Relation, law account.NoiseLaw) account.Event {
	return account.Repeat(account.PoissonEvent{Event: law.Event(in.sensitivity(), in.noise()), Rate: in.rate(), Relation: relation}, in.count())
}

// rdp is an accountant with the orders that the row names.
func (in goldenInputs) rdp() (*account.RDP, error) {
	steps := func(n int, width float64) (orders []float64) {
		for i := 1; i <= n; i++ {
			orders = append(orders, 1+float64(i)*width)
		}
		return orders
	}
	a := new(account.RDP)
	switch orders := in.text("orders"); {
	case orders == "" || strings.HasPrefix(orders, "google default"):
	case strings.HasPrefix(orders, "opacus default"):
		a.Orders = steps(99, 0.1)
		for i := 12; i < 64; i++ {
			a.Orders = append(a.Orders, float64(i))
		}
	case orders == "0.001*i, i=1000..99999": // order 1 gives no epsilon
		a.Orders = steps(98_999, 0.001)
	default:
		return nil, fmt.Errorf("orders %q are not understood", orders)
	}
	return a, nil
}

// direct is a quantity that needs no accountant.
func direct(f func(goldenInputs) float64) goldenQuantity {
	return goldenQuantity{compute: func(in goldenInputs) (float64, error) { return f(in), nil }}
}

// read is a quantity that an accountant answers about one event.
func read(fresh func(goldenInputs) (account.Accountant, error), event func(goldenInputs) account.Event, answer func(goldenInputs) func(account.Accountant) float64) goldenQuantity {
	return goldenQuantity{compute: func(in goldenInputs) (float64, error) {
		a, err := fresh(in)
		if err != nil {
			return 0, err
		}
		return accounted(a, answer(in), event(in))
	}}
}

func epsilonOf(in goldenInputs) func(account.Accountant) float64 {
	return epsilonAt(in.number("delta"))
}
func deltaOf(in goldenInputs) func(account.Accountant) float64 { return deltaAt(in.number("epsilon")) }

func freshGDP(goldenInputs) (account.Accountant, error)    { return new(account.GDP), nil }
func freshPLD(goldenInputs) (account.Accountant, error)    { return new(account.PLD), nil }
func freshRDP(in goldenInputs) (account.Accountant, error) { return in.rdp() }
func gaussianOf(in goldenInputs) account.Event             { return in.gaussian() }
func poissonGaussian(in goldenInputs) account.Event        { return in.poisson(account.GaussianLaw) }

// classicalSigma is the noise of the classical Gaussian mechanism [Dwork and Roth 2014,
// Theorem A.1], a theorem for epsilon < 1 only and violated for large epsilon.
func classicalSigma(sensitivity, epsilon, delta float64) float64 {
	return sensitivity * math.Sqrt(2*math.Log(1.25/delta)) / epsilon
}

// zcdpRho is the largest rho for which rho-zCDP gives (epsilon, delta)-DP, by bisection.
func zcdpRho(epsilon, delta float64) float64 {
	lo, hi := 0.0, epsilon
	for range 80 {
		if mid := (lo + hi) / 2; account.ZCDPDelta(epsilon, mid) <= delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// calibrated is the sigma of CalibrateGaussian.
func calibrated(in goldenInputs) (float64, error) {
	c, err := privacy.MeanGradient{PairDiameter: in.sensitivity(), PairFraction: 1}.Certify()
	if err != nil {
		return 0, err
	}
	m, err := privacy.CalibrateGaussian(c, privacy.Budget{Epsilon: in.number("epsilon"), Delta: in.number("delta")}, in.count())
	return m.Sigma, err
}

func goldenQuantities() map[string]goldenQuantity {
	gdp := read(freshGDP, gaussianOf, epsilonOf)
	rdpPoisson := goldenQuantity{compute: rdpPoissonEpsilon}
	renyi := goldenQuantity{compute: func(in goldenInputs) (float64, error) {
		a := &account.RDP{Orders: []float64{in.number("order")}}
		return accounted(a, func(account.Accountant) float64 { _, d := a.Divergence(); return d[0] }, in.poisson(account.GaussianLaw))
	}}
	return map[string]goldenQuantity{
		"gaussian_delta":                     read(freshGDP, gaussianOf, deltaOf),
		"gaussian_epsilon_analytic_composed": gdp,
		"gaussian_sigma_analytic":            {compute: calibrated},
		"gaussian_sigma_analytic_composed":   {compute: calibrated},
		"gaussian_sigma_for_composition":     {compute: calibrated},
		"gaussian_variance_analytic": {compute: func(in goldenInputs) (float64, error) {
			sigma, err := calibrated(in)
			return sigma * sigma, err
		}},
		"gaussian_composition_delta": read(freshPLD, gaussianOf, deltaOf),
		"gaussian_sigma_classical": direct(func(in goldenInputs) float64 {
			return classicalSigma(in.sensitivity(), in.number("epsilon"), in.number("delta"))
		}),
		"gaussian_true_delta_at_classical_sigma": direct(func(in goldenInputs) float64 {
			epsilon := in.number("epsilon")
			return account.GDPDelta(epsilon, in.sensitivity()/classicalSigma(in.sensitivity(), epsilon, in.number("claimed_delta")))
		}),
		"ldp_duchi_l2_ball_magnitude": {compute: func(in goldenInputs) (float64, error) {
			c, err := local.Direction{Dim: int(in.number("d")), Bound: in.number("L"), Epsilon: in.number("epsilon")}.Channel()
			if err != nil {
				return 0, err
			}
			return c.Scale(), nil
		}},
		"gdp_tradeoff_tpr_at_fpr": direct(func(in goldenInputs) float64 { return account.GDPTradeoff(in.number("mu"), in.number("fpr")) }),

		"zcdp_to_delta":             direct(func(in goldenInputs) float64 { return account.ZCDPDelta(in.number("epsilon"), in.number("rho")) }),
		"zcdp_to_epsilon":           direct(func(in goldenInputs) float64 { return account.ZCDPEpsilon(in.number("rho"), in.number("delta")) }),
		"zcdp_rho_for_budget_tight": direct(func(in goldenInputs) float64 { return zcdpRho(in.number("epsilon"), in.number("delta")) }),
		// Rows say "exact": the accountant rounds up by less than the printed digits.
		"zcdp_rho_gaussian": {compute: func(in goldenInputs) (float64, error) {
			a := new(account.ZCDP)
			rho, err := accounted(a, func(account.Accountant) float64 { return a.Rho() }, in.gaussian())
			return math.Round(rho*1e12) / 1e12, err
		}},

		"rdp_poisson_subsampled_gaussian":             renyi,
		"rdp_poisson_subsampled_gaussian_upper_bound": renyi,
		"rdp_epsilon_poisson_subsampled_gaussian":     rdpPoisson,
		// The best order is 4.4, where the program that made the row adds up absolute
		// values of a signed series. With the signs, in 25-digit arithmetic, epsilon
		// is the lower bound here; without them it is the expected value.
		"rdp_epsilon_dpsgd_example": {
			compute: rdpPoisson.compute,
			below:   signedSeries,
			upper:   "signs of a series dropped at fractional orders",
		},
		"rdp_gaussian_epsilon":          read(freshRDP, gaussianOf, epsilonOf),
		"rdp_epsilon_gaussian_composed": read(freshRDP, gaussianOf, epsilonOf),
		"rdp_epsilon_dpsgd_statement": read(freshRDP, func(in goldenInputs) account.Event {
			// Every record once in each epoch, whatever the batches: no amplification.
			in.require(!in.flag("poisson"), "batches are by Poisson")
			in.require(in.number("batch_size") <= in.number("n"), "the batch is larger than the data")
			return account.Repeat(account.GaussianEvent{Sensitivity: 1, Sigma: in.noise()}, in.whole("epochs", in.number("epochs")))
		}, epsilonOf),
		"rdp_noise_multiplier":    {compute: opacusMultiplier},
		"rdp_randomized_response": direct(specialResponse),
		"rdp_epsilon_wor_subsampled_gaussian_replace_one": {
			compute: read(freshRDP, subset, epsilonOf).compute, below: poissonBelow,
		},

		"pld_epsilon_dpsgd_example": read(func(goldenInputs) (account.Accountant, error) { return &account.PLD{Interval: 1e-4}, nil }, poissonGaussian, epsilonOf),
		"pld_epsilon_poisson_subsampled_gaussian_replace_one": read(freshPLD, func(in goldenInputs) account.Event {
			in.poisson(account.GaussianLaw) // reads what the row says
			return in.poissonUnder(account.ReplaceOne, account.GaussianLaw)
		}, epsilonOf),
		"gaussian_sigma_poisson_subsampled":        {compute: singleSigma},
		"gaussian_sigma_poisson_subsampled_single": {compute: singleSigma},
		"gaussian_delta_poisson_subsampled_single": direct(singleDelta(account.GaussianLaw)),
		"laplace_delta_poisson_subsampled_single":  direct(singleDelta(account.LaplaceLaw)),
		"laplace_composition_epsilon_pld":          {compute: laplaceEpsilon},
		"laplace_composition_epsilon_pure":         {compute: laplacePure},
		"laplace_scale_for_composition":            {compute: laplaceScale},

		"optimal_composition_epsilon_KOV":               {compute: composedEpsilon},
		"per_step_epsilon_from_optimal_composition_KOV": {compute: composedPerStep},
		"pure_dp_per_step_epsilon_optimal_composition":  {compute: purePerStep},
		"pure_dp_advanced_composition_epsilon_DRV": {compute: aboveComposition("delta", func(e, delta float64, T int) float64 {
			return e*math.Sqrt(2*float64(T)*math.Log(1/delta)) + float64(T)*e*math.Expm1(e)
		})},
		"composition_epsilon_kairouz_heterogeneous": {compute: aboveComposition("slack_delta", kairouz)},

		"discrete_gaussian_pmf": direct(func(in goldenInputs) float64 {
			return DiscreteGaussian{Sigma: in.number("sigma")}.PMF(int(in.number("k")))
		}),
		"discrete_gaussian_variance": direct(func(in goldenInputs) float64 { return DiscreteGaussian{Sigma: in.number("sigma")}.Variance() }),
		"discrete_gaussian_delta": direct(func(in goldenInputs) float64 {
			return DiscreteGaussian{Sigma: in.number("sigma")}.Delta(in.number("epsilon"), int(in.sensitivity()))
		}),
		"discrete_gaussian_sigma": {compute: func(in goldenInputs) (float64, error) {
			return leastScale(0.1, 100, func(sigma float64) (bool, error) {
				return DiscreteGaussian{Sigma: sigma}.Delta(in.number("epsilon"), int(in.sensitivity())) <= in.number("delta"), nil
			})
		}},
		"discrete_laplace_delta": direct(func(in goldenInputs) float64 {
			return DiscreteLaplaceDelta(in.number("epsilon"), in.number("parameter_eps_per_unit"), int(in.sensitivity()))
		}),
		"l2_pure_dp_noise_radius_mean":     direct(func(in goldenInputs) float64 { return radius(in).Mean() }),
		"l2_pure_dp_noise_radius_variance": direct(func(in goldenInputs) float64 { return radius(in).Variance() }),
		"l2_pure_dp_noise_radius_quantile": direct(func(in goldenInputs) float64 { return radius(in).Quantile(in.number("p")) }),
	}
}

func radius(in goldenInputs) KNormRadius {
	return KNormRadius{Dim: int(in.number("d")), Scale: in.sensitivity() / in.number("epsilon")}
}

func subset(in goldenInputs) account.Event {
	in.text("note") // the noise multiplier is relative to the replace-one sensitivity
	return account.Repeat(account.WithoutReplacementEvent{Event: account.GaussianEvent{Sensitivity: 1, Sigma: in.number("sigma")}, Batch: int(in.number("batch")), Records: int(in.number("n"))}, in.count())
}

// poissonBelow is attained by sampling without replacement: if all other records
// contribute 0, the record in question contributes the sensitivity in one data set
// and 0 in the other, one direction is exactly that of Poisson batches under
// add/remove, of which the accountant is within 1 %.
func poissonBelow(in goldenInputs) (float64, error) {
	row := newGoldenInputs()
	for _, name := range []string{"sigma", "delta", "steps"} {
		row.set(name, in.number(name))
	}
	row.set("q", in.number("batch")/in.number("n"))
	v, err := read(freshPLD, poissonGaussian, epsilonOf).compute(row)
	return 0.99 * v, err
}

// opacusMultiplier repeats the search of Opacus, whose answer depends on where it
// stops: bisection of 0..20 until epsilon is at most 0.01 below the target.
func opacusMultiplier(in goldenInputs) (float64, error) {
	in.set("orders", "opacus default: 1+x/10 x=1..99, 12..63")
	target := in.number("epsilon")
	lo, hi, reached := 0.0, 20.0, math.Inf(-1)
	for target-reached > 0.01 {
		sigma := (lo + hi) / 2
		in.set("sigma", sigma)
		a, err := in.rdp()
		if err != nil {
			return 0, err
		}
		eps, err := accounted(a, epsilonAt(in.number("delta")), in.poisson(account.GaussianLaw))
		if err != nil {
			return 0, err
		}
		if eps < target {
			hi, reached = sigma, eps
		} else {
			lo = sigma
		}
	}
	return hi, nil
}

// specialResponse compares the answer of a record with that of a blank one, which
// is uniform; of the two directions the larger.
func specialResponse(in goldenInputs) float64 {
	k := in.whole("num_buckets", in.number("num_buckets"))
	in.require(in.text("neighboring") == "replace_special", "neighboring must be replace_special")
	p, q := make([]float64, k), make([]float64, k)
	for i := range p {
		p[i], q[i] = in.number("noise_parameter")/float64(k), 1/float64(k)
	}
	p[0] += 1 - in.number("noise_parameter")
	return max(account.FiniteRenyi(in.number("order"), p, q), account.FiniteRenyi(in.number("order"), q, p))
}

// singleDelta is one release in the direction that the row names.
func singleDelta(law account.NoiseLaw) func(goldenInputs) float64 {
	return func(in goldenInputs) float64 {
		return account.SingleDelta(in.poisson(law), in.number("epsilon"), in.text("adjacency") == "add")
	}
}

// singleSigma is the least noise for one release. Where the row names a direction
// it is the larger one, so that the accountant answers for both.
func singleSigma(in goldenInputs) (float64, error) {
	return leastScale(0.05, 50, func(sigma float64) (bool, error) {
		in.set("sigma", sigma)
		d, err := accounted(new(account.PLD), deltaAt(in.number("epsilon")), in.poisson(account.GaussianLaw))
		return d <= in.number("delta"), err
	})
}

// laplaceEpsilon also checks the bracket of another accountant.
func laplaceEpsilon(in goldenInputs) (float64, error) {
	e := account.Repeat(account.LaplaceEvent{Sensitivity: 1, Scale: in.number("scale_over_l1_sensitivity")}, in.count())
	v, err := accounted(new(account.PLD), epsilonAt(in.number("delta")), e)
	if err == nil && !(v >= in.number("prv_lower") && v <= in.number("prv_upper")) {
		err = fmt.Errorf("epsilon %v is outside the bracket %v..%v", v, in.number("prv_lower"), in.number("prv_upper"))
	}
	return v, err
}

func laplacePure(in goldenInputs) (float64, error) {
	var events []account.Event
	in.read["scales_over_sensitivity"] = true
	scales, _ := in.values["scales_over_sensitivity"].([]any)
	in.require(len(scales) > 0, "the parameter scales_over_sensitivity is missing, or no list")
	for _, s := range scales {
		v, ok := s.(float64)
		in.require(ok, "a scale is no number")
		events = append(events, account.LaplaceEvent{Sensitivity: 1, Scale: v})
	}
	return accounted(new(account.PLD), epsilonAt(in.number("delta")), events...)
}

func laplaceScale(in goldenInputs) (float64, error) {
	s := in.sensitivity()
	return leastScale(s, 100*s, func(scale float64) (bool, error) {
		e := account.Repeat(account.LaplaceEvent{Sensitivity: s, Scale: scale}, in.count())
		eps, err := accounted(new(account.PLD), epsilonAt(in.number("delta")), e)
		return eps <= in.number("epsilon"), err
	})
}
