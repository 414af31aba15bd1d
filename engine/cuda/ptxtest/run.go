package ptxtest

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Machine holds the memory of a simulated GPU, the settings of the interpreter, and counters. It must be used
// from one goroutine at a time.
type Machine struct {
	// Skew is the error of approximate instructions as a multiple of their documented error. If it is positive,
	// the error is upwards.
	Skew float64
	// Signs maps the name of an instruction to a factor by which its Skew is multiplied. Errors that cancel
	// with equal signs can add up with different signs.
	Signs map[string]float64
	// Ulps moves the result of every instruction that rounds float64 up or down by this number of units
	// in the last place. It is for tests of claims that do not depend on correct rounding.
	Ulps int
	// If Host is not nil and Skew and Ulps are 0, Host runs the same kernels as the interpreter, and the
	// results must have the same bits. If HostOnly is true, the interpreter does not run.
	Host     *Host
	HostOnly bool
	// Counts holds the numbers of executed instructions by name, summed over all threads.
	Counts map[string]int64

	buffers [][]byte
}

// Alloc returns the address of a new buffer of zeros. Addresses of different buffers are 2^32 apart, so that a
// wrong index does not reach another buffer.
func (m *Machine) Alloc(bytes int) uint64 {
	m.buffers = append(m.buffers, make([]byte, bytes))
	return uint64(len(m.buffers)) << 32
}

// Free frees the buffer at address and reports whether there was such a buffer.
func (m *Machine) Free(address uint64) bool {
	b := m.Bytes(address, 0)
	if b == nil || uint32(address) != 0 {
		return false
	}
	m.buffers[address>>32-1] = nil
	return true
}

// Live returns the number of buffers that have not been freed.
func (m *Machine) Live() int {
	n := 0
	for _, b := range m.buffers {
		if b != nil {
			n++
		}
	}
	return n
}

// Bytes returns the memory of size bytes at an address. It returns nil if these bytes are not in one buffer.
func (m *Machine) Bytes(address uint64, size int) []byte {
	id, offset := int(address>>32)-1, int(uint32(address))
	if id < 0 || id >= len(m.buffers) || m.buffers[id] == nil || size < 0 || offset+size > len(m.buffers[id]) {
		return nil
	}
	return m.buffers[id][offset:][:size:size]
}

// Run launches a kernel on a grid of blocks with the number of threads that the kernel was compiled for.
// Arguments are words as for the driver. Blocks run one after the other in reverse order, so that a test can
// detect results that depend on the order of blocks.
func (m *Machine) Run(module *Module, name string, gridX, gridY int, args ...uint64) error {
	if m.Host != nil && m.Skew == 0 && m.Ulps == 0 {
		return m.runOnHost(module, name, gridX, gridY, args)
	}
	return m.interpret(module, name, gridX, gridY, args)
}

func (m *Machine) interpret(module *Module, name string, gridX, gridY int, args []uint64) error {
	k := module.kernels[name]
	if k == nil {
		return fmt.Errorf("ptx: no kernel %s", name)
	}
	if len(args) != len(k.params) {
		return fmt.Errorf("ptx: %s takes %d arguments, got %d", name, len(k.params), len(args))
	}
	if m.Counts == nil {
		m.Counts = map[string]int64{}
	}
	b := &Block{Machine: m, kernel: k, args: args, gridY: gridY, counts: make([]int64, len(k.code)),
		code: append([]instruction(nil), k.code...)}
	for i := range b.code {
		skew := m.Skew
		if sign, ok := m.Signs[b.code[i].name]; ok {
			skew *= sign
		}
		if f := approximate(b.code[i].name, skew); f != nil {
			b.code[i].pure = f
		}
		if name := b.code[i].name; m.Ulps > 0 && strings.HasSuffix(name, ".rn.f64") {
			b.code[i].pure = disturb(b.code[i].pure, m.Ulps)
		}
	}
	for y := gridY - 1; y >= 0; y-- {
		for x := gridX - 1; x >= 0; x-- {
			if err := b.run(x, y); err != nil {
				return fmt.Errorf("ptx: %s, block (%d, %d): %w", name, x, y, err)
			}
		}
	}
	for i, n := range b.counts {
		if n > 0 {
			m.Counts[k.code[i].name] += n
		}
	}
	return nil
}

// Block is a running block of threads.
type Block struct {
	*Machine
	*kernel
	code    []instruction
	args    []uint64
	counts  []int64
	x, y    int
	gridY   int
	threads []state
	Shared  []byte // shared memory
	Words   []Word // the words of shared memory
	Phase   int32  // number of the current phase between barriers, from 1
}

// Word describes the last write and the last read of a word of shared memory. Written and Read are their
// phases, and Writer and Reader are their threads. Reader is Many if several threads read.
type Word struct{ Written, Read, Writer, Reader int32 }

// Many stands for several threads.
const Many = -1

// state is the state of one thread.
type state struct {
	registers []uint64
	set       []bool // registers that have a value
	pc        int
	done      bool
	barrier   bool // waits at the barrier before pc
}

//go:norace
func (b *Block) run(x, y int) error {
	b.x, b.y, b.Phase = x, y, 1
	if b.threads == nil {
		b.threads = make([]state, b.kernel.threads)
		for t := range b.threads {
			b.threads[t] = state{registers: make([]uint64, len(b.registers)), set: make([]bool, len(b.set))}
		}
		b.Shared, b.Words = make([]byte, b.kernel.shared), make([]Word, b.kernel.shared/4)
	}
	clear(b.Words)
	if b.extension != nil {
		b.extension.Start(b)
	}
	for t := range b.threads {
		s := &b.threads[t]
		copy(s.registers, b.registers)
		copy(s.set, b.set)
		s.pc, s.done, s.barrier = 0, false, false
	}
	for {
		at, running := -1, 0
		for w := (len(b.threads) - 1) / lanes; w >= 0; w-- { // from the last warp, because the order must not matter
			if err := b.advanceWarp(w); err != nil {
				return err
			}
			for t := w * lanes; t < min((w+1)*lanes, len(b.threads)); t++ {
				s := &b.threads[t]
				if s.done {
					continue
				}
				if at >= 0 && s.pc != at {
					return fmt.Errorf("threads wait at the barriers of lines %d and %d", b.code[at-1].line, b.code[s.pc-1].line)
				}
				at = s.pc
				running++
			}
		}
		if b.extension != nil {
			if err := b.extension.Meet(b); err != nil {
				return err
			}
		}
		if running == 0 {
			return nil
		}
		if running != len(b.threads) {
			return fmt.Errorf("only %d of %d threads reach the barrier of line %d", running, len(b.threads), b.code[at-1].line)
		}
		b.Phase++
	}
}

// advance runs a thread to its end, past the next barrier, or up to an instruction that all lanes of the warp
// run together.
//
//go:norace
func (b *Block) advance(s *state, t int) error {
	registers, set, code := s.registers, s.set, b.code
	for {
		i := &code[s.pc]
		if i.guard >= 0 {
			if !s.set[i.guard] {
				return fmt.Errorf("the predicate of %s is not set", i.name)
			}
			if (s.registers[i.guard] != 0) == i.negated {
				s.pc++
				continue
			}
		}
		if i.kind == warp || i.kind == foreign && i.foreign.Warp {
			return nil
		}
		b.counts[s.pc]++
		switch i.kind {
		case pure:
			// Missing operands of an instruction are copies of its first operand.
			if !set[i.src[0]] || !set[i.src[1]] || !set[i.src[2]] {
				return fmt.Errorf("an operand of %s is not set", i.name)
			}
			if b.extension != nil {
				if err := b.extension.Writes(t, i.dst); err != nil {
					return fmt.Errorf("%s %w", i.name, err)
				}
			}
			registers[i.dst] = i.pure(registers[i.src[0]], registers[i.src[1]], registers[i.src[2]])
			set[i.dst] = true
		case special:
			v := []int{tidX: t, tidY: 0, ctaidX: b.x, ctaidY: b.y, ntidX: len(b.threads), nctaidY: b.gridY}[i.parameter]
			if err := b.put(t, i, i.dst, uint64(v)); err != nil {
				return err
			}
		case loadParam:
			v := b.args[i.parameter]
			if i.size == 4 {
				v = uint64(uint32(v))
			}
			if err := b.put(t, i, i.dst, v); err != nil {
				return err
			}
		case branch:
			s.pc = int(i.target)
			continue
		case exit:
			s.done = true
			return nil
		case barrier:
			s.pc++
			s.barrier = true
			return nil
		case foreign:
			if err := i.foreign.Run(b, t); err != nil {
				return err
			}
		default:
			if err := b.access(s, i, t); err != nil {
				return err
			}
		}
		s.pc++
	}
}

// access runs a load, store or reduction.
//
//go:norace
func (b *Block) access(s *state, i *instruction, t int) error {
	store := i.kind == storeGlobal || i.kind == storeShared || i.kind == reduceGlobal
	if !s.set[i.src[0]] {
		return fmt.Errorf("an operand of %s is not set", i.name)
	}
	address := s.registers[i.src[0]] + uint64(i.offset)
	total := int(i.size) * len(i.many)
	if address%uint64(total) != 0 {
		return fmt.Errorf("%s of the address %#x, which is not aligned", i.name, address)
	}
	var memory []byte
	if i.kind == loadShared || i.kind == storeShared {
		if address+uint64(total) > uint64(len(b.Shared)) {
			return fmt.Errorf("%s outside of shared memory", i.name)
		}
		memory = b.Shared[address:][:total]
		for w := address / 4; w < (address+uint64(total))/4; w++ {
			if err := b.Touch(int(w), t, store); err != nil {
				return fmt.Errorf("%s: %w", i.name, err)
			}
		}
	} else if memory = b.Bytes(address, total); memory == nil {
		return fmt.Errorf("%s outside of every buffer, at %#x", i.name, address)
	}
	for _, r := range i.many {
		if store && !s.set[r] {
			return fmt.Errorf("an operand of %s is not set", i.name)
		}
		switch {
		case !store:
			var v uint64
			if i.size == 8 {
				v = binary.LittleEndian.Uint64(memory)
			} else if u := binary.LittleEndian.Uint32(memory); i.signed {
				v = uint64(int64(int32(u)))
			} else {
				v = uint64(u)
			}
			if err := b.put(t, i, r, v); err != nil {
				return err
			}
		case i.kind == reduceGlobal:
			binary.LittleEndian.PutUint64(memory, binary.LittleEndian.Uint64(memory)+s.registers[r])
		case i.size == 8:
			binary.LittleEndian.PutUint64(memory, s.registers[r])
		default:
			binary.LittleEndian.PutUint32(memory, uint32(s.registers[r]))
		}
		memory = memory[i.size:]
	}
	return nil
}

// put sets a register of thread t.
//
//go:norace
func (b *Block) put(t int, i *instruction, r int32, v uint64) error {
	if b.extension != nil {
		if err := b.extension.Writes(t, r); err != nil {
			return fmt.Errorf("%s %w", i.name, err)
		}
	}
	b.threads[t].registers[r], b.threads[t].set[r] = v, true
	return nil
}

// Touch records that thread t reads or writes a word of shared memory, and finds races.
//
//go:norace
func (b *Block) Touch(word, t int, store bool) error {
	w, by := &b.Words[word], int32(t)
	switch {
	case w.Written == b.Phase && w.Writer != by:
		return fmt.Errorf("threads %d and %d touch the same word without a barrier", w.Writer, t)
	case store && w.Read == b.Phase && w.Reader != by:
		return fmt.Errorf("thread %d writes a word that another reads without a barrier", t)
	case !store && w.Written == 0:
		return fmt.Errorf("thread %d reads shared memory that was never written", t)
	}
	if b.extension != nil {
		if err := b.extension.Touches(t, word, store); err != nil {
			return err
		}
	}
	switch {
	case store:
		w.Written, w.Writer = b.Phase, by
	case w.Read == b.Phase && w.Reader != by:
		w.Reader = Many
	default:
		w.Read, w.Reader = b.Phase, by
	}
	return nil
}
