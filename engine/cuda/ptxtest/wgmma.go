package ptxtest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// This file implements asynchronous instructions: copies to shared memory, and matrix products of four warps
// with the second factor in shared memory. Until a thread has waited for such an instruction, an access to its
// operands is an error. The interpreter changes memory and registers only at this wait.

// asynchronous decodes an asynchronous instruction.
func (p *parser) asynchronous(i *instruction, operands []string) (err error) {
	p.matrices = true
	shape, product := strings.CutPrefix(i.name, "wgmma.mma_async.sync.aligned.m64n")
	switch {
	case i.guard >= 0:
		return fmt.Errorf("a predicate")
	case i.name == "cp.async.cg.shared.global" && len(operands) == 3 && operands[2] == "16":
		i.kind = copyAsync
		for k, o := range operands[:2] {
			if i.src[k], err = p.register(strings.Trim(o, "[]")); err != nil {
				return err
			}
		}
		return nil
	case i.name == "cp.async.wait_all":
		i.kind = waitCopies
		return nil
	case i.name == "fence.proxy.async.shared::cta":
		i.kind = showToAsync
		return nil
	case i.name == "wgmma.fence.sync.aligned", i.name == "wgmma.commit_group.sync.aligned":
		i.kind = matrix
		return nil
	case i.name == "wgmma.wait_group.sync.aligned":
		i.kind = matrix
		i.parameter, err = strconv.Atoi(operands[0])
		return err
	case !product:
		return fmt.Errorf("unknown asynchronous instruction")
	}
	i.kind = matrix
	columns, ok := strings.CutSuffix(shape, "k16.f32.bf16.bf16")
	if i.parameter, err = strconv.Atoi(columns); !ok || err != nil || i.parameter%8 != 0 || i.parameter > 256 {
		return fmt.Errorf("unknown shape")
	}
	// The operands are D, A in registers, the descriptor of B, whether D is a summand, the signs of A and B,
	// and whether B is stored by rows.
	n := i.parameter / 2
	if len(operands) != n+4+1+1+3 || operands[n+6] != "1" || operands[n+7] != "1" {
		return fmt.Errorf("operands %v", operands)
	}
	byRows, err := strconv.ParseInt(operands[n+8], 10, 32)
	if err != nil {
		return err
	}
	i.size = int32(byRows)
	for _, o := range operands[:n+6] {
		r, err := p.register(o)
		if err != nil {
			return err
		}
		i.many = append(i.many, r)
	}
	return nil
}

// copying is a copy of 16 bytes that has begun.
type copying struct{ from, to []byte }

//go:norace
func (b *block) copyAsync(s *state, i *instruction, t int) error {
	if s.set[i.src[0]]&s.set[i.src[1]]&known == 0 {
		return fmt.Errorf("an operand of %s is not set", i.name)
	}
	to, at := s.registers[i.src[0]], s.registers[i.src[1]]
	from := b.Bytes(at, 16)
	switch {
	case to%16 != 0 || at%16 != 0:
		return fmt.Errorf("%s between %#x and %#x, which are not aligned", i.name, at, to)
	case to+16 > uint64(len(b.shared)):
		return fmt.Errorf("%s outside of shared memory", i.name)
	case from == nil:
		return fmt.Errorf("%s outside of every buffer, at %#x", i.name, at)
	}
	for w := int(to / 4); w < int(to/4)+4; w++ {
		if err := b.touch(&b.words[w], int32(t), true); err != nil {
			return fmt.Errorf("%s: %w", i.name, err)
		}
		b.words[w].copying = true
		s.written = append(s.written, w)
	}
	s.copies = append(s.copies, copying{from, b.shared[to:][:16]})
	return nil
}

//go:norace
func (b *block) finishCopies(s *state) {
	for _, c := range s.copies {
		copy(c.to, c.from)
	}
	for _, w := range s.written {
		if b.words[w].copying {
			b.words[w].copying, b.words[w].written = false, b.phase
		}
	}
	s.copies = s.copies[:0]
}

// products holds the products of one warp that are in flight.
type products struct {
	fenced bool
	open   []*product   // products that are not committed
	groups [][]*product // groups of products that are committed and not waited for
	trace  uint64       // hash of the products that were begun, equal for the four warps of a group
}

// product is a product D = A B + D in flight.
type product struct {
	*instruction
	a      [lanes][4]uint64
	add    bool
	at     [16][]int // at[k][n] is the byte of shared memory of row k and column n of B
	shared []byte
	words  []word
}

// matrixProductError is the assumed error of wgmma with 16 terms. It is twice the assumed error of mma.sync.
var matrixProductError = 2 * productError(16)

// run runs a wgmma instruction on the lanes of a warp.
//
//go:norace
func (p *products) run(b *block, threads []state, i *instruction) error {
	switch i.name {
	case "wgmma.fence.sync.aligned":
		p.fenced = true
		for t := range threads {
			for r := range threads[t].set {
				threads[t].set[r] &^= fresh
			}
		}
		return nil
	case "wgmma.commit_group.sync.aligned":
		p.groups, p.open = append(p.groups, p.open), nil
		return nil
	case "wgmma.wait_group.sync.aligned":
		for len(p.groups) > i.parameter {
			for _, m := range p.groups[0] {
				m.finish(threads, b.Skew, b.phase)
			}
			p.groups = p.groups[1:]
		}
		for _, g := range append(p.groups, p.open) {
			for _, m := range g {
				m.lock(threads)
			}
		}
		return nil
	}
	if !p.fenced {
		return fmt.Errorf("no wgmma.fence before the first product")
	}
	m, err := p.begin(b, threads, i)
	if err != nil {
		return err
	}
	p.open = append(p.open, m)
	return nil
}

// begin checks the operands of a product and captures A.
//
//go:norace
func (p *products) begin(b *block, threads []state, i *instruction) (*product, error) {
	m := &product{instruction: i, shared: b.shared, words: b.words}
	n := i.parameter / 2
	same := make([]bool, n) // registers of D that belong to a product in flight
	for _, g := range append(p.groups, p.open) {
		for _, other := range g {
			for k := range min(n, other.parameter/2) {
				same[k] = same[k] || other.parameter == i.parameter && other.many[k] == i.many[k]
			}
		}
	}
	descriptor, add := threads[0].registers[i.many[n+4]], threads[0].registers[i.many[n+5]]
	for lane := range threads {
		s := &threads[lane]
		for k, r := range i.many {
			set := s.set[r]
			switch d := k < n; {
			case d && set&busy != 0 && !same[k]:
				return nil, fmt.Errorf("the register of a sum still belongs to another product that has not finished")
			case d && add != 0 && set&(known|busy) == 0, !d && set&known == 0:
				return nil, fmt.Errorf("operand %d of %s is not set", k, i.name)
			case k < n+4 && set&fresh != 0:
				return nil, fmt.Errorf("operand %d of %s was written after the last wgmma.fence", k, i.name)
			}
		}
		if s.registers[i.many[n+4]] != descriptor || s.registers[i.many[n+5]] != add {
			return nil, fmt.Errorf("all lanes must have the same descriptor, and either all lanes or no lane must " +
				"add to the sums")
		}
		for k := range 4 {
			m.a[lane][k] = s.registers[i.many[n+k]]
		}
	}
	m.add = add != 0
	if err := m.locate(descriptor, b.phase); err != nil {
		return nil, err
	}
	m.lock(threads)
	for _, v := range []uint64{uint64(i.line), descriptor, add} {
		p.trace = (p.trace ^ v) * 0x9e3779b97f4a7c15
		p.trace ^= p.trace >> 29
	}
	return m, nil
}

// locate finds the numbers of B from the descriptor of B, according to PTX ISA, "Matrix Descriptor Format" and
// "Canonical Layouts". T = 8 numbers have 16 bytes. A swizzle of 16 2^s bytes exchanges such pieces of 16 bytes
// according to bits 7 to 7 + s - 1 of their address.
//
//go:norace
func (m *product) locate(descriptor uint64, phase int32) error {
	field := func(from, bits int) int { return int(descriptor >> from & (1<<bits - 1)) }
	start, lead, stride, swizzle := 16*field(0, 14), 16*field(16, 14), 16*field(32, 14), field(62, 2)
	if swizzle == 0 || field(49, 3) != 0 || descriptor&(3<<14|3<<30|7<<46|0x3ff<<52) != 0 {
		return fmt.Errorf("the descriptor %#x is unknown", descriptor)
	}
	bits := 4 - swizzle // swizzle 3 has 32 bytes, 2 has 64 and 1 has 128
	row := 16 << bits   // bytes of a row
	for k := range m.at {
		m.at[k] = make([]int, m.parameter)
		for n := range m.parameter {
			var at int
			if m.size == 0 { // n is the row: ((8, m), (T, 2k)) : ((2^s T, SBO), (1, T))
				at = start + n/8*stride + n%8*row + 2*k
			} else { // k is: ((T, 2^s, m), (8, k)) : ((1, T, LBO), (2^s T, SBO))
				at = start + 2*n/row*lead + 2*n%row + k/8*stride + k%8*row
			}
			at ^= at >> 7 & (1<<bits - 1) << 4
			if at+2 > len(m.shared) {
				return fmt.Errorf("%s outside of shared memory", m.name)
			}
			m.at[k][n] = at
			switch w := &m.words[at/4]; {
			case w.copying:
				return fmt.Errorf("%s reads a word that is being copied", m.name)
			case w.written == 0:
				return fmt.Errorf("%s reads shared memory that was never written", m.name)
			case w.written == phase:
				return fmt.Errorf("%s reads a word that thread %d wrote, without a barrier", m.name, w.writer)
			case w.hidden:
				return fmt.Errorf("%s reads a word without a fence.proxy.async after it was written", m.name)
			}
		}
	}
	m.read(func(w *word) { w.reading++ })
	return nil
}

// read visits the words of B. A word with two numbers of B is visited twice.
//
//go:norace
func (m *product) read(visit func(w *word)) {
	for _, row := range m.at {
		for _, at := range row {
			visit(&m.words[at/4])
		}
	}
}

// lock marks the registers of a product in flight.
//
//go:norace
func (m *product) lock(threads []state) {
	n := m.parameter / 2
	for t := range threads {
		for k, r := range m.many[:n+4] {
			threads[t].set[r] |= busy
			if k < n {
				threads[t].set[r] &^= known
			}
		}
	}
}

// finish computes D and frees registers and memory. The fragments have the layout of mma.sync.
//
//go:norace
func (m *product) finish(threads []state, skew float64, phase int32) {
	n := m.parameter / 2
	var a [16][16]float64
	for r := range a {
		for k := range a[r] {
			a[r][k] = bf16Half(m.a[r%8*4+k%8/2][r/8+k/8*2], k%2)
		}
	}
	for c := range m.parameter {
		var column [16]float64
		for k := range column {
			at := m.at[k][c]
			column[k] = float64(math.Float32frombits(uint32(m.shared[at])<<16 | uint32(m.shared[at+1])<<24))
		}
		for r := range 16 {
			s, d := &threads[r%8*4+c%8/2], m.many[c/8*4+r/8*2+c%2]
			var sum float64
			if m.add {
				sum = float64(f32(s.registers[d]))
			}
			size := math.Abs(sum)
			for k := range 16 {
				v := a[r][k] * column[k]
				sum += v
				size += math.Abs(v)
			}
			s.registers[d] = bits32(float32(sum + skew*matrixProductError*size*(1-0x1p-20)))
		}
	}
	for t := range threads {
		for k, r := range m.many[:n+4] {
			threads[t].set[r] &^= busy
			if k < n {
				threads[t].set[r] = known | fresh
			}
		}
	}
	m.read(func(w *word) {
		w.reading--
		w.read, w.reader = phase, many
	})
}

// checkGroups is called when the warps wait for each other. It checks that the four warps of each group have
// begun the same products, and that warps that have ended have waited for all of their products.
//
//go:norace
func (b *block) checkGroups() error {
	for w := range b.warps {
		p := &b.warps[w]
		if first := w &^ 3; p.trace != b.warps[first].trace || p.trace != 0 && len(b.warps) < first+4 {
			return fmt.Errorf("warp %d has not begun the products of warp %d", w, first)
		}
		if b.threads[w*lanes].done && len(p.groups)+len(p.open) > 0 {
			return fmt.Errorf("warp %d ends before its products", w)
		}
	}
	return nil
}
