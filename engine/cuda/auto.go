package cuda

import (
	"crypto/sha256"
	"fmt"
	"math"

	"dyad/engine"
	"dyad/kernels"
)

// embeddedPTX are the hashes of the embedded programs.
func embeddedPTX() map[string]string {
	hashes := map[string]string{}
	for _, name := range kernels.PTXNames() {
		hashes[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(kernels.PTX(name))))
	}
	return hashes
}

// Auto is the backend that plans a problem on the GPU where a measured time model predicts
// that it is faster, and on the CPU otherwise. Its choice is a function of public numbers and
// of the machine: the CPU's time is its kernel's, times what a CPU with a method Pace measures
// of itself, the seconds that it takes for an estimated one.
type Auto struct {
	CPU    engine.Backend
	GPU    Backend
	Models Models
}

// paced is a CPU that measures how fast it is.
type paced interface {
	Pace(p engine.Problem) float64
}

// Name returns "auto".
func (Auto) Name() string { return "auto" }

// Plan implements engine.Backend.
func (a Auto) Plan(p engine.Problem) (engine.Kernel, error) {
	k, _, _, err := a.Choose(p)
	return k, err
}

// PlanMoments implements engine.Backend on the CPU: moments take a pass or a few over
// records that a GPU would have to be sent first.
func (a Auto) PlanMoments(p engine.Problem) (engine.Kernel, error) { return a.CPU.PlanMoments(p) }

// Choose plans a problem and says on which device and why.
func (a Auto) Choose(p engine.Problem) (k engine.Kernel, device, why string, err error) {
	k, err = engine.Grouped{Backend: a.CPU}.Plan(p)
	gpu, why := a.faster(p, k)
	if gpu != nil {
		return gpu, a.GPU.Name(), why, nil
	}
	return k, a.CPU.Name(), why, err
}

// faster is the kernel of the GPU if the model favours it over the CPU's, and why.
func (a Auto) faster(p engine.Problem, onCPU engine.Kernel) (k engine.Kernel, why string) {
	name := a.GPU.Device.Info().Name
	if _, ok := p.Loss.(engine.Logistic); !ok || len(p.Groups) > 0 {
		return nil, name + " has times for the logistic loss over pairs of all records only"
	}
	k, err := a.GPU.plan(p)
	if err != nil {
		return nil, err.Error()
	}
	w, method := k.(planned).work()
	m, ok := a.Models.Of(name, method)
	if !ok {
		return nil, fmt.Sprintf("%s has no measured times of %q in this version", name, method)
	}
	gpu, cpu := m.Seconds(w), math.Inf(1)
	if onCPU != nil {
		if cpu = onCPU.Bounds(engine.Query{Pairs: p.Pairs()}).Seconds; cpu == 0 {
			return nil, "the CPU's time is not known"
		}
		if b, ok := a.CPU.(paced); ok {
			cpu *= b.Pace(p)
		}
	}
	why = fmt.Sprintf("at n = %d and d = %d, %s takes %.3g s by its measured times, and the CPU %.3g s", p.N, p.D, name, gpu, cpu)
	if gpu >= cpu {
		return nil, why
	}
	return k, why
}
