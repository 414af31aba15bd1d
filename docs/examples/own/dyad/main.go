// Command dyad is the program with an algorithm, a loss and a kind of run of its own: "dyad train --algorithm normalised-descent --length 0.1",
// "dyad mean --column age".
package main

import (
	"dyad/cmd/command"

	"example.org/own"
)

func main() { command.Main(own.With()) }
