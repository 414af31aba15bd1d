package main

import (
	"testing"

	"dyad/cmd/command/kindtest"

	"example.org/own"
)

func TestMain(m *testing.M) { kindtest.Main(m, with) }

// TestKinds: every kind of the program is planned, charged, killed, resumed, compared on files, verified and attacked.
func TestKinds(t *testing.T) {
	kindtest.Check(t, with, kindtest.Example{Kind: own.Mean{Column: "x"}, Flags: []string{"--column", "x"}})
}
