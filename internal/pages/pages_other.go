//go:build !linux

package pages

func advise([]byte) {}

func drop([]byte) {}
