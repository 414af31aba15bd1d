package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// links returns the number of hard links to a file.
func links(path string, _ fs.FileInfo) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	var info syscall.ByHandleFileInformation
	err = syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info)
	return int(info.NumberOfLinks), errors.Join(err, f.Close())
}
