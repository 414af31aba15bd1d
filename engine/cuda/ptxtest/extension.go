package ptxtest

// Extension adds instructions to the interpreter and keeps their state while a block runs. The interpreter
// reports every register and every word of shared memory that other instructions use. So the Extension can
// refuse an access to an operand of an unfinished instruction.
type Extension interface {
	// Knows reports whether the instruction with a name is of the extension.
	Knows(name string) bool
	// Decode sets the fields of an instruction with a name and a line.
	Decode(f *Foreign, operands []string, register func(name string) (int32, error)) error
	// Start is called before a block runs.
	Start(b *Block)
	// Writes is called before thread t writes register r.
	Writes(t int, r int32) error
	// Touches is called before thread t reads or writes a word of shared memory.
	Touches(t, word int, store bool) error
	// Meet is called when every thread waits at a barrier or has ended.
	Meet(b *Block) error
}

// Foreign is an instruction of an Extension.
type Foreign struct {
	Name string
	Line int
	// Warp is true if all lanes of a warp run the instruction together. Run is then called once, with the first
	// thread of the warp.
	Warp bool
	Run  func(b *Block, thread int) error
}

// lanes is the number of threads of a warp.

// Threads returns the number of threads of the block.
func (b *Block) Threads() int { return len(b.threads) }

// Registers returns the registers of thread t and whether each has a value.
func (b *Block) Registers(t int) (values []uint64, set []bool) {
	return b.threads[t].registers, b.threads[t].set
}

// Ended reports whether thread t has ended.
func (b *Block) Ended(t int) bool { return b.threads[t].done }
