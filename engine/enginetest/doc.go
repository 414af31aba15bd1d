// Package enginetest is the conformance suite of engine.Backend. Every backend must compute the sum of pair
// gradients that engine.Loss defines, within the bound that its own Roundoff states.
package enginetest
