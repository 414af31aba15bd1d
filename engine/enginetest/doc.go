// Package enginetest is the conformance suite of engine.Backend: every backend
// computes the sum of pair gradients that engine.Loss defines, within the bound
// that its own Roundoff states.
package enginetest
