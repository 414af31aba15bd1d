package pairs

import "dyad/algorithms"

// Info describes the learner for catalogues.
func Info() algorithms.Info {
	return algorithms.Info{
		Name:  "pairs",
		Title: "noisy stochastic gradient descent on labelled pairs: metrics and preferences (dyad pairs)",
		Paper: "[Li20] Algorithm 1, Theorems 1 and 2; Poisson batches: privacy.PoissonEvent",
		Assumptions: []string{
			"who is paired with whom, the number of pairs and kappa are public, and kappa was fixed without looking at private pairs",
			"features are scaled down to a public norm bound",
			"batches are formed by pair numbers and disjoint within an epoch, or drawn by secret coins",
		},
		Released: "the matrix W after every batch",
		Claim:    "epsilon-differential pairwise privacy with Laplace noise of scale 2 kappa h T/(|B| epsilon) on every row; DPP-S with noise scaled by the largest gradient of the batch",
		Verdict:  "the sensitivity 2 kappa h/|B| is right; the claim is false by up to d', as every row gets the whole epsilon; DPP-S gives no guarantee; kappa of private pairs leaks. Certified: whole-matrix clip, public kappa, one budget, noise a function of public numbers",
		Maths: `q = (1/(|B| h_t)) sum over the batch of grad l(W; pair)/max(1, ||grad l(W; pair)||/h_t),  W <- W - eta_t h_t (q + noise)
h_t = h, or min(h, bound of gradients at W) with --shrink: a function of released numbers
kappa replaced pairs move the q of an epoch together by at most 2 kappa/|B| in the norm of the clip (l1 for Laplace, l2 else); T epochs add up, for Gaussian noise as squares
Poisson batches: every pair with probability |B|/m, by secret coins; q divides by the public |B|; a step is dominated by
  sum_j P(Binom(kappa, |B|/m) = j) N(j/|B|, sigma^2) against its mirror image, composed over all steps by privacy loss distributions
Gaussian: sigma = sqrt(T) (2 kappa/|B|)/mu(epsilon, delta); Laplace and K-norm: scale T (2 kappa/|B|)/epsilon, plus floating-point error
unit individual: kappa is a degree cap; unit group: any kappa pairs; unit pair: kappa = 1
paper: rows clipped to h one by one, so terms of l1 norm d' h: d' epsilon`,
		Modes:     []algorithms.Mode{algorithms.Certified, algorithms.Paper, algorithms.NonPrivate},
		PureModes: []algorithms.Mode{algorithms.Certified, algorithms.Paper},
	}
}
