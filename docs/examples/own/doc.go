// Package own shows how a program of another module brings its own loss and its own
// algorithm: they are planned, charged, reported and resumed like those of the catalogue.
//
// The loss (Cosine) is not a function of one margin, so its pairs are evaluated one by one and
// every term is clipped to the Lipschitz constant that it states. The algorithm
// (NormalisedDescent) releases every gradient with noise and makes steps of equal length with
// them. The folder dyad has a program with all commands of Dyad, in which --algorithm normalised-descent and
// --length are known (command.With).
package own
