// Package search privately chooses one of several settings, or of several released models: the candidate with
// the highest AUC on the records. Training, scoring and choosing are one charge. A Plan states the charge from
// public numbers (docs/theory.md#selection).
//
// There are three ways to choose, called roads:
//
//	compose          every setting is trained, and one is chosen by an epsilon-DP choice
//	random stopping  a secret number of runs of settings drawn at random; the best is released
//	noisy max        the candidates are public or released; only the choice costs
//
// For settings, a rule of public numbers selects the better one of the first two roads.
package search
