//go:build unix

package create

import "syscall"

const noFollow = syscall.O_NOFOLLOW
