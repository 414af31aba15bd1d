package command

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"dyad/engine/cuda"
	"dyad/privacy"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

type doctorCmd struct {
	ledgerFlag
}

type doctorResult struct {
	Platform  string      `json:"platform"`
	Go        string      `json:"go"`
	Cores     int         `json:"cores"`
	CPU       []string    `json:"cpu_features"`
	Devices   []cuda.Info `json:"cuda_devices,omitempty"`
	CUDA      string      `json:"cuda"`
	Kernels   string      `json:"cuda_kernels,omitempty"`
	KernelsOK bool        `json:"cuda_kernels_ok"`
	Ledger    string      `json:"ledger"`
	LedgerOK  bool        `json:"ledger_ok"`
	LedgerErr string      `json:"ledger_error,omitempty"`
	Noise     string      `json:"randomness"`
	NoiseOK   bool        `json:"randomness_ok"`
}

// Run checks the machine.
func (c *doctorCmd) Run(a *app) error {
	r := doctorResult{Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Cores: runtime.GOMAXPROCS(0),
		CPU: cpuFeatures()}
	r.CUDA, r.Devices = cudaState()
	if len(r.Devices) > 0 {
		r.Kernels, r.KernelsOK = gpuCheck(0)
	}
	r.Ledger, r.LedgerOK, r.LedgerErr = c.ledgerState()
	r.Noise, r.NoiseOK = noiseState()

	var b strings.Builder
	mark := func(ok bool) string { return pick(ok, "ok", "FAIL") }
	fmt.Fprintf(&b, "platform    %s, %s, %d cores, %s\n", r.Platform, r.Go, r.Cores, strings.Join(r.CPU, " "))
	fmt.Fprintf(&b, "gpu         %s\n", r.CUDA)
	if r.Kernels != "" {
		fmt.Fprintf(&b, "gpu check   %s: %s\n", mark(r.KernelsOK), strings.ReplaceAll(r.Kernels, "\n", "\n            "))
	}
	fmt.Fprintf(&b, "randomness  %s: %s\n", mark(r.NoiseOK), r.Noise)
	fmt.Fprintf(&b, "ledger      %s: %s\n", mark(r.LedgerOK), r.Ledger)
	if r.LedgerErr != "" {
		fmt.Fprintf(&b, "            %s\n", r.LedgerErr)
	}
	return a.emitCheck(r, b.String(), r.LedgerOK && r.NoiseOK && (len(r.Devices) == 0 || r.KernelsOK))
}

func cpuFeatures() []string {
	var out []string
	for _, f := range []struct {
		name string
		has  bool
	}{{"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512F", cpu.X86.HasAVX512F}, {"AVX-512DQ", cpu.X86.HasAVX512DQ}, {"NEON", cpu.ARM64.HasASIMD}} {
		if f.has {
			out = append(out, f.name)
		}
	}
	return out
}

func cudaState() (string, []cuda.Info) {
	devices, err := cuda.Devices()
	if err != nil {
		return "none: " + strings.TrimPrefix(plain(err), "CUDA is not available: ") + "; runs use the CPU", nil
	}
	var names []string
	for _, v := range devices {
		names = append(names, fmt.Sprintf("cuda:%d %s (compute capability %d.%d, %d multiprocessors, %.0f GiB)", v.Index,
			v.Name, v.Major, v.Minor, v.Multiprocessors, float64(v.TotalMemory)/(1<<30)))
	}
	return strings.Join(names, ", "), devices
}

// ledgerState opens the ledger if it exists. It creates no file.
func (c *doctorCmd) ledgerState() (path string, ok bool, problem string) {
	path, err := c.path()
	if err != nil {
		return "", false, err.Error()
	}
	if !exists(path) {
		return path + " (does not exist yet; the first private run creates it)", true, ""
	}
	if _, err := ledger.Open(path); err != nil {
		return path, false, err.Error()
	}
	return path, true, ""
}

// noiseState releases zeros with every kind of noise and checks that the results differ from zero and are on
// the grid.
func noiseState() (string, bool) {
	source, err := privacy.NewSource()
	if err != nil {
		return err.Error(), false
	}
	certificate, err := privacy.GradientDescent{
		Curvature:    privacy.Curvature{PairDiameter: 1, Smoothness: 1, Convex: true, Diameter: 2},
		PairFraction: 0.01, Steps: 1, StepSize: 1,
	}.Certify()
	if err != nil {
		return err.Error(), false
	}
	const coordinates = 64
	for _, m := range []privacy.Mechanism{
		privacy.Gaussian{Sigma: 1}, privacy.Laplace{Scale: 1, Coordinates: coordinates}, privacy.KNorm{Scale: 1},
	} {
		session, err := privacy.NewPublicSession(source, []account.Event{m.Event(certificate)})
		if err != nil {
			return err.Error(), false
		}
		x := make([]float64, coordinates)
		if err := session.Release(x, certificate, m); err != nil {
			return err.Error(), false
		}
		moved := 0
		for _, v := range x {
			if k := v / m.GridSize(); k != float64(int64(k)) {
				return "a value with " + m.Name() + " noise is off its grid", false
			}
			if v != 0 {
				moved++
			}
		}
		if moved < coordinates/2 {
			return "the " + m.Name() + " noise is zero", false
		}
	}
	return "ChaCha8 with a key from the operating system; Gaussian, Laplace and K-norm noise is exact on a grid", true
}
