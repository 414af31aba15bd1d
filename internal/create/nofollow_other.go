//go:build !unix

package create

// noFollow is nothing where the system has no such flag; O_EXCL follows no link there either.
const noFollow = 0
