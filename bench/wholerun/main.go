// Command wholerun times private training runs of the program from its start to the
// written model: reading the data, planning, charging a ledger of its own, 100 steps.
//
//	go build ./cmd/dyad && go run ./bench/wholerun -data data/pima.data -schema bench/schemas/pima.yaml > bench/results/wholerun-pima.csv
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"dyad/bench"
)

func main() {
	log.SetFlags(0)
	program := flag.String("dyad", "./dyad", "the program")
	data := flag.String("data", "", "data file")
	schema := flag.String("schema", "", "schema file")
	count := flag.Int("count", 11, "runs, after one to warm up")
	flag.Parse()
	if err := measure(*program, *data, *schema, *count); err != nil {
		log.Fatal("wholerun: ", err)
	}
}

func measure(program, data, schema string, count int) error {
	folder, err := os.MkdirTemp("", "wholerun")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	bench.Header(os.Stdout, "wholerun", os.Args[1:])
	fmt.Println("# dyad train --epsilon 1 --delta 1e-5 --algorithm dpgdsc --steps 100, a process and a ledger for each run; processor_s counts all its threads")
	fmt.Println("run,wall_s,processor_s")
	var walls, processors []float64
	for i := range count + 1 {
		c := exec.Command(program, "train", "--data", data, "--schema", schema, "--epsilon", "1", "--delta", "1e-5", "--algorithm", "dpgdsc", "--steps", "100",
			"--ledger", filepath.Join(folder, fmt.Sprint(i, ".jsonl")), "--out", filepath.Join(folder, fmt.Sprint(i, ".json")))
		c.Stderr = os.Stderr
		start := time.Now()
		if err := c.Run(); err != nil {
			return err
		}
		wall, processor := time.Since(start).Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
		if i == 0 {
			continue
		}
		fmt.Printf("%d,%.4f,%.4f\n", i, wall, processor)
		walls, processors = append(walls, wall), append(processors, processor)
	}
	slices.Sort(walls)
	slices.Sort(processors)
	fmt.Printf("# median %.4f s, fastest %.4f s; processor median %.4f s\n", walls[count/2], walls[0], processors[count/2])
	return nil
}
