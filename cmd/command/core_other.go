//go:build !unix

package command

// noCores does nothing on systems that write no core dumps into the folder of a program.
func noCores() {}
