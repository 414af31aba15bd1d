//go:build !linux

package pages

import "os"

func advise([]byte) {}

// changeTime is not read here.
func changeTime(os.FileInfo) int64 { return 0 }

func drop([]byte) {}
