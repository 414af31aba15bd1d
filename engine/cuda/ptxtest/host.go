package ptxtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyad/kernels"
)

// Sanitizer selects the runtime checks that a Host compiles into the kernels.
type Sanitizer string

// Addresses finds accesses outside of buffers and undefined behaviour. The threads of a block run as fibres.
// Races finds data races. The threads of a block run as operating-system threads.
const (
	Addresses Sanitizer = "address,undefined"
	Races     Sanitizer = "thread"
)

// Edit replaces text in a source file to introduce a defect. If Program is not empty, only the kernels of the
// .cu file named Program run on the host, and the interpreter runs all other kernels.
type Edit struct{ Program, File, Old, New string }

// Host compiles the sources of kernels for the CPU and runs them on the CPU. Host and the interpreter check
// each other. Functions with assembly are removed from the sources and replaced by models in kernels/cuda/host
// (device.h and tensor.h), with the logistic loss. A new function with assembly needs such a model. A Host must
// be used from only one goroutine.
type Host struct {
	compiler string
	source   string // the folder kernels/cuda
	dir      string // folder of the compiled files
	flags    []string
	edit     Edit
	copies   int               // number of copies of a kernel, each with its own shared memory
	programs map[string]string // executables, by name of the .cu file
	launches int

	// Launched is the number of launches of each kernel by name.
	Launched map[string]int
}

// ErrNoCompiler means that there is no C++ compiler with sanitizers for Linux on amd64.
var ErrNoCompiler = errors.New("ptx: no compiler of C++ with sanitizers for Linux on amd64; install clang-19 and " +
	"libclang-rt-19-dev, or g++")

// NewHost returns a Host that compiles the sources in source, the folder kernels/cuda, into dir. If edit is not
// the zero value, it is applied to a source file. The error wraps ErrNoCompiler if there is no suitable
// compiler.
func NewHost(source, dir string, s Sanitizer, edit Edit) (*Host, error) {
	h := &Host{source: source, dir: dir, edit: edit, copies: 1, programs: map[string]string{}, Launched: map[string]int{}}
	for _, name := range []string{"clang++-19", "clang++", "g++"} {
		if found, err := exec.LookPath(name); err == nil && h.compiler == "" {
			h.compiler = found
		}
	}
	if h.compiler == "" || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, ErrNoCompiler
	}
	h.flags = []string{"-std=c++17", "-O1", "-g1", "-mfma", "-ffp-contract=off", "-w", "-fsanitize=" + string(s),
		"-fno-sanitize-recover=all", "-pthread"}
	if s == Races {
		h.copies = 2
		h.flags = append(h.flags, "-DREAL_THREADS", "-DPER_THREAD=thread_local")
	}
	empty := filepath.Join(dir, "empty.cc")
	if err := os.WriteFile(empty, []byte("int main() {}\n"), 0o600); err != nil {
		return nil, err
	}
	if err := h.compile("-o", filepath.Join(dir, "empty"), empty); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCompiler, err)
	}
	return h, h.prepare()
}

var (
	deviceFunction = regexp.MustCompile(`(?m)^(?:template <[^>]*> )?DEVICE [^\n]*(?:\}|(?s:\{\n.*?^\}))\n`)
	entry          = regexp.MustCompile(`\.entry (\w+)\(`)
)

// prepare writes copies of the sources without the functions that contain assembly.
func (h *Host) prepare() error {
	edited := h.edit == Edit{}
	for _, pattern := range []string{"*.cu", "*.h", "host/*"} {
		files, err := filepath.Glob(filepath.Join(h.source, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if file == filepath.Join(h.source, "device.h") {
				continue // the file device.h of host replaces this file
			}
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text, name := string(b), filepath.Base(file)
			if filepath.Base(filepath.Dir(file)) != "host" {
				text = withoutAssembly(text)
			}
			if name == h.edit.File {
				edited = strings.Contains(text, h.edit.Old)
				text = strings.Replace(text, h.edit.Old, h.edit.New, 1)
			}
			if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	if !edited {
		return fmt.Errorf("ptx: %s does not have %q", h.edit.File, h.edit.Old)
	}
	return nil
}

func withoutAssembly(source string) string {
	return deviceFunction.ReplaceAllStringFunc(source, func(f string) string {
		if strings.Contains(f, "asm") || strings.Contains(f, "address_space(") {
			return ""
		}
		return f
	})
}

// compile runs the compiler.
func (h *Host) compile(args ...string) error {
	out, err := exec.Command(h.compiler, append(slices.Clone(h.flags), args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ptx: %v: %w\n%.4000s", args, err, out)
	}
	return nil
}

// build compiles the kernels of a .cu file.
func (h *Host) build(name string) error {
	if h.programs[name] != "" {
		return nil
	}
	launch := filepath.Join(h.dir, "launch.o")
	if _, err := os.Stat(launch); err != nil {
		if err := h.compile("-c", "-o", launch, filepath.Join(h.dir, "launch.cc")); err != nil {
			return err
		}
	}
	file := filepath.Join(h.dir, name)
	args := []string{"-o", file, launch}
	for c := range h.copies {
		at, err := h.known(name, c)
		if err != nil {
			return err
		}
		args = append(args, at)
	}
	if err := h.compile(args...); err != nil {
		return err
	}
	h.programs[name] = file
	return nil
}

// known writes a C++ file with one copy of the kernels of a program, and returns the name of the file.
func (h *Host) known(program string, copy int) (file string, err error) {
	var text strings.Builder
	fmt.Fprintf(&text, "#include \"launch.h\"\nnamespace own_%s_%d {\n#include \"%[1]s.cu\"\n", program, copy)
	for _, kernel := range Kernels(program) {
		fmt.Fprintf(&text, "KNOWN(%s, %d)\n", kernel, copy)
	}
	text.WriteString("}\n")
	file = filepath.Join(h.dir, program+strconv.Itoa(copy)+".cc")
	return file, os.WriteFile(file, []byte(text.String()), 0o600)
}

// Executor compiles the kernels, without sanitizers, for the simulated libcuda of bench/gpu/sim. library
// is the name of the output file. header is the folder with the header file of this libcuda.
func (h *Host) Executor(header, library string) error {
	args := []string{"-std=c++17", "-O2", "-mfma", "-ffp-contract=off", "-w", "-fPIC", "-shared", "-pthread",
		"-I" + header, "-o", library, filepath.Join(h.dir, "executor.cc")}
	for _, program := range kernels.PTXNames() {
		file, err := h.known(program, 0)
		if err != nil {
			return err
		}
		args = append(args, file)
	}
	plain := *h
	plain.flags = nil
	return plain.compile(args...)
}

// Run compiles and runs a program of the folder kernels/cuda/host and returns the program's output. The source of
// the program must include the kernels. A non-zero exit status of the program is not an error.
func (h *Host) Run(name string) (string, error) {
	file := filepath.Join(h.dir, "program")
	if err := h.compile("-o", file, filepath.Join(h.dir, name)); err != nil {
		return "", err
	}
	out, err := exec.Command(file).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil // a sanitizer or a check of the program ended the program
	}
	return string(out), err
}

// Kernels returns the names of the kernels of a .cu file.
func Kernels(program string) (names []string) {
	for _, m := range entry.FindAllStringSubmatch(kernels.PTX(program), -1) {
		names = append(names, m[1])
	}
	return names
}

func programOf(kernel string) string {
	for _, name := range kernels.PTXNames() {
		if slices.Contains(Kernels(name), kernel) {
			return name
		}
	}
	return ""
}

// launch runs a kernel on copies of the machine's buffers to which the arguments point. It returns the copies
// by the numbers of the buffers. The order of threads alternates between launches.
func (h *Host) launch(m *Machine, name string, gridX, gridY int, args []uint64) (map[int][]byte, error) {
	program := programOf(name)
	if err := h.build(program); err != nil {
		return nil, err
	}
	var in bytes.Buffer
	word := func(v uint64) { in.Write(binary.LittleEndian.AppendUint64(nil, v)) }
	word(uint64(len(name)))
	in.WriteString(name)
	for _, v := range append([]uint64{uint64(gridX), uint64(gridY), uint64(h.launches & 1), uint64(len(args))}, args...) {
		word(v)
	}
	ids := map[int]bool{}
	var order []int
	for _, a := range args {
		if id := int(a>>32) - 1; id >= 0 && id < len(m.buffers) && m.buffers[id] != nil && !ids[id] {
			ids[id] = true
			order = append(order, id)
		}
	}
	word(uint64(len(order)))
	for _, id := range order {
		word(uint64(id+1) << 32)
		word(uint64(len(m.buffers[id])))
		in.Write(m.buffers[id])
	}
	h.launches++
	h.Launched[name]++
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.programs[program])
	cmd.Stdin = &in
	cmd.Env = append(os.Environ(), "TSAN_OPTIONS=halt_on_error=1")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	rest, done := bytes.CutPrefix(out, []byte("DONE"))
	if err != nil || !done {
		return nil, fmt.Errorf("ptx: %s on the host: %w\n%.200s\n%.3000s", name, err, out, log.Bytes())
	}
	after := map[int][]byte{}
	for _, id := range order {
		after[id], rest = rest[:len(m.buffers[id])], rest[len(m.buffers[id]):]
	}
	return after, nil
}

// runOnHost runs a kernel on the host. Unless HostOnly is true, it also runs the kernel by the interpreter and
// compares the contents of all buffers.
func (m *Machine) runOnHost(module *Module, name string, gridX, gridY int, args []uint64) error {
	if other := m.Host.edit.Program; other != "" && other != programOf(name) {
		return m.interpret(module, name, gridX, gridY, args)
	}
	after, err := m.Host.launch(m, name, gridX, gridY, args)
	if err != nil {
		return err
	}
	if !m.HostOnly {
		if err := m.interpret(module, name, gridX, gridY, args); err != nil {
			return err
		}
	}
	for id, b := range after {
		if m.HostOnly {
			copy(m.buffers[id], b)
		} else if own := m.buffers[id]; !bytes.Equal(own, b) {
			at := 0
			for own[at] == b[at] {
				at++
			}
			at &^= 7
			return fmt.Errorf("ptx: %s: buffer %d has % x at byte %d, on the host % x", name, id, own[at:min(at+8, len(own))],
				at, b[at:min(at+8, len(b))])
		}
	}
	return nil
}
