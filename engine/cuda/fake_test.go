package cuda

import (
	"fmt"
	"strings"
	"sync"

	"dyad/engine/cuda/driver"
	"dyad/engine/cuda/ptxtest"
)

// fakeDriver is a driver whose GPU is the interpreter of package ptxtest.
type fakeDriver struct {
	memory  uint64
	major   int // of the compute capability, as minor
	minor   int
	skew    float64
	signs   map[string]float64
	machine *ptxtest.Machine
	// edit, if not nil, changes PTX before it is loaded: a defect of the kernels.
	edit func(ptx string) string
	// fail, if not nil, is asked before every call.
	fail func(call string) error
}

func newFake() *fakeDriver {
	return &fakeDriver{memory: 1 << 40, major: 8, machine: &ptxtest.Machine{}}
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
	host     int // live host buffers, streams and events
}

func (c *fakeContext) check(call string) error {
	if c.fail == nil {
		return nil
	}
	return c.fail(call)
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
func (c *fakeContext) FreeHost([]byte) error { c.host--; return nil }

func (c *fakeContext) CopyIn(dst driver.Pointer, src []byte) error {
	if err := c.check("CopyIn"); err != nil {
		return err
	}
	to := c.machine.Bytes(uint64(dst), len(src))
	if to == nil {
		return driver.Result(1)
	}
	copy(to, src)
	return nil
}

func (c *fakeContext) CopyInAsync(dst driver.Pointer, src []byte, s driver.Stream) error {
	return c.CopyIn(dst, src)
}

func (c *fakeContext) CopyOut(dst []byte, src driver.Pointer) error {
	if err := c.check("CopyOut"); err != nil {
		return err
	}
	from := c.machine.Bytes(uint64(src), len(dst))
	if from == nil {
		return driver.Result(1)
	}
	copy(dst, from)
	return nil
}

func (c *fakeContext) Clear(dst driver.Pointer, bytes uint64, _ driver.Stream) error {
	to := c.machine.Bytes(uint64(dst), int(bytes))
	if to == nil {
		return driver.Result(1)
	}
	clear(to)
	return nil
}

// parsedPTX holds modules by their text: most fakes load the same few.
var parsedPTX sync.Map

func (c *fakeContext) Load(ptx []byte) (driver.Module, error) {
	text := string(ptx)
	if c.edit != nil {
		text = c.edit(text)
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
	err := c.machine.Run(c.modules[int(l.Function)%1000-1], name, l.Grid[0], l.Grid[1], l.Args...)
	if err != nil && strings.Contains(err.Error(), "outside of every buffer") {
		return fmt.Errorf("%w: %w", driver.Result(700), err)
	}
	return err
}

func (c *fakeContext) NewStream() (driver.Stream, error) {
	if err := c.check("NewStream"); err != nil {
		return 0, err
	}
	c.host++
	return 1, nil
}

func (c *fakeContext) SyncStream(driver.Stream) error           { return nil }
func (c *fakeContext) CloseStream(driver.Stream) error          { c.host--; return nil }
func (c *fakeContext) NewEvent() (driver.Event, error)          { c.host++; return 1, nil }
func (c *fakeContext) Record(driver.Event, driver.Stream) error { return nil }
func (c *fakeContext) SyncEvent(driver.Event) error             { return nil }
func (c *fakeContext) Elapsed(from, to driver.Event) (float64, error) {
	return 1, nil
}
func (c *fakeContext) CloseEvent(driver.Event) error { c.host--; return nil }
