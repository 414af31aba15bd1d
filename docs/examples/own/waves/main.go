// Command waves is the program with a network of its own: "waves train --model waves".
package main

import (
	"example.org/own"

	"dyad"
	"dyad/cmd/command"
)

func main() {
	command.Main(command.With{Networks: []dyad.Network{{Kind: "waves", Build: own.Waves}}})
}
