package pairs

import "dyad/algorithms"

// Info describes the learner for catalogues.
func Info() algorithms.Info {
	return algorithms.Info{
		Name:  "pairs",
		Title: "noisy stochastic gradient descent on labelled pairs: metrics and preferences (dyad pairs)",
		Paper: "[Li20] Algorithm 1, Theorems 1 and 2; Poisson batches: account.PoissonEvent",
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
batch softmax (--loss infonce, ntxent): q = sum C_ij g_ij/(|B| h), g_ij the gradient of a cosine clipped to h, C_ij = (softmax_ij - [positive])/t;
  one pair more moves q by (2/t) (m/(1 + m a) + m/(m + a))/|B|, m = pairs - 1, a = e^(-2/t)
unit individual: kappa is a degree cap; unit group: any kappa pairs; unit pair: kappa = 1
paper: rows clipped to h one by one, so terms of l1 norm d' h: d' epsilon`,
		Modes:     []algorithms.Mode{algorithms.Certified, algorithms.Paper, algorithms.NonPrivate},
		PureModes: []algorithms.Mode{algorithms.Certified, algorithms.Paper},
	}
}

// TuplesInfo describes the learner from classes for catalogues.
func TuplesInfo() algorithms.Info {
	return algorithms.Info{
		Name:  "tuples",
		Title: "noisy stochastic gradient descent on tuples of records with classes, or on all their pairs: metrics (dyad pairs --tuple, --all-pairs)",
		Paper: "no paper; losses of Schroff et al. 2015 (triplet), Sohn 2016 (N-pair), [Li20] equation 7 (contrastive)",
		Assumptions: []string{
			"ids and the number of individuals are public, and so are margin, temperature and the seed of the tuples",
			"features are scaled down to a public norm bound",
			"tuples are drawn by ids and the seed, and disjoint within an epoch",
		},
		Released: "the matrix W, or the parameters of the network, after every batch",
		Claim:    "none",
		Verdict:  "certified for one record, features and label: a tuple is clipped as a whole, so what classes make of it does not matter; all pairs are clipped one by one and an individual is in n - 1 of them",
		Maths: `q = (1/(|B| h)) sum over the tuples of the batch of G/max(1, ||G||/h), G = grad l(W; tuple),  W <- W - eta_t h (q + noise)
an individual is in at most one tuple of an epoch: its releases move together by at most 2/|B|; T epochs add up, for Gaussian noise as squares
all pairs: n - 1 of n(n-1)/2 terms move by 2 each, so q by 4/n
Gaussian: sigma = sqrt(T) (2/|B|)/mu(epsilon, delta); Laplace and K-norm: scale T (2/|B|)/epsilon, plus floating-point error
triplet: mean of max(0, D(a,p)^2 - D(a,n)^2 + m); npair: mean of log(1 + sum_n exp((D(a,p)^2 - D(a,n)^2)/(2 temperature)))
contrastive: mean of D^2/2 for pairs of one class and max(0, m - D)^2/2 for others
D: distance of W x and W x', or of f(x) and f(x') of a network (--model mlp), which is projected to balls and makes steps of Adam`,
		Modes:     []algorithms.Mode{algorithms.Certified, algorithms.NonPrivate},
		PureModes: []algorithms.Mode{algorithms.Certified},
	}
}
