package kernels

import (
	"embed"
	"strings"
)

//go:embed cuda/*.ptx
var compiled embed.FS

// PTX returns the compiled program of cuda/<name>.cu, or "" if there is no such program. The program is PTX 7.0
// for compute capability 8.0 and later (drivers from 450 on). If the name ends in "_sm90a", the program is PTX
// 8.0 for compute capability 9.0 only. The source file describes what each kernel computes. The script
// cuda/build.sh compiles all programs, and cuda/kernels.lock records the inputs of the compilation.
func PTX(name string) string {
	text, err := compiled.ReadFile("cuda/" + name + ".ptx")
	if err != nil {
		return ""
	}
	return string(text)
}

// PTXNames returns the names of all programs of PTX, in order.
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

// PhiMarker begins a line of PTX that must be replaced by code for phi'. The line "//@PHI out in;" has two
// 32-bit float registers and stands for out = phi'(in). The line "//@PHI out in reach least most;" also clamps
// in to [-reach, reach] and out to [least, most]. The marker itself is a PTX comment. If it is not replaced,
// the PTX reads a register that was never set.
const PhiMarker = "//@PHI"
