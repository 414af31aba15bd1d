//go:build unix

package command

import "syscall"

// noCores disables core dumps of this process and of processes that it starts, because a core dump would
// contain the records in memory.
func noCores() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
