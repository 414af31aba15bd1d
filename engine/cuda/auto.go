package cuda

import (
	"fmt"
	"math"

	"dyad/engine"
)

// Auto is a backend that chooses between the GPU and the CPU for each problem. It plans a problem on the GPU
// if a measured time model predicts that the GPU is faster, and otherwise on the CPU. The choice is a
// function of public numbers and of the machine. The predicted time of the CPU is the estimate of the CPU's
// kernel. If the CPU backend has a method Pace, the estimate is multiplied by the result of Pace: the
// measured number of seconds per estimated second.
type Auto struct {
	CPU    engine.Backend
	GPU    Backend
	Models Models
}

// paced is a CPU backend that measures its own speed. Pace returns the measured number of seconds per estimated second.
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

// PlanMoments implements engine.Backend on the CPU. Moments need only a few passes over the records, and for a
// GPU the records would have to be copied first.
func (a Auto) PlanMoments(p engine.Problem) (engine.Kernel, error) { return a.CPU.PlanMoments(p) }

// Choose plans a problem. It returns the kernel, the name of the chosen device and the reason for the choice.
func (a Auto) Choose(p engine.Problem) (k engine.Kernel, device, why string, err error) {
	k, err = engine.Grouped{Backend: a.CPU}.Plan(p)
	gpu, why := a.faster(p, k)
	if gpu != nil {
		return gpu, a.GPU.Name(), why, nil
	}
	return k, a.CPU.Name(), why, err
}

// faster returns the kernel of the GPU if the time model predicts that it is faster than the CPU's kernel, and
// nil otherwise. In both cases it returns the reason.
func (a Auto) faster(p engine.Problem, onCPU engine.Kernel) (k engine.Kernel, why string) {
	name := a.GPU.Device.Info().Name
	if _, ok := p.Loss.(engine.Logistic); !ok || len(p.Groups) > 0 {
		return nil, name + " was measured only for the logistic loss without query groups"
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
	why = fmt.Sprintf("at n = %d and d = %d, %s takes about %.3g s (by measurements), and the CPU %.3g s", p.N, p.D,
		name, gpu, cpu)
	if gpu >= cpu {
		return nil, why
	}
	return k, why
}
