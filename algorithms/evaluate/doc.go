// Package evaluate releases how well a fixed model does on private records: the AUC, operating
// points of the ROC curve, the accuracy at thresholds, the mean loss over pairs of classes, and
// for classifiers the share of records that they get right (docs/theory.md#evaluation).
//
// A Plan says from public numbers what will be released, with which noise and guarantee. Its
// Job is carried out by algorithms.Execute, which charges it as a release of its own. Figures
// computes everything that is printed from the released numbers alone, with intervals that cover
// the sampling of the records and the noise.
//
// The model is public or was released before. Its score of a record must be a function of that
// record and of the model, bit for bit, as that of metrics.Scores is.
package evaluate
