//go:build !linux

package durable

func renameNoReplace(from, to string) error { return linkNoReplace(from, to) }
