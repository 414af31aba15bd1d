// Package audit attacks the algorithms (docs/theory.md#audits): it runs them many times on two
// neighbouring data sets, guesses from what they release which of the two it was,
// and turns the success of the guesses into a lower bound on epsilon that holds
// with a stated confidence. A lower bound above the claimed epsilon refutes the
// claim; a lower bound below it refutes nothing and proves nothing.
//
// # Who attacks
//
// WhiteBox (fast): the adversary knows both data sets, all coins except the noise
// (order, random starts) and the program. It sees every released vector and scores
// a run by the log-likelihood ratio of its releases, which no other score beats
// (Neyman and Pearson), and by a direction that it learns. The guarantees of this
// project hold against it: they are proved for every value of the coins. Gradients
// are computed once and looked up afterwards, with the same bits.
//
// Not so those of algorithms that keep batches or iterates secret: known batches undo
// amplification, known noises of hidden steps undo convergence. They are attacked by
// BlackBox.
//
// BlackBox: the whole algorithm through algorithms.Run, coins and noise fresh in
// every run. The adversary does not know the coins.
//
// Training on pairs and tuples is attacked as a Program: WorstPairs and WorstTuples choose
// its data sets. Data that are private before a release (noise on features and labels)
// have no releases of a session and are scored as they are drawn.
//
// # Seeded bugs
//
// Tests seed the bugs that an audit or a charge is there to find, and fail if one is
// missed:
//
//   - noise/4 and sensitivity halved: TestUnderNoisedBuildIsCaught, for streams
//     TestUnderNoisedStreamIsCaught, and half of pure noise TestPureNoiseIsAuditedTightly;
//   - slopes that depend on other records: TestKinksThroughSigmoidHold;
//   - noise used twice: TestReusedNoiseIsCaught, and on resume
//     TestReusedNoiseOnResumeIsCaught in package algorithms;
//   - an uncharged run: TestUnchargedRunIsCaught here and in package algorithms;
//   - noise of float64: TestFloatNoiseIsOffGrid;
//   - noise for fewer pairs than change together, an uncapped degree, kappa dropped to 1 by
//     Poisson batches: TestSeededDefectsOfPairsAreCaught in package pairs; the row-wise clip
//     of a paper: TestThePrintedClaimIsRefuted there;
//   - pairs clipped instead of tuples, an individual in two tuples, a clip too large, tuples
//     drawn by class, all pairs as n/2 or as one, noise for another epsilon:
//     TestSeededDefectsOfTuplesAreCaught there;
//   - of clusters, figures, thresholds, comparisons and choices: a program that computes twice of what its certificates are for, and one that tells
//     what it did not release: TestDefectsOfKindsAreFound in algorithms/attack/kinds;
//   - twice the epsilon spent on features and labels: TestAuditOfPerturbedInputs in package pairs.
//
// # What a bound means
//
// The attack (score, direction, threshold) is chosen on one half of the runs, and
// the bound computed from the other half, which the choice has not seen. Each
// method gets its share of 1 - confidence, so that all bounds of a report hold
// together with the stated confidence. See ClopperPearson, gaussianModel, scaleModel and
// OneRunEpsilon for the theorems, and looks for why the largest bound so far holds whenever
// an audit is stopped.
//
// A bound that stays below a claim says little if it would have stayed below half of the
// claim too: Report.HalfRefuted. Report.Tightness measures how close the attacked data
// sets come to the worst ones, whatever the number of runs.
//
//	[SNJ23] Steinke, Nasr, Jagielski. Privacy Auditing with One (1) Training Run.
//	        NeurIPS 2023, arXiv 2305.08846.
//	[MMC24] Mahloujifar, Melis, Chaudhuri. Auditing f-Differential Privacy in One
//	        Run. 2024, arXiv 2410.22235.
package audit
