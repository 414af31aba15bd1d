package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"dyad/engine"
	"dyad/engine/cuda/driver"
	"dyad/engine/cuda/ptxtest"
	"dyad/internal/must"
)

// fakeDriver is a driver whose GPU is the interpreter of package ptxtest.
type fakeDriver struct {
	memory  uint64
	major   int // of the compute capability, as minor
	minor   int
	skew    float64
	signs   map[string]float64
	machine *ptxtest.Machine
	// edit, if not nil, changes PTX before it is loaded: a defect of the kernels. edited is set where it changes something.
	edit   func(ptx string) string
	edited bool
	// stale leaves the first step of graphs out: another defect, of replays.
	stale bool
	// dry leaves out what kernels compute, for tests of the calls alone.
	dry bool
	// fail, if not nil, is asked before every call, which is in calls by then.
	fail  func(call string) error
	calls []string
}

func newFake() *fakeDriver {
	return &fakeDriver{memory: 1 << 40, major: 8, machine: &ptxtest.Machine{}}
}

// defective is a fake with a defect of its kernels.
func defective(edit func(ptx string) string) *fakeDriver {
	f := newFake()
	f.edit = edit
	return f
}

// replacing returns an edit of the programs that contain all of the given texts.
func replacing(old, new string, within ...string) func(string) string {
	return func(ptx string) string {
		if slices.ContainsFunc(within, func(text string) bool { return !strings.Contains(ptx, text) }) {
			return ptx
		}
		return strings.ReplaceAll(ptx, old, new)
	}
}

// called is the number of calls so far whose names begin with one of the prefixes.
func (f *fakeDriver) called(prefixes ...string) (n int) {
	for _, call := range f.calls {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(call, p) }) {
			n++
		}
	}
	return n
}

// failing returns a fail for the calls of one name, from the first one or of the nth alone.
func (f *fakeDriver) failing(name string, nth int, err error) func(string) error {
	return func(call string) error {
		if call == name && (nth == 0 || f.called(name) == nth) {
			return err
		}
		return nil
	}
}

// refused reports an error of the test unless err names the CPU as the way out of what a GPU does not do.
func refused[T any](_ T, err error) func(t *testing.T, name string) {
	return func(t *testing.T, name string) {
		t.Helper()
		must.FailDo(t, err, engine.ErrUnsupported, name)
		must.FailDo(t, err, "--device cpu", name)
	}
}

// eachCall does a job once for each call of the driver that it makes, which are least or more, and lets that call fail with code: the error
// arrives in one line, and closing the device finds nothing left (fakeContext.Detach).
func eachCall(t *testing.T, least int, code driver.Result, name string, job func(f *fakeDriver) error) {
	t.Helper()
	for number := 0; ; number++ {
		f := newFake()
		f.dry = true
		f.fail = func(string) error {
			if len(f.calls) == number+1 {
				return code
			}
			return nil
		}
		err := job(f)
		if len(f.calls) <= number {
			if err != nil || number < least {
				t.Errorf("%s: %d calls, %v", name, number, err)
			}
			return
		}
		if !errors.Is(err, code) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: call %d failed and the error is %v", name, number, err)
		}
	}
}

func (f *fakeDriver) Version() (int, error) { return 13000, nil }
func (f *fakeDriver) Close() error          { return nil }
func (f *fakeDriver) Devices() ([]driver.Device, error) {
	return []driver.Device{{Name: "PTX interpreter", TotalMemory: f.memory, Major: f.major, Minor: f.minor, Multiprocessors: 1}}, nil
}

func (f *fakeDriver) Attach(int) (driver.Context, error) {
	f.machine.Skew, f.machine.Signs = f.skew, f.signs
	return &fakeContext{fakeDriver: f, launched: map[driver.Function]string{}}, nil
}

type fakeContext struct {
	*fakeDriver
	modules  []*ptxtest.Module
	launched map[driver.Function]string
	host     int // live host buffers, streams, events and graphs
	lost     bool
	// steps are recorded while a stream captures; graphs are those of before.
	capturing driver.Stream
	steps     []func() error
	graphs    map[driver.Graph][]func() error
}

// record keeps a step of a stream that captures, and runs it in any other one.
func (c *fakeContext) record(s driver.Stream, step func() error) error {
	if c.capturing != 0 && s == c.capturing {
		c.steps = append(c.steps, step)
		return nil
	}
	if c.capturing != 0 { // what a driver refuses: it would have to wait for the capture
		return driver.Result(906)
	}
	return step()
}

func (c *fakeContext) BeginCapture(s driver.Stream) error {
	if err := c.check("BeginCapture"); err != nil {
		return err
	}
	if s == 0 || c.capturing != 0 {
		return driver.Result(900)
	}
	c.capturing, c.steps = s, []func() error{}
	return nil
}

func (c *fakeContext) EndCapture(s driver.Stream) (driver.Graph, error) {
	if s != c.capturing {
		return 0, driver.Result(901)
	}
	c.capturing = 0
	if err := c.check("EndCapture"); err != nil {
		return 0, err
	}
	if c.graphs == nil {
		c.graphs = map[driver.Graph][]func() error{}
	}
	g := driver.Graph(len(c.graphs) + 1)
	c.graphs[g] = c.steps
	c.host++
	return g, nil
}

func (c *fakeContext) LaunchGraph(g driver.Graph, s driver.Stream) error {
	if err := c.check("LaunchGraph"); err != nil {
		return err
	}
	if c.graphs[g] == nil || s == 0 {
		return driver.Result(400)
	}
	for i, step := range c.graphs[g] {
		if c.stale && i == 0 {
			continue
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *fakeContext) CloseGraph(g driver.Graph) error {
	if c.graphs[g] == nil {
		return driver.Result(400)
	}
	c.graphs[g] = nil
	return c.gone()
}

// check asks fail. After a 700 the context is lost: every call fails with it.
func (c *fakeContext) check(call string) error {
	if c.lost {
		return driver.Result(700)
	}
	if c.calls = append(c.calls, call); c.fail == nil {
		return nil
	}
	err := c.fail(call)
	c.lost = errors.Is(err, driver.Result(700))
	return err
}

// gone gives back a host object.
func (c *fakeContext) gone() error {
	if c.lost {
		return driver.Result(700)
	}
	c.host--
	return nil
}

func (c *fakeContext) Detach() error {
	if c.host != 0 || c.machine.Live() != 0 {
		return fmt.Errorf("fake: %d host objects and %d buffers are left", c.host, c.machine.Live())
	}
	return nil
}

func (c *fakeContext) Memory() (free, total uint64, err error) { return c.memory, c.memory, nil }

func (c *fakeContext) Alloc(bytes uint64) (driver.Pointer, error) {
	if err := c.check("Alloc"); err != nil {
		return 0, err
	}
	p := c.machine.Alloc(int(bytes))
	for i, b := 0, c.machine.Bytes(p, int(bytes)); i < len(b); i++ {
		b[i] = 0xff // NaN: memory is not cleared
	}
	return driver.Pointer(p), nil
}

func (c *fakeContext) Free(p driver.Pointer) error {
	if c.lost {
		return driver.Result(700)
	}
	if !c.machine.Free(uint64(p)) {
		return driver.Result(1)
	}
	return nil
}

func (c *fakeContext) AllocHost(bytes int) ([]byte, error) {
	if err := c.check("AllocHost"); err != nil {
		return nil, err
	}
	c.host++
	return make([]byte, bytes), nil
}
func (c *fakeContext) FreeHost([]byte) error { return c.gone() }

func (c *fakeContext) CopyIn(dst driver.Pointer, src []byte) error {
	if err := c.check("CopyIn"); err != nil {
		return err
	}
	if c.capturing != 0 {
		return driver.Result(906)
	}
	return c.copyIn(dst, src)
}

func (c *fakeContext) copyIn(dst driver.Pointer, src []byte) error {
	to := c.machine.Bytes(uint64(dst), len(src))
	if to == nil {
		return driver.Result(1)
	}
	copy(to, src)
	return nil
}

func (c *fakeContext) CopyInAsync(dst driver.Pointer, src []byte, s driver.Stream) error {
	if err := c.check("CopyIn"); err != nil {
		return err
	}
	return c.record(s, func() error { return c.copyIn(dst, src) })
}

func (c *fakeContext) CopyOutAsync(dst []byte, src driver.Pointer, s driver.Stream) error {
	if err := c.check("CopyOut"); err != nil {
		return err
	}
	return c.record(s, func() error { return c.copyOut(dst, src) })
}

func (c *fakeContext) CopyOut(dst []byte, src driver.Pointer) error {
	if err := c.check("CopyOut"); err != nil {
		return err
	}
	if c.capturing != 0 {
		return driver.Result(906)
	}
	return c.copyOut(dst, src)
}

func (c *fakeContext) copyOut(dst []byte, src driver.Pointer) error {
	from := c.machine.Bytes(uint64(src), len(dst))
	if from == nil {
		return driver.Result(1)
	}
	copy(dst, from)
	return nil
}

func (c *fakeContext) Clear(dst driver.Pointer, bytes uint64, s driver.Stream) error {
	to := c.machine.Bytes(uint64(dst), int(bytes))
	if to == nil {
		return driver.Result(1)
	}
	return c.record(s, func() error { clear(to); return nil })
}

// parsedPTX holds modules by their text: most fakes load the same few.
var parsedPTX sync.Map

func (c *fakeContext) Load(ptx []byte) (driver.Module, error) {
	text := string(ptx)
	if c.edit != nil {
		text = c.edit(text)
		c.edited = c.edited || text != string(ptx)
	}
	m, ok := parsedPTX.Load(text)
	if !ok {
		var err error
		if m, err = ptxtest.Parse(text); err != nil {
			return 0, fmt.Errorf("%w\n%w", driver.Result(218), err)
		}
		parsedPTX.Store(text, m)
	}
	c.modules = append(c.modules, m.(*ptxtest.Module))
	return driver.Module(len(c.modules)), nil
}

func (c *fakeContext) Unload(driver.Module) error { return nil }

func (c *fakeContext) Function(m driver.Module, name string) (driver.Function, error) {
	f := driver.Function(len(c.launched)*1000 + int(m))
	c.launched[f] = name
	return f, nil
}

func (c *fakeContext) Attribute(driver.Function, driver.Attribute) (int, error) { return 0, nil }
func (c *fakeContext) SetAttribute(driver.Function, driver.Attribute, int) error {
	return nil
}

func (c *fakeContext) Launch(l driver.Launch) error {
	name := c.launched[l.Function]
	if err := c.check("Launch " + name); err != nil {
		return err
	}
	if l.Block != [3]int{blockThreads} || l.Grid[0] < 1 || l.Grid[1] < 1 || l.Grid[1] > 65535 || l.Shared != 0 {
		return driver.Result(1)
	}
	args := slices.Clone(l.Args)
	return c.record(l.Stream, func() error {
		if c.dry {
			return nil
		}
		err := c.machine.Run(c.modules[int(l.Function)%1000-1], name, l.Grid[0], l.Grid[1], args...)
		if err != nil && strings.Contains(err.Error(), "outside of every buffer") {
			return fmt.Errorf("%w: %w", driver.Result(700), err)
		}
		return err
	})
}

func (c *fakeContext) NewStream() (driver.Stream, error) {
	if err := c.check("NewStream"); err != nil {
		return 0, err
	}
	c.host++
	return 1, nil
}

func (c *fakeContext) SyncStream(s driver.Stream) error {
	if c.capturing != 0 {
		return driver.Result(900)
	}
	return c.check("SyncStream")
}
func (c *fakeContext) CloseStream(driver.Stream) error          { return c.gone() }
func (c *fakeContext) NewEvent() (driver.Event, error)          { c.host++; return 1, nil }
func (c *fakeContext) Record(driver.Event, driver.Stream) error { return nil }
func (c *fakeContext) SyncEvent(driver.Event) error             { return nil }
func (c *fakeContext) Elapsed(from, to driver.Event) (float64, error) {
	return 1, nil
}
func (c *fakeContext) CloseEvent(driver.Event) error { return c.gone() }
