package ptxtest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Module is a parsed PTX program.
type Module struct {
	kernels map[string]*kernel
}

type kernel struct {
	name      string
	params    map[string]int // position of each parameter by name
	threads   int            // number of threads of a block (.maxntid)
	code      []instruction
	registers []uint64 // initial values; constants are registers, too
	set       []bool   // registers that have a value from the start
	shared    int      // bytes of shared memory
	extension Extension
}

// instruction is one instruction with its operands as numbers of registers. The fields that every thread reads
// at every step come first and are small, because the code does not fit into caches.
type instruction struct {
	pure    op    // function of an instruction of kind pure
	guard   int32 // register of the predicate, or -1
	dst     int32
	src     [3]int32
	kind    kind
	negated bool
	signed  bool
	vector  bool  // the instruction has operands in braces
	target  int32 // index of the target of a branch
	size    int32 // size of a memory access in bytes

	offset    int64   // constant offset of an address
	many      []int32 // operands of instructions of kind warp and of vector instructions, in order
	foreign   *Foreign
	name      string
	line      int
	parameter int
}

type kind uint8

const (
	pure kind = iota
	special
	loadParam
	loadGlobal
	storeGlobal
	reduceGlobal
	loadShared
	storeShared
	warp    // all lanes of a warp run it together
	foreign // of an extension
	branch
	barrier
	exit
)

// Special registers.
const (
	tidX = iota
	tidY
	ctaidX
	ctaidY
	ntidX
	nctaidY
)

var specials = map[string]int{"%tid.x": tidX, "%tid.y": tidY, "%ctaid.x": ctaidX, "%ctaid.y": ctaidY, "%ntid.x": ntidX,
	"%nctaid.y": nctaidY}

// parser holds the state of one kernel.
type parser struct {
	*kernel
	names   []map[string]int32 // registers of each scope, innermost scope last
	ranges  []map[string]int   // declared registers of each scope: prefix to count
	labels  map[string]int
	jumps   map[int]string // number of the instruction to label
	symbols map[string]int // shared variables
	consts  map[string]int32
}

// Parse parses PTX. It returns an error for text that it does not support.
func Parse(text string) (*Module, error) { return ParseExtended(text, nil) }

// ParseExtended is Parse for PTX with the instructions of an extension. A nil extension has none.
func ParseExtended(text string, more Extension) (*Module, error) {
	m := &Module{kernels: map[string]*kernel{}}
	var p *parser
	depth := 0
	for number, raw := range strings.Split(text, "\n") {
		line, _, _ := strings.Cut(raw, "//")
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == "" || line == ")" || line == "(":
		case depth == 0 && strings.HasPrefix(line, ".visible .entry"):
			name := strings.TrimRight(strings.Fields(line)[2], "()")
			p = &parser{kernel: &kernel{name: name, params: map[string]int{}, extension: more}, labels: map[string]int{},
				jumps:   map[int]string{},
				symbols: map[string]int{}, consts: map[string]int32{}}
			m.kernels[name] = p.kernel
		case depth == 0 && strings.HasPrefix(line, ".param"):
			f := strings.Fields(strings.TrimRight(line, ",)"))
			p.params[f[2]] = len(p.params)
		case depth == 0 && strings.HasPrefix(line, ".maxntid"):
			p.threads, err = strconv.Atoi(strings.TrimRight(strings.Fields(line)[1], ","))
		case line == "{":
			if p == nil {
				return nil, fmt.Errorf("ptx line %d: a block outside of a kernel", number+1)
			}
			depth++
			p.names, p.ranges = append(p.names, map[string]int32{}), append(p.ranges, map[string]int{})
		case line == "}":
			depth--
			p.names, p.ranges = p.names[:depth], p.ranges[:depth]
			if depth == 0 {
				err = p.finish()
			}
		case depth == 0: // .version, .target, .address_size
		default:
			err = p.statement(line, number+1)
		}
		if err != nil {
			return nil, fmt.Errorf("ptx line %d: %q: %w", number+1, line, err)
		}
	}
	if depth != 0 || len(m.kernels) == 0 {
		return nil, fmt.Errorf("ptx: %d kernels, %d open blocks", len(m.kernels), depth)
	}
	return m, nil
}

func (p *parser) statement(line string, number int) error {
	if label, ok := strings.CutSuffix(line, ":"); ok {
		p.labels[label] = len(p.code)
		return nil
	}
	line, ok := strings.CutSuffix(line, ";")
	if !ok {
		return fmt.Errorf("no semicolon")
	}
	fields := strings.Fields(line)
	switch fields[0] {
	case ".pragma":
		return nil
	case ".reg":
		prefix, count, _ := strings.Cut(strings.TrimSuffix(fields[2], ">"), "<")
		n := 0
		if count != "" {
			var err error
			if n, err = strconv.Atoi(count); err != nil {
				return err
			}
		}
		p.ranges[len(p.ranges)-1][prefix] = n
		return nil
	case ".shared":
		align, err := strconv.Atoi(fields[2])
		if err != nil || align < 1 {
			return fmt.Errorf("alignment %s", fields[2])
		}
		name, size, _ := strings.Cut(strings.TrimSuffix(fields[4], "]"), "[")
		n, err := strconv.Atoi(size)
		p.shared = (p.shared + align - 1) / align * align
		p.symbols[name] = p.shared
		p.shared += (n + 15) &^ 15
		return err
	}
	i := instruction{guard: -1, dst: -1, target: -1, line: number}
	if guard, ok := strings.CutPrefix(fields[0], "@"); ok {
		guard, i.negated = strings.TrimPrefix(guard, "!"), strings.HasPrefix(guard, "!")
		var err error
		if i.guard, err = p.register(guard); err != nil {
			return err
		}
		fields = fields[1:]
	}
	i.name = fields[0]
	operands := strings.Split(strings.NewReplacer("{", "", "}", "").Replace(strings.Join(fields[1:], " ")), ",")
	i.vector = strings.Contains(line, "{")
	for k := range operands {
		operands[k] = strings.TrimSpace(operands[k])
	}
	err := p.decode(&i, operands)
	p.code = append(p.code, i)
	return err
}

// decode sets the kind and the operands of an instruction.
func (p *parser) decode(i *instruction, operands []string) (err error) {
	parts := strings.Split(i.name, ".")
	switch base := parts[0]; {
	case base == "ret" || base == "exit":
		i.kind = exit
		return nil
	case base == "bra":
		i.kind = branch
		p.jumps[len(p.code)] = operands[0]
		return nil
	case base == "bar" || base == "barrier":
		i.kind = barrier
		return nil
	case base == "ld" || base == "st" || base == "red":
		return p.memory(i, parts, operands)
	case p.extension != nil && p.extension.Knows(i.name):
		i.kind, i.foreign = foreign, &Foreign{Name: i.name, Line: i.line}
		if i.guard >= 0 {
			return fmt.Errorf("a predicate")
		}
		return p.extension.Decode(i.foreign, operands, p.register)
	case collectives[i.name].operands > 0:
		return p.collective(i, operands)
	case i.vector:
		return fmt.Errorf("unknown instruction with a vector")
	}
	if len(operands) == 2 {
		if s, ok := specials[operands[1]]; ok && parts[0] == "mov" {
			i.kind, i.parameter = special, s
			i.dst, err = p.register(operands[0])
			return err
		}
	}
	f, ok := operations[i.name]
	if !ok {
		return fmt.Errorf("unknown instruction")
	}
	i.pure = f
	if i.dst, err = p.register(operands[0]); err != nil {
		return err
	}
	if len(operands) < 2 || len(operands) > 4 {
		return fmt.Errorf("%d operands", len(operands))
	}
	for k, o := range operands[1:] {
		if i.src[k], err = p.operand(o); err != nil {
			return err
		}
	}
	for k := len(operands) - 1; k < len(i.src); k++ {
		i.src[k] = i.src[0]
	}
	return nil
}

// memory decodes the instructions ld, st and red.
func (p *parser) memory(i *instruction, parts, operands []string) (err error) {
	kinds := map[string]kind{"ld.param": loadParam, "ld.global": loadGlobal, "st.global": storeGlobal,
		"red.global": reduceGlobal, "ld.shared": loadShared, "st.shared": storeShared}
	var ok bool
	if i.kind, ok = kinds[parts[0]+"."+parts[1]]; !ok {
		return fmt.Errorf("unknown memory instruction")
	}
	last := parts[len(parts)-1]
	if i.kind == loadGlobal && parts[2] == "nc" && len(parts) > 3 { // memory that no thread writes
		parts = append(parts[:2:2], parts[3:]...)
	}
	width := 1
	if len(parts) == 4 && (parts[2] == "v2" || parts[2] == "v4") && i.kind != loadParam {
		width = int(parts[2][1] - '0')
		parts = append(parts[:2:2], parts[3])
	}
	if parts[0] == "red" && i.name != "red.global.add.u64" || parts[0] != "red" && len(parts) != 3 ||
		i.vector != (width > 1) || len(operands) != width+1 {
		return fmt.Errorf("unknown memory instruction")
	}
	bits, err := strconv.Atoi(last[1:])
	if err != nil || bits != 32 && bits != 64 {
		return fmt.Errorf("unknown type %q", last)
	}
	i.size, i.signed = int32(bits/8), last[0] == 's'
	address, values, name := operands[width], operands[:width], p.register
	if parts[0] != "ld" {
		address, values, name = operands[0], operands[1:], p.operand
	}
	for _, v := range values {
		r, err := name(v)
		if err != nil {
			return err
		}
		i.many = append(i.many, r)
	}
	address = strings.Trim(address, "[]")
	if i.kind == loadParam {
		if i.parameter, ok = p.params[address]; !ok {
			return fmt.Errorf("unknown parameter")
		}
		i.dst = i.many[0]
		return nil
	}
	base, offset, _ := strings.Cut(address, "+")
	if offset != "" {
		if i.offset, err = strconv.ParseInt(offset, 0, 64); err != nil {
			return err
		}
	}
	i.src[0], err = p.operand(base)
	return err
}

// register returns the number of a declared register.
func (p *parser) register(name string) (int32, error) {
	for s := len(p.names) - 1; s >= 0; s-- {
		if r, ok := p.names[s][name]; ok {
			return r, nil
		}
		prefix := strings.TrimRight(name, "0123456789")
		index, _ := strconv.Atoi(name[len(prefix):])
		if n, ok := p.ranges[s][prefix]; ok && (len(prefix) == len(name)) == (n == 0) && (n == 0 || index < n) {
			r := p.newRegister(0, false)
			p.names[s][name] = r
			return r, nil
		}
	}
	return 0, fmt.Errorf("register %s is not declared", name)
}

func (p *parser) newRegister(v uint64, set bool) int32 {
	p.registers, p.set = append(p.registers, v), append(p.set, set)
	return int32(len(p.registers) - 1)
}

// operand returns the number of a register. For a constant it returns a register that holds the constant.
func (p *parser) operand(o string) (int32, error) {
	if r, ok := p.consts[o]; ok {
		return r, nil
	}
	var v uint64
	switch {
	case strings.HasPrefix(o, "%"):
		return p.register(o)
	case strings.HasPrefix(o, "0f"), strings.HasPrefix(o, "0d"):
		bits, err := strconv.ParseUint(o[2:], 16, 64)
		if err != nil {
			return 0, err
		}
		v = bits
	default:
		if at, ok := p.symbols[o]; ok {
			v = uint64(at)
			break
		}
		n, err := strconv.ParseInt(o, 0, 64)
		if err != nil {
			u, err := strconv.ParseUint(o, 0, 64)
			if err != nil {
				return 0, fmt.Errorf("cannot read the operand %s", o)
			}
			n = int64(u)
		}
		v = uint64(n)
	}
	r := p.newRegister(v, true)
	p.consts[o] = r
	return r, nil
}

// finish resolves branches.
func (p *parser) finish() error {
	for at, label := range p.jumps {
		target, ok := p.labels[label]
		if !ok {
			return fmt.Errorf("no label %s", label)
		}
		p.code[at].target = int32(target)
	}
	if len(p.code) == 0 {
		return fmt.Errorf("kernel %s is empty", p.name)
	}
	if last := p.code[len(p.code)-1]; last.guard >= 0 || last.kind != exit && last.kind != branch {
		return fmt.Errorf("kernel %s does not end with ret", p.name)
	}
	if p.threads == 0 || p.threads > math.MaxInt16 {
		return fmt.Errorf("kernel %s has no .maxntid", p.name)
	}
	return nil
}
