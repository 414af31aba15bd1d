package kernels

import _ "embed"

// ScorePTX is cuda/score.cu compiled for compute capability 8.0 and later, as PTX 7.0
// (drivers from 450 on). It holds the kernels of score losses and the marker PhiMarker;
// what each kernel computes is stated in the source. cuda/build.sh makes it, and
// cuda/kernels.lock says from what.
//
//go:embed cuda/score.ptx
var ScorePTX string

// PhiMarker begins a line of PTX, "//@PHI out in;", with two 32-bit float registers,
// that must be replaced by code for out = phi'(in). As it stands it is a comment, so
// that PTX in which it was forgotten reads a register that was never set.
const PhiMarker = "//@PHI"
