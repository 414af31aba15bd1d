//go:build unix

package command

import "syscall"

// noCores keeps the records in memory out of core dumps: of this process and of those that it starts.
func noCores() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
