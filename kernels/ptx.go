package kernels

import (
	"embed"
	"strings"
)

//go:embed cuda/*.ptx
var compiled embed.FS

// PTX is cuda/<name>.cu compiled, "" if there is no such file. It is for compute
// capability 8.0 and later, as PTX 7.0 (drivers from 450 on), or if the name ends in
// "_sm90a" for 9.0 alone, as PTX 8.0. What each kernel computes is stated in the source.
// cuda/build.sh makes all of them, and cuda/kernels.lock says from what.
func PTX(name string) string {
	text, err := compiled.ReadFile("cuda/" + name + ".ptx")
	if err != nil {
		return ""
	}
	return string(text)
}

// PTXNames are the names that PTX knows, in order.
func PTXNames() []string {
	files, err := compiled.ReadDir("cuda")
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".ptx"))
	}
	return names
}

// PhiMarker begins a line of PTX, "//@PHI out in;", with two 32-bit float registers,
// that must be replaced by code for out = phi'(in), or "//@PHI out in reach least most;",
// with in clamped to [-reach, reach] and out to [least, most]. As it stands it is a comment, so
// that PTX in which it was forgotten reads a register that was never set.
const PhiMarker = "//@PHI"
