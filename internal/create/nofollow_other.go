//go:build !unix

package create

// noFollow is 0 because the system has no such flag. O_EXCL does not follow links there either.
const noFollow = 0
