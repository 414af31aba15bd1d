package memory

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Available returns the available memory in bytes. It returns the smallest of three numbers: the memory that
// the system calls available, the limit of the control group, and the limit of the address space (ulimit -v).
// It returns 0 if none of the three numbers is known.
func Available() float64 {
	var least float64
	limit := func(bytes float64) {
		if bytes > 0 && (least == 0 || bytes < least) {
			least = bytes
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if f := strings.Fields(lines.Text()); len(f) > 1 && f[0] == "MemAvailable:" {
				kib, _ := strconv.ParseFloat(f[1], 64)
				limit(1024 * kib)
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(path); err == nil {
			if bytes, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil { // or "max"
				limit(bytes)
			}
		}
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) == nil && r.Cur != unix.RLIM_INFINITY {
		limit(float64(r.Cur))
	}
	return least
}
