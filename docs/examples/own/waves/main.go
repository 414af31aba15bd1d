// Command waves is the program with a network of its own: "waves train --model waves".
package main

import (
	"dyad"
	"dyad/cmd/command"
)

func main() { command.Main(with) }

var with = command.With{Networks: []dyad.Network{{Kind: "waves", Build: waves}}}
