// Package audit attacks the algorithms (docs/theory.md#audits). An audit runs an algorithm many times on two
// neighbouring data sets and guesses from the releases of each run which data set was used. The success of the
// guesses gives a lower bound on epsilon that holds with a stated confidence. A lower bound above the claimed
// epsilon refutes the claim. A lower bound below it refutes nothing and proves nothing.
//
// # Adversaries
//
// WhiteBox (fast): the adversary knows both data sets, the program and all coins except the noise, such as
// orders and random starts. It sees every released vector. It scores a run by the log-likelihood ratio of its
// releases, which is the best possible score (Neyman and Pearson), and by a direction that it learns. Most
// guarantees of this project hold against this adversary because they are proved for every value of the coins.
// Gradients are computed once and looked up afterwards, with the same bits.
//
// Guarantees of algorithms that keep batches or iterates secret do not hold against WhiteBox: known batches
// undo amplification, and known noise of hidden steps undoes convergence. BlackBox attacks these algorithms.
//
// BlackBox: every run is a run of the whole algorithm through algorithms.Run, with fresh coins and fresh noise.
// The adversary does not know the coins.
//
// Training on pairs and tuples is attacked as a Program; WorstPairs and WorstTuples choose its data sets. Local
// noise on features and labels makes data private before any session releases them. Such data are scored as
// they are drawn.
//
// # Seeded bugs
//
// Tests seed the bugs that an audit or a charge must find, and fail if a bug is missed:
//
//   - a quarter of the noise, and half of the sensitivity: TestUnderNoisedBuildIsCaught, and for streams
//     TestUnderNoisedStreamIsCaught; half of pure noise: TestPureNoiseIsAuditedTightly;
//   - slopes that depend on other records: TestKinksThroughSigmoidHold;
//   - noise that is used twice: TestReusedNoiseIsCaught, and after a resume
//     TestReusedNoiseOnResumeIsCaught in package algorithms;
//   - an uncharged run: TestUnchargedRunIsCaught in package algorithms;
//   - noise drawn in float64: TestFloatNoiseIsOffGrid;
//   - noise for fewer pairs than change together, a degree without a cap, kappa reduced to 1 with
//     Poisson batches: TestSeededDefectsOfPairsAreCaught in package pairs; the row-wise clip
//     of a paper: TestThePrintedClaimIsRefuted there;
//   - pairs clipped instead of tuples, an individual in two tuples, a clip too large, tuples
//     drawn by class, all pairs counted as n/2 pairs or as one, noise for another epsilon:
//     TestSeededDefectsOfTuplesAreCaught there;
//   - for clusters, figures, thresholds, comparisons and choices: a program that releases twice the certified vector,
//     and a program whose result depends on more than its releases: TestDefectsOfKindsAreFound in algorithms/attack/kinds;
//   - twice the epsilon spent on features and labels: TestAuditOfPerturbedInputs in package pairs.
//
// # What a bound means
//
// The attack (score, direction, threshold) is chosen on one half of the runs. The bound is computed from the
// other half, which was not used for the choice. Each method gets its share of 1 - confidence, so all bounds of
// a report hold together with the stated confidence. The theorems are at ClopperPearson, gaussianModel,
// scaleModel and OneRunEpsilon. The comment of looks proves that the largest bound so far holds whenever an
// audit is stopped.
//
// A bound below a claim is weak evidence if the same attack would not have refuted half of the claim;
// Report.HalfRefuted reports this control. Report.Tightness measures how close the attacked data sets come to
// the worst data sets, whatever the number of runs.
//
//	[SNJ23] Steinke, Nasr, Jagielski. Privacy Auditing with One (1) Training Run.
//	        NeurIPS 2023, arXiv 2305.08846.
//	[MMC24] Mahloujifar, Melis, Chaudhuri. Auditing f-Differential Privacy in One
//	        Run. 2024, arXiv 2410.22235.
package audit
