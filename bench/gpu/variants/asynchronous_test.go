package variants

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dyad/engine/cuda/ptxtest"
)

// asynchronous are instructions of ptxtest that only these kernels have: copies to shared memory, matrix products
// of four warps with the second factor in shared memory, and those of tf32_test.go, which are not asynchronous.
//
// The results of cp.async and wgmma appear when a thread waits for them. Before this wait, an access to memory
// or registers that these instructions read or write is an error. It is also an error if wgmma follows a write
// to its registers or memory without a fence, or if the warps of a group do not begin the same products.
type asynchronous struct {
	threads []thread
	words   []word
	warps   []products
}

// lanes is the number of threads of a warp.
const lanes = 32

type word struct {
	reading int  // number of products in flight that read the word
	copying bool // cp.async writes the word and was not waited for
	hidden  bool // written, and not yet visible to wgmma
}

type thread struct {
	fresh   []bool // the register was written since the last wgmma.fence
	busy    []bool // a product in flight reads or writes the register
	copies  []copying
	written []int // words of shared memory written since the last fence.proxy.async
}

// Knows implements ptxtest.Extension.
func (*asynchronous) Knows(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return base == "wgmma" || base == "cp" || base == "fence" || name == tf32Product || name == tf32Conversion
}

// Start implements ptxtest.Extension.
func (a *asynchronous) Start(b *ptxtest.Block) {
	a.threads, a.words, a.warps = make([]thread, b.Threads()), make([]word, len(b.Words)), make([]products, (b.Threads()+lanes-1)/lanes)
	registers, _ := b.Registers(0)
	for t := range a.threads {
		a.threads[t].fresh, a.threads[t].busy = make([]bool, len(registers)), make([]bool, len(registers))
	}
}

// Writes implements ptxtest.Extension.
func (a *asynchronous) Writes(t int, r int32) error {
	if a.threads[t].busy[r] {
		return errors.New("writes a register of a product in flight")
	}
	a.threads[t].fresh[r] = true
	return nil
}

// Touches implements ptxtest.Extension.
func (a *asynchronous) Touches(t, at int, store bool) error {
	switch w := &a.words[at]; {
	case w.copying:
		return fmt.Errorf("thread %d touches a word that is being copied", t)
	case store && w.reading > 0:
		return fmt.Errorf("thread %d writes a word that a product in flight reads", t)
	case store:
		w.hidden = true
		a.threads[t].written = append(a.threads[t].written, at)
	}
	return nil
}

// Decode implements ptxtest.Extension.
func (a *asynchronous) Decode(f *ptxtest.Foreign, operands []string, register func(string) (int32, error)) error {
	shape, product := strings.CutPrefix(f.Name, "wgmma.mma_async.sync.aligned.m64n")
	f.Warp = strings.HasPrefix(f.Name, "wgmma.")
	switch {
	case f.Name == tf32Product || f.Name == tf32Conversion:
		return a.tf32(f, operands, register)
	case f.Name == "cp.async.cg.shared.global" && len(operands) == 3 && operands[2] == "16":
		var src [2]int32
		for k, o := range operands[:2] {
			var err error
			if src[k], err = register(strings.Trim(o, "[]")); err != nil {
				return err
			}
		}
		f.Run = func(b *ptxtest.Block, t int) error { return a.copy(b, t, src) }
		return nil
	case f.Name == "cp.async.wait_all":
		f.Run = a.finishCopies
		return nil
	case f.Name == "fence.proxy.async.shared::cta":
		f.Run = func(_ *ptxtest.Block, t int) error {
			for _, w := range a.threads[t].written {
				a.words[w].hidden = false
			}
			a.threads[t].written = nil
			return nil
		}
		return nil
	case f.Name == "wgmma.fence.sync.aligned":
		f.Run = func(_ *ptxtest.Block, first int) error {
			a.warps[first/lanes].fenced = true
			for t := range lanes {
				clear(a.threads[first+t].fresh)
			}
			return nil
		}
		return nil
	case f.Name == "wgmma.commit_group.sync.aligned":
		f.Run = func(_ *ptxtest.Block, first int) error {
			p := &a.warps[first/lanes]
			p.groups, p.open = append(p.groups, p.open), nil
			return nil
		}
		return nil
	case f.Name == "wgmma.wait_group.sync.aligned":
		left, err := strconv.Atoi(operands[0])
		f.Run = func(b *ptxtest.Block, first int) error {
			a.wait(b, first, left)
			return nil
		}
		return err
	case !product:
		return fmt.Errorf("unknown asynchronous instruction")
	}
	columns, ok := strings.CutSuffix(shape, "k16.f32.bf16.bf16")
	i := &matrixProduct{name: f.Name, line: f.Line}
	var err error
	if i.columns, err = strconv.Atoi(columns); !ok || err != nil || i.columns%8 != 0 || i.columns > 256 {
		return fmt.Errorf("unknown shape")
	}
	// The operands are D, A in registers, the descriptor of B, whether D is a summand, the signs of A and B,
	// and whether B is stored by rows.
	n := i.columns / 2
	if len(operands) != n+4+1+1+3 || operands[n+6] != "1" || operands[n+7] != "1" {
		return fmt.Errorf("operands %v", operands)
	}
	i.byRows = operands[n+8] == "1"
	for _, o := range operands[:n+6] {
		r, err := register(o)
		if err != nil {
			return err
		}
		i.many = append(i.many, r)
	}
	f.Run = func(b *ptxtest.Block, first int) error { return a.begin(b, first, i) }
	return nil
}

// copying is a copy of 16 bytes that has begun.
type copying struct {
	from, to []byte
	word     int
}

func (a *asynchronous) copy(b *ptxtest.Block, t int, src [2]int32) error {
	const name = "cp.async.cg.shared.global"
	values, set := b.Registers(t)
	if !set[src[0]] || !set[src[1]] {
		return fmt.Errorf("an operand of %s is not set", name)
	}
	to, at := values[src[0]], values[src[1]]
	from := b.Bytes(at, 16)
	switch {
	case to%16 != 0 || at%16 != 0:
		return fmt.Errorf("%s between %#x and %#x, which are not aligned", name, at, to)
	case to+16 > uint64(len(b.Shared)):
		return fmt.Errorf("%s outside of shared memory", name)
	case from == nil:
		return fmt.Errorf("%s outside of every buffer, at %#x", name, at)
	}
	first := int(to / 4)
	for w := first; w < first+4; w++ {
		if err := b.Touch(w, t, true); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		a.words[w].copying = true
	}
	a.threads[t].copies = append(a.threads[t].copies, copying{from, b.Shared[to:][:16], first})
	return nil
}

func (a *asynchronous) finishCopies(b *ptxtest.Block, t int) error {
	for _, c := range a.threads[t].copies {
		copy(c.to, c.from)
		for w := c.word; w < c.word+4; w++ {
			a.words[w].copying, b.Words[w].Written = false, b.Phase
		}
	}
	a.threads[t].copies = nil
	return nil
}

// products holds the products of one warp that are in flight.
type products struct {
	fenced bool
	open   []*running   // products that are not committed
	groups [][]*running // groups of products that are committed and not waited for
	trace  uint64       // hash of the products that were begun, equal for the four warps of a group
}

// all returns the products in flight.
func (p *products) all() []*running { return append(slices.Concat(p.groups...), p.open...) }

// matrixProduct is an instruction for a product D = A B + D.
type matrixProduct struct {
	name    string
	line    int
	columns int
	byRows  bool    // how B is stored
	many    []int32 // registers of D, of A, of the descriptor of B, and of whether D is a summand
}

// running is a product in flight.
type running struct {
	*matrixProduct
	first int // thread
	a     [lanes][4]uint64
	add   bool
	at    [16][]int // at[k][n] is the byte of shared memory of row k and column n of B
}

// matrixProductError is the assumed error of wgmma with 16 terms. It is twice the assumed error of mma.sync.
const matrixProductError = 2 * (16 + 4) * 0x1p-23

// wait finishes all groups of products of a warp but the last ones.
func (a *asynchronous) wait(b *ptxtest.Block, first, left int) {
	p := &a.warps[first/lanes]
	for len(p.groups) > left {
		for _, m := range p.groups[0] {
			a.finish(b, m)
		}
		p.groups = p.groups[1:]
	}
	for _, m := range p.all() {
		a.lock(b, m)
	}
}

// begin checks the operands of a product and captures A.
func (a *asynchronous) begin(b *ptxtest.Block, first int, i *matrixProduct) error {
	p := &a.warps[first/lanes]
	if !p.fenced {
		return fmt.Errorf("no wgmma.fence before the first product")
	}
	m := &running{matrixProduct: i, first: first}
	n := i.columns / 2
	same := make([]bool, n) // registers of D that belong to a product in flight
	for _, other := range p.all() {
		for k := range min(n, other.columns/2) {
			same[k] = same[k] || other.columns == i.columns && other.many[k] == i.many[k]
		}
	}
	values, _ := b.Registers(first)
	descriptor, add := values[i.many[n+4]], values[i.many[n+5]]
	for lane := range lanes {
		values, set := b.Registers(first + lane)
		own := &a.threads[first+lane]
		for k, r := range i.many {
			switch d := k < n; {
			case d && own.busy[r] && !same[k]:
				return fmt.Errorf("the register of a sum still belongs to another product that has not finished")
			case d && add != 0 && !set[r] && !own.busy[r], !d && !set[r]:
				return fmt.Errorf("operand %d of %s is not set", k, i.name)
			case k < n+4 && own.fresh[r]:
				return fmt.Errorf("operand %d of %s was written after the last wgmma.fence", k, i.name)
			}
		}
		if values[i.many[n+4]] != descriptor || values[i.many[n+5]] != add {
			return fmt.Errorf("all lanes must have the same descriptor, and either all lanes or no lane must " +
				"add to the sums")
		}
		for k := range 4 {
			m.a[lane][k] = values[i.many[n+k]]
		}
	}
	m.add = add != 0
	if err := a.locate(b, m, descriptor); err != nil {
		return err
	}
	a.lock(b, m)
	for _, v := range []uint64{uint64(i.line), descriptor, add} {
		p.trace = (p.trace ^ v) * 0x9e3779b97f4a7c15
		p.trace ^= p.trace >> 29
	}
	p.open = append(p.open, m)
	return nil
}

// locate finds the numbers of B from the descriptor of B, according to PTX ISA, "Matrix Descriptor Format" and
// "Canonical Layouts". T = 8 numbers have 16 bytes. A swizzle of 16 2^s bytes exchanges such pieces of 16 bytes
// according to bits 7 to 7 + s - 1 of their address.
func (a *asynchronous) locate(b *ptxtest.Block, m *running, descriptor uint64) error {
	field := func(from, bits int) int { return int(descriptor >> from & (1<<bits - 1)) }
	start, lead, stride, swizzle := 16*field(0, 14), 16*field(16, 14), 16*field(32, 14), field(62, 2)
	if swizzle == 0 || field(49, 3) != 0 || descriptor&(3<<14|3<<30|7<<46|0x3ff<<52) != 0 {
		return fmt.Errorf("the descriptor %#x is unknown", descriptor)
	}
	bits := 4 - swizzle // swizzle 3 has 32 bytes, 2 has 64 and 1 has 128
	row := 16 << bits   // bytes of a row
	for k := range m.at {
		m.at[k] = make([]int, m.columns)
		for n := range m.columns {
			var at int
			if !m.byRows { // n is the row: ((8, m), (T, 2k)) : ((2^s T, SBO), (1, T))
				at = start + n/8*stride + n%8*row + 2*k
			} else { // k is: ((T, 2^s, m), (8, k)) : ((1, T, LBO), (2^s T, SBO))
				at = start + 2*n/row*lead + 2*n%row + k/8*stride + k%8*row
			}
			at ^= at >> 7 & (1<<bits - 1) << 4
			if at+2 > len(b.Shared) {
				return fmt.Errorf("%s outside of shared memory", m.name)
			}
			m.at[k][n] = at
			switch w := &b.Words[at/4]; {
			case a.words[at/4].copying:
				return fmt.Errorf("%s reads a word that is being copied", m.name)
			case w.Written == 0:
				return fmt.Errorf("%s reads shared memory that was never written", m.name)
			case w.Written == b.Phase:
				return fmt.Errorf("%s reads a word that thread %d wrote, without a barrier", m.name, w.Writer)
			case a.words[at/4].hidden:
				return fmt.Errorf("%s reads a word without a fence.proxy.async after it was written", m.name)
			}
		}
	}
	for _, row := range m.at { // a word with two numbers of B counts twice
		for _, at := range row {
			a.words[at/4].reading++
		}
	}
	return nil
}

// lock marks the registers of a product in flight.
func (a *asynchronous) lock(b *ptxtest.Block, m *running) {
	n := m.columns / 2
	for t := m.first; t < m.first+lanes; t++ {
		_, set := b.Registers(t)
		for k, r := range m.many[:n+4] {
			a.threads[t].busy[r] = true
			if k < n {
				set[r] = false
			}
		}
	}
}

// finish computes D and frees registers and memory. The fragments have the layout of mma.sync.
func (a *asynchronous) finish(b *ptxtest.Block, m *running) {
	n := m.columns / 2
	number := func(bits uint32) float64 { return float64(math.Float32frombits(bits << 16)) }
	var left [16][16]float64
	for r := range left {
		for k := range left[r] {
			left[r][k] = number(uint32(m.a[r%8*4+k%8/2][r/8+k/8*2]) >> (16 * (k % 2)))
		}
	}
	for c := range m.columns {
		var column [16]float64
		for k := range column {
			at := m.at[k][c]
			column[k] = number(uint32(b.Shared[at]) | uint32(b.Shared[at+1])<<8)
		}
		for r := range 16 {
			values, _ := b.Registers(m.first + r%8*4 + c%8/2)
			d := m.many[c/8*4+r/8*2+c%2]
			var sum float64
			if m.add {
				sum = float64(math.Float32frombits(uint32(values[d])))
			}
			size := math.Abs(sum)
			for k := range 16 {
				v := left[r][k] * column[k]
				sum += v
				size += math.Abs(v)
			}
			values[d] = uint64(math.Float32bits(float32(sum + b.Skew*matrixProductError*size*(1-0x1p-20))))
		}
	}
	for t := m.first; t < m.first+lanes; t++ {
		_, set := b.Registers(t)
		for k, r := range m.many[:n+4] {
			a.threads[t].busy[r] = false
			if k < n {
				set[r], a.threads[t].fresh[r] = true, true
			}
		}
	}
	for _, row := range m.at {
		for _, at := range row {
			a.words[at/4].reading--
			b.Words[at/4].Read, b.Words[at/4].Reader = b.Phase, ptxtest.Many
		}
	}
}

// Meet implements ptxtest.Extension. The four warps of each group must have begun the same products, and threads that
// have ended must have waited for all of their copies and products.
func (a *asynchronous) Meet(b *ptxtest.Block) error {
	for t := range a.threads {
		if b.Ended(t) && len(a.threads[t].copies) > 0 {
			return fmt.Errorf("thread %d ends before its copies", t)
		}
	}
	for w := range a.warps {
		p := &a.warps[w]
		if first := w &^ 3; p.trace != a.warps[first].trace || p.trace != 0 && len(a.warps) < first+4 {
			return fmt.Errorf("warp %d has not begun the products of warp %d", w, first)
		}
		if b.Ended(w*lanes) && len(p.all()) > 0 {
			return fmt.Errorf("warp %d ends before its products", w)
		}
	}
	return nil
}
