// Package enginetest is the conformance suite of engine.Backend. Every backend must compute the sum of the
// pair gradients defined by engine.Loss, with an error within the bound of its own Roundoff.
package enginetest
