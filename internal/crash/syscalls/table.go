package main

// The exit codes of the program. Bad input is refused before anything is charged.
const (
	exitOK        = 0
	exitFailure   = 1
	exitInput     = 64
	exitResource  = 3
	exitElsewhere = 4 // charged and released; the result is kept under another name
)

// exitDied is Go's own code for a fatal error.
const exitDied = 2

// kind chooses the rules that a command must keep.
type kind int

const (
	charged kind = iota // charges once and releases a result, which --resume RUN publishes
	stream              // charges once and releases from a state; the same command goes on
	file                // writes a file, which is whole or absent
	book                // reads or rewrites the ledger; totals stay
)

// command is a row: a command line in the folder of a template, and the file that it writes.
type command struct {
	row     string // unique; the command's name, and what is special
	args    string // fields
	out     string // "" writes to standard output
	kind    kind
	charges int    // of a complete run
	known   string // a defect that is known to break cells of this row: they are reported and do not fail the run
}

const (
	onFile      = " --data p.csv --schema p.yaml"
	atOne       = " --epsilon 1 --delta 1e-5 --ledger led"
	streamState = "state.of"
)

// A new command that has --ledger needs a row (TestEveryLedgerCommandHasARow).
var commands = []command{
	{"train", "train --algorithm moments --out out" + onFile + atOne, "out", charged, 1, ""},
	{"train with checkpoints", "train --algorithm dpgdsc --steps 40 --checkpoint-every 1ms --out out" + onFile + atOne,
		"out", charged, 1, ""},
	{"train on a pack", "train --algorithm dpgdsc --data p.dyadpack --schema p.yaml --steps 40 --out out" + atOne, "out",
		charged, 1, ""},
	{"train with held-out figures", "train --algorithm moments --holdout 0.3 --holdout-epsilon 0.5 --out out" +
		onFile + atOne, "out", charged, 2, ""},
	{"search", "search --candidates c.yaml --out out" + onFile + atOne, "out", charged, 1, ""},
	{"pairs train", "pairs train --density 2 --degree-cap 6 --data p.csv --schema i.yaml --out out" + atOne, "out",
		charged, 1, ""},
	{"cluster", "cluster -k 2 --out out" + onFile + atOne, "out", charged, 1, ""},
	{"evaluate private", "evaluate private m.json --data p.csv --out out" + atOne, "out", charged, 1, ""},
	{"evaluate to standard output", "evaluate m.json --data p.csv" + atOne, "", charged, 1, ""},
	{"threshold", "threshold m.json --data p.csv --out out" + atOne, "out", charged, 1, ""},
	{"local simulate", "local simulate --epochs 2 --data p.csv --schema u.yaml --epsilon 1 --ledger led --out out", "out",
		charged, 1, ""},
	{"local simulate to standard output", "local simulate --epochs 2 --data p.csv --schema u.yaml --epsilon 1 --ledger led", "", charged, 1, ""},
	{"online", "online --records 300 --every 100 --state " + streamState + " --out out" + onFile + atOne, "out",
		stream, 1, ""},
	{"ledger init", "ledger init clinic --epsilon 100 --delta 1e-5 --ledger led", "", book, 0, ""},
	{"ledger compact", "ledger compact --ledger led", "", book, 0, ""},
	{"ledger verify", "ledger verify --ledger led", "", book, 0, ""},
	{"ledger show", "ledger show --ledger led", "", book, 0, ""},
	{"ledger key", "ledger key --ledger led", "", book, 0, ""},
	{"doctor", "doctor --ledger led", "", book, 0, ""},
	{"report", "report m.json --ledger led --out out", "out", file, 0, ""},
	{"verify", "verify m.json --ledger led", "", book, 0, ""},
	{"export", "export m.json --onnx --out out", "out", file, 0, ""},
	{"predict", "predict m.json --data p.csv --out out", "out", file, 0, ""},
	{"data convert", "data convert p.csv out.csv --schema p.yaml", "out.csv", file, 0, ""},
	{"data pack", "data pack p.csv --schema p.yaml --out out.dyadpack", "out.dyadpack", file, 0, ""},
}

// noRow lists the commands with --ledger that have no row, with the reasons.
var noRow = map[string]string{
	"ledger sign":      "TestSignatureAfterACrash covers the function that writes the signature",
	"evaluate exact":   "reads the ledger and writes nothing to it",
	"evaluate compare": "the row of evaluate private tests the same function",
	"baseline":         "it trains on public data, with the code of train, and charges nothing",
	"lab curve":        "the runs take minutes, and each is charged like train and evaluate",
}

// kill is the fault SIGKILL before the call. The other faults are errors of the call: errors for all calls and
// an error of this call.
const kill = "kill"

// call is a system call, by its names in strace, with an error of its own.
type call struct{ name, all, own string }

func (c call) faults() []string { return []string{kill, "EIO", "ENOSPC", c.own} }

var calls = []call{
	{"fsync", "fsync", "EROFS"},
	{"renameat", "rename,renameat,renameat2", "EROFS"},
	{"write", "write", "EFBIG"},
	{"pwrite64", "pwrite64", "EFBIG"},
	{"ftruncate", "ftruncate", "EPERM"},
	{"fchmod", "fchmod", "EPERM"},
	{"unlinkat", "unlink,unlinkat", "EROFS"},
	{"linkat", "link,linkat", "EPERM"},
	{"flock", "flock", "ENOLCK"},
	{"openat", "open,openat", "EMFILE"},
	{"close", "close", "EINTR"},
	{"read", "read", "EINTR"},
	{"fdatasync", "fdatasync", "EROFS"},
	{"mmap", "mmap", "ENOMEM"},
	{"getrandom", "getrandom", "ENOSYS"},
}
