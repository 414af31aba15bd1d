// Package own shows how a program in another module adds its own loss and its own
// algorithm. Runs with them are planned, charged, reported and resumed like runs with
// losses and algorithms of the catalogue.
//
// The loss (Cosine) is not a function of one margin, so its pairs are evaluated one by one. The gradient of
// every pair is clipped to the Lipschitz constant that the loss states. The algorithm (NormalisedDescent)
// releases every gradient with noise and makes steps of equal length with them. The folder dyad has a
// program with all commands of Dyad that also accepts --algorithm normalised-descent and --length
// (command.With).
package own
