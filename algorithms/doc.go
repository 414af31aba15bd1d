// Package algorithms trains pairwise models. It is the only package that uses both the engine, which sees
// records and has no randomness, and privacy, which has all randomness and sees no records.
//
// Run takes these steps:
//
//	Spec (public numbers) -> Algorithm.Plan -> Plan
//	Ledger.Begin(plan)        charged durably, before any record is evaluated
//	Kernel.Bind(records)      -> Evaluator
//	Algorithm.Train           iterates; releases through the Session only
//
// # Papers
//
//	[BBG18]   Balle, Barthe, Gaboardi. Privacy Amplification by Subsampling: Tight
//	          Analyses via Couplings and Divergences. NeurIPS 2018.
//	[Bok24]   Bok, Su, Altschuler. Shifted Interpolation for Differential Privacy.
//	          ICML 2024.
//	[Gao13]   Gao, Jin, Zhu, Zhou. One-Pass AUC Optimization. ICML 2013.
//	[Huai20]  Huai, Wang, Miao, Xu, Zhang. Pairwise Learning with Differential
//	          Privacy Guarantees. AAAI 2020.
//	[Kang21]  Kang, Liu, Li, Wang. Towards Sharper Utility Bounds for
//	          Differentially Private Pairwise Learning. 2021.
//	[FHU23]   Fichtenberger, Henzinger, Upadhyay. Constant Matters: Fine-grained
//	          Error Bound on Differentially Private Continual Observation.
//	          ICML 2023.
//	[Kairouz21] Kairouz, McMahan, Song, Thakkar, Thakurta, Xu. Practical and
//	          Private (Deep) Learning without Sampling or Shuffling. ICML 2021.
//	[Kar13]   Kar, Sriperumbudur, Jain, Karnick. On the Generalization Ability of
//	          Online Learning Algorithms for Pairwise Loss Functions. ICML 2013.
//	[Li92]    Li. On Principal Hessian Directions for Data Visualization and Dimension
//	          Reduction: Another Application of Stein's Lemma. JASA 87, 1992.
//	[Trivedi14] Trivedi, Wang, Kpotufe, Shakhnarovich. A Consistent Estimator of the Expected
//	          Gradient Outerproduct. UAI 2014.
//	[Wang18]  Wang. Revisiting Differentially Private Linear Regression: Optimal and
//	          Adaptive Prediction and Estimation in Unbounded Domain. UAI 2018.
//	[Xue21]   Xue, Yang, Huai, Wang. Differentially Private Pairwise Learning
//	          Revisited. IJCAI 2021.
//
// docs/theory.md has the theorems with their proofs, and compares them with the statements of these papers.
//
// # Modes
//
// Certified mode (the default) scales noise by a proved certificate. Paper mode uses the paper's formula and
// schedule literally. It refuses to run if the paper's own condition fails, and it reports the guarantee that
// this noise provably gives next to the paper's claim. Non-private mode is the baseline; all its reports state
// that it is not private.
package algorithms
