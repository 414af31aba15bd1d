//go:build linux && !android && (amd64 || arm64) && !static

package driver

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// findGraphs looks up the functions of graphs. If one of them is missing, findGraphs sets all of them to 0.
func (l *library) findGraphs(handle uintptr) {
	type symbol struct {
		name string
		at   *uintptr
	}
	all := []symbol{
		{"cuStreamBeginCapture_v2", &l.cuStreamBeginCapture},
		{"cuStreamEndCapture", &l.cuStreamEndCapture},
		{"cuGraphInstantiateWithFlags", &l.cuGraphInstantiateWithFlags},
		{"cuGraphLaunch", &l.cuGraphLaunch},
		{"cuGraphDestroy", &l.cuGraphDestroy},
		{"cuGraphExecDestroy", &l.cuGraphExecDestroy},
	}
	for _, s := range all {
		var err error
		if *s.at, err = purego.Dlsym(handle, s.name); err != nil {
			for _, s := range all {
				*s.at = 0
			}
			return
		}
	}
}

// captureThreadLocal is a mode of cuStreamBeginCapture. In this mode, calls of other threads, such as the
// threads of other GPUs, do not disturb the capture.
const captureThreadLocal = 1

// BeginCapture implements Context.
func (c *primary) BeginCapture(s Stream) error {
	if c.cuStreamBeginCapture == 0 {
		return fmt.Errorf("driver: this NVIDIA driver has no graphs: %w", errors.ErrUnsupported)
	}
	return named("cuStreamBeginCapture", call(c.cuStreamBeginCapture, uintptr(s), captureThreadLocal))
}

// EndCapture implements Context.
func (c *primary) EndCapture(s Stream) (Graph, error) {
	var steps uintptr
	if err := call(c.cuStreamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&steps))); err != nil {
		return 0, fmt.Errorf("driver: cuStreamEndCapture: %w", err)
	}
	var g Graph
	err := named("cuGraphInstantiateWithFlags", call(c.cuGraphInstantiateWithFlags, uintptr(unsafe.Pointer(&g)), steps, 0))
	if freed := named("cuGraphDestroy", call(c.cuGraphDestroy, steps)); err == nil && freed != nil {
		return 0, errors.Join(freed, c.CloseGraph(g))
	}
	return g, err
}

// LaunchGraph implements Context.
func (c *primary) LaunchGraph(g Graph, s Stream) error {
	return named("cuGraphLaunch", call(c.cuGraphLaunch, uintptr(g), uintptr(s)))
}

// CloseGraph implements Context.
func (c *primary) CloseGraph(g Graph) error {
	return named("cuGraphExecDestroy", call(c.cuGraphExecDestroy, uintptr(g)))
}
