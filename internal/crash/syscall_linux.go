//go:build amd64 || arm64

package crash

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the system calls by which a program makes something durable, locks or tidies up.
var calls = map[string][]uintptr{
	"fsync":  {unix.SYS_FSYNC, unix.SYS_FDATASYNC},
	"rename": append(renames, unix.SYS_RENAMEAT2, unix.SYS_LINKAT),
	"flock":  {unix.SYS_FLOCK},
	"unlink": unlinks,
	"chmod":  {unix.SYS_FCHMOD},
}

var errnos = map[string]unix.Errno{"EIO": unix.EIO, "ENOSPC": unix.ENOSPC, "EROFS": unix.EROFS, "ENOLCK": unix.ENOLCK,
	"EDQUOT": unix.EDQUOT, "EINVAL": unix.EINVAL}

// failCalls makes a kind of system call of this process fail from now on, in all threads, as on a broken disk
// or network folder. It uses a seccomp filter, which needs no privilege and cannot be removed again.
func failCalls(kind, errno string) error {
	numbers, code := calls[kind], errnos[errno]
	if len(numbers) == 0 || code == 0 {
		return fmt.Errorf("no system calls %q, or no error %q", kind, errno)
	}
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the call
	for i, n := range numbers {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
			Jt: uint8(len(numbers) - i), K: uint32(n)})
	}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(code)})
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter))); e != 0 {
		return fmt.Errorf("seccomp: %w", e)
	}
	return nil
}

// memoryFolder returns a folder in memory with at least 2 GiB of room in which programs may run, or "".
func memoryFolder() string {
	const folder = "/dev/shm"
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil || s.Type != unix.TMPFS_MAGIC || s.Flags&unix.ST_NOEXEC != 0 ||
		s.Bavail*uint64(s.Bsize) < 2<<30 || unix.Access(folder, unix.W_OK) != nil {
		return ""
	}
	return folder
}
