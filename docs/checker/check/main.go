// Command check reads a model file of Dyad from its standard input and prints the verdict of package checker as JSON.
package main

import (
	"encoding/json"
	"io"
	"os"

	"dyad/docs/checker"
)

func main() {
	file, _ := io.ReadAll(os.Stdin) // what was cut short is refused
	v := checker.Check(file)
	_ = json.NewEncoder(os.Stdout).Encode(v)
	os.Exit(v.Code())
}
