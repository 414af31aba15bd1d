// Package evaluate releases figures about the quality of a fixed model on private records
// (docs/theory.md#evaluation). The figures are the AUC, operating points of the ROC curve, the accuracy at
// thresholds and the mean loss over pairs of both classes. For classifiers it releases the share of correctly
// classified records.
//
// A Plan describes, from public numbers, the releases with their noise and guarantee. algorithms.Execute runs
// the plan's Job and charges it as a release of its own. Figures computes all printed results from the released
// numbers alone, with intervals that cover the sampling of the records and the noise.
//
// The model must be public or released before. Its score of a record must be a function of this record and of
// the model, bit for bit, like the score of metrics.Scores.
package evaluate
