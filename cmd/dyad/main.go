// Command dyad trains pairwise models with differential privacy.
//
// Run "dyad --help", or "dyad COMMAND --help" for examples that run.
package main

import "dyad/cmd/command"

func main() { command.Main(extras) }
