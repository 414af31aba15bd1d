package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/engine/cpu"
	"dyad/engine/embedding"
	"dyad/internal/must"
)

// packageFolder is where the tests start: some change the working folder.
var packageFolder, _ = os.Getwd()

// fakeCUDA compiles the fake driver and makes it the one that is opened.
func fakeCUDA(t *testing.T, defines ...string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs gcc on Linux")
	}
	source := filepath.Join(packageFolder, "../../engine/cuda/driver/testdata/fakecuda.c")
	library := filepath.Join(t.TempDir(), "libcuda.so.1")
	args := append([]string{"-shared", "-fPIC", "-pthread", "-w", "-o", library}, defines...)
	if out, err := exec.Command(gcc, append(args, source)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	t.Setenv("DYAD_LIBCUDA", library)
}

// TestDeviceAbsent: a GPU that was asked for and is not there is exit code 3 with the
// reason, and auto goes on with the CPU and says so.
func TestDeviceAbsent(t *testing.T) {
	t.Setenv("DYAD_LIBCUDA", "/nonexistent/libcuda.so.1")
	dir := t.TempDir()
	for _, args := range [][]string{{"train"}, {"plan", "-n", "500", "-d", "3"}} {
		ran(t, dir, append(args, "--device", "cuda:0")...).exits(exitResource).warns("/nonexistent/libcuda.so.1", "dyad doctor")
		auto := ran(t, dir, args...).exits(exitOK).lacks("CUDA")
		same := ran(t, dir, append(args, "--device", "cpu")...).exits(exitOK)
		same.want(!strings.Contains(same.errs, "device ") && (args[0] != "plan" || auto.out == same.out), "what auto prints")
	}
	for _, bad := range []string{"gpu", "cuda", "cuda:", "cuda:-1", "cuda:x"} {
		ends(t, dir, exitInput, "auto, cpu or cuda:N", "train", "--device", bad)
	}
	ran(t, dir, "devices").exits(exitOK).prints("cpu", "no NVIDIA driver").lacks("cuda:")
}

// TestPlanForAnAbsentGPU: a plan for a named product has a certificate, the memory and the time,
// marked as predicted, where there is no GPU; what runs refuses the name.
func TestPlanForAnAbsentGPU(t *testing.T) {
	t.Setenv("DYAD_LIBCUDA", "/nonexistent/libcuda.so.1")
	dir := t.TempDir()
	plan := []string{"plan", "-n", "1000000", "-d", "20", "--device", "cuda:h200"}
	ran(t, dir, plan...).exits(exitOK).prints("guarantee ", "gpu         NVIDIA H200 (cuda:h200)",
		"gpu memory  790 MB of 150 GB", "for a pass over the records", "passes ", "predicted from instruction counts",
		"plan only ").lacks("one core")
	ran(t, dir, append(plan, "--algorithm", "gradient-perturbation")...).prints("s for a sum of gradients")
	ran(t, dir, append(plan, "--model", "mlp")...).prints("one backward pass per record on a GPU", "gpu memory ")
	ran(t, dir, append(plan, "--model", "mlp", "--set", "hidden=9,9", "--task",
		"metric")...).prints("one backward pass per record on a GPU")
	var r struct {
		Seconds  float64 `json:"gpu_seconds_per_sum"`
		Memory   uint64  `json:"gpu_memory_bytes"`
		Measured *bool   `json:"gpu_seconds_measured"`
	}
	ran(t, dir, append(plan, "--json")...).exits(exitOK).decode(&r)
	if !(r.Seconds > 0) || r.Memory < 160e6 || r.Measured == nil || *r.Measured {
		t.Errorf("%+v", r)
	}
	ends(t, dir, exitInput, "cuda:h200", "plan", "-n", "500", "-d", "3", "--device", "cuda:x")
	ends(t, dir, exitInput, "only for plans", "train", "--device", "cuda:h200")
}

// TestDriverErrors: what users of broken installations read.
func TestDriverErrors(t *testing.T) {
	for init, want := range map[string]string{
		"-DINIT=100": "CUDA_VISIBLE_DEVICES", "-DINIT=35": "reinstall", "-DINIT=803": "different versions",
	} {
		fakeCUDA(t, init, "-DCOUNT=2", "-DBROKEN=-1")
		ran(t, t.TempDir(), "doctor").exits(exitOK).prints(want, "runs use the CPU")
	}
}

// TestDoctorWithGPU: the GPUs are listed, and kernels that do not compile are a check
// that failed. (The fake driver compiles only its own kernel.)
func TestDoctorWithGPU(t *testing.T) {
	fakeCUDA(t, "-DINIT=0", "-DCOUNT=2", "-DBROKEN=-1")
	dir := t.TempDir()
	ran(t, dir, "doctor").exits(exitFailure).prints("cuda:0 Mock H200 (compute capability 9.0, 132 multiprocessors, 140 GiB)",
		"cuda:1 Mock A100", "gpu check   FAIL", "the PTX does not compile", "ptxas fatal")
	ran(t, dir, "devices").exits(exitOK).prints("cuda:1   Mock A100", "140 GiB")
	ends(t, dir, exitResource, "there is no GPU 7", "train", "--device", "cuda:7")
	ran(t, dir, "train", "--verbose").exits(exitOK).warns("Mock H200 cannot be measured")
}

// TestPairsDevice: training on pairs takes the device, too. A GPU that is not there or
// whose kernels do not compile stops the run before it is charged.
func TestPairsDevice(t *testing.T) {
	dir := t.TempDir()
	people(t, dir)
	args := func(device string) []string {
		return pairsTrain("pairs.csv", "--kappa", "3", "--epochs", "1", "--device", device, "--ledger", "ledger")
	}
	t.Setenv("DYAD_LIBCUDA", "/nonexistent/libcuda.so.1")
	ran(t, dir, args("cuda:0")...).exits(exitResource).warns("/nonexistent/libcuda.so.1").without("ledger")
	ran(t, dir, args("gpu")...).exits(exitInput).warns("auto, cpu or cuda:N")
	fakeCUDA(t, "-DINIT=0", "-DCOUNT=1", "-DBROKEN=-1")
	softmax := []string{"--loss", "infonce", "--model", "mlp", "--hidden", "3", "--rows", "2"}
	for _, more := range [][]string{nil, softmax} {
		r := ran(t, dir, append(args("cuda:0"), more...)...).warns("the PTX does not compile")
		r.want(r.code != exitOK && !strings.Contains(r.errs, "charged"), "an error without a charge")
	}
	softmax = append(softmax, "--mode", "nonprivate", "--public-data")
	r := ran(t, dir, append(args("cuda:0"), softmax...)...).warns("use the CPU (--device cpu)")
	r.want(r.code != exitOK, "an error")
	ran(t, dir, "ledger", "show", "--ledger", "ledger").lacks("people")
	r = ran(t, dir, args("auto")...).exits(exitOK)
	r.want(strings.Count(r.errs, "device      cpu (auto): Mock H200 cannot be measured: ") == 1 &&
		!strings.Contains(r.errs, "ptxas"), "one line about the device")
	ends(t, dir, exitOK, "people", "ledger", "show", "--ledger", "ledger")
}

// TestAgreement: the check of doctor passes equal backends and finds one that is off.
func TestAgreement(t *testing.T) {
	if text, ok := agreement(cpu.Backend{Method: cpu.Direct}, cpu.Backend{}); !ok {
		t.Error(text)
	}
	if text, ok := agreement(cpu.Backend{}, offBackend{}); ok || !strings.Contains(text, "from the CPU's gradient") {
		t.Errorf("a wrong backend passes: %s", text)
	}
}

// TestPairAgreement is the same for lists of pairs.
func TestPairAgreement(t *testing.T) {
	if text, ok := pairAgreement(embedding.CPU{}, embedding.CPU{Workers: 2}); !ok {
		t.Error(text)
	}
	if text, ok := pairAgreement(embedding.CPU{}, offEngine{}); ok || !strings.Contains(text, "from the CPU's sums") {
		t.Errorf("a wrong engine passes: %s", text)
	}
}

// offEngine has another margin.
type offEngine struct{ embedding.CPU }

func (e offEngine) Sums(data *embedding.Data, _ embedding.ListLoss, rows int) (embedding.Sums, error) {
	return e.CPU.Sums(data, embedding.Contrastive{Margin: 1 + 1e-6}, rows)
}

// offBackend plans for another loss: its gradients are of the same kind, and wrong.
type offBackend struct{ cpu.Backend }

type offLoss struct{ engine.Logistic }

func (offLoss) DPhi(u float64) float64 { return engine.Logistic{}.DPhi(u) * (1 + 1e-6) }

func (b offBackend) Plan(p engine.Problem) (engine.Kernel, error) {
	p.Loss = offLoss{}
	return b.Backend.Plan(p)
}

// TestPrecisionOnCPU: pairs in float32 are named in the plan, with what they cost in
// sensitivity, and asked for by name only; tensor cores are refused.
func TestPrecisionOnCPU(t *testing.T) {
	dir := t.TempDir()
	plan := func(args ...string) (int, string, string) {
		return dyad(t, dir, append([]string{"plan", "-n", "100000", "-d", "8", "--device", "cpu", "--task", "metric"},
			args...)...)
	}
	share := regexp.MustCompile(`; sensitivity [0-9.e-]+ with rounding \(relative ([0-9.e-]+)\)`)
	cost := func(args ...string) (float64, string) {
		code, out, errs := plan(args...)
		found := share.FindStringSubmatch(out)
		if code != exitOK || found == nil {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, errs)
		}
		v := must.Get(strconv.ParseFloat(found[1], 64))(t)
		return v, out
	}
	for algorithm, limits := range map[string][2]float64{"gradient-perturbation": {0.0005, 0.003}, "dpgdsc": {0.05, 0.5}} {
		exact, out := cost("--algorithm", algorithm)
		if exact > 1e-5 || strings.Contains(out, "fp32") {
			t.Errorf("%s: %v of the sensitivity in float64\n%s", algorithm, exact, out)
		}
		single, out := cost("--algorithm", algorithm, "--precision", "fp32")
		if single < limits[0] || single > limits[1] || !strings.Contains(out, "engine      direct, fp32") {
			t.Errorf("%s: %v of the sensitivity in float32\n%s", algorithm, single, out)
		}
	}
	for _, c := range [][]string{{"--precision", "bf16x3"}, {"--precision", "fp32", "--radius", "100"}} {
		if code, _, errs := plan(c...); code != exitInput || !strings.Contains(errs, "float64") {
			t.Errorf("%v: exit %d: %s", c, code, errs)
		}
	}
}

// TestPrecisionIsNeverIgnored: where auto takes the CPU, a precision of tensor cores is
// refused before anything is charged, whether there is a GPU or not; so is any precision
// where nothing depends on it.
func TestPrecisionIsNeverIgnored(t *testing.T) {
	dir := clinic(t, 40)
	train := []string{"train", "--verbose", "--data", "patients.csv", "--schema", "patients.yaml", "--ledger", "ledger",
		"--out", "m.json", "--force"}
	check := func() {
		t.Helper()
		for _, c := range []struct {
			args []string
			want string // in the refusal
		}{
			{[]string{"--task", "metric", "--precision", "bf16x3"}, "--device cuda:N"},
			{[]string{"--task", "metric", "--precision", "wgmma", "--device", "auto"}, "fp32"},
			{[]string{"--precision", "fp32"}, "--task metric"},
			{[]string{"--precision", "bf16x3", "--device", "cpu"}, "--task metric"},
			{[]string{"--task", "metric", "--precision", "tf32", "--device", "cpu"}, "fp32"},
		} {
			for _, command := range [][]string{train, {"plan", "-n", "40", "--schema", "patients.yaml"}} {
				ran(t, dir, append(command[:len(command):len(command)],
					c.args...)...).exits(exitInput).warns(c.want).without("ledger")
			}
		}
		ends(t, dir, exitInput, "does not take", "plan", "-n", "40", "-d", "3", "--algorithm", "dpftrl", "--task", "metric",
			"--precision", "fp32")
	}
	t.Setenv("DYAD_LIBCUDA", "/nonexistent/libcuda.so.1")
	check()
	ran(t, dir, append(train, "--task", "metric", "--algorithm", "dpgdsc", "--precision",
		"fp32")...).exits(exitOK).prints("fp32").warns("cpu (auto)").makes("ledger")
	must.Do(t, os.Remove(filepath.Join(dir, "ledger")))
	fakeCUDA(t, "-DINIT=0", "-DCOUNT=1", "-DBROKEN=-1")
	check()
}

// TestKeptTimes: times are kept in a folder that need not be there, and replaced.
func TestKeptTimes(t *testing.T) {
	times := keptTimes(filepath.Join(t.TempDir(), "state", "dyad", "gpu-times.json"))
	if text, err := times.Read(); err == nil {
		t.Errorf("times that were not kept: %q", text)
	}
	for _, want := range []string{"[1]", "[2, 3]"} {
		must.Do(t, times.Write([]byte(want)))
		if got, err := times.Read(); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
