//go:build !unix

package main

// noCores does nothing: the system dumps no memory of a program into its folder.
func noCores() {}
