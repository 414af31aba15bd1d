// Package search chooses one of several settings, or of several released models, privately: the
// candidate with the highest AUC on the records. Training, scoring and choosing are one charge,
// which a Plan states from public numbers (docs/theory.md#selection).
//
// There are three roads:
//
//	compose          every setting is trained, and one is chosen by an epsilon-DP choice
//	random stopping  a secret number of runs of settings drawn at random; the best is released
//	noisy max        the candidates are public or released; only the choice costs
//
// Settings take the cheaper one of the first two, by a rule of public numbers.
package search
