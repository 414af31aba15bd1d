package crash

import "golang.org/x/sys/unix"

var (
	renames = []uintptr{unix.SYS_RENAME, unix.SYS_RENAMEAT}
	unlinks = []uintptr{unix.SYS_UNLINKAT, unix.SYS_UNLINK}
)
