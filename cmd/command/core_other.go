//go:build !unix

package command

// noCores does nothing: the system dumps no memory of a program into its folder.
func noCores() {}
