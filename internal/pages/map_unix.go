//go:build unix

package pages

import (
	"os"
	"syscall"
)

// mapped maps a file for reading. Writing to the mapping is a fault.
func mapped(f *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}
