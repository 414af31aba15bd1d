//go:build linux

// Reading prints what dataset.Load takes to make records of files: median processor and wall
// seconds, rows a second, the peak memory of the process, and what the records take of it in memory. A folder or a
// pattern is one data set. run.sh compares with other libraries.
//
//	reading -schema SCHEMA [-runs N] [-profile FILE] FILE...
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	"dyad/engine/dataset"
)

func main() {
	log.SetFlags(0)
	schema := flag.String("schema", "", "schema of the files")
	runs := flag.Int("runs", 5, "loads of each file; the medians are printed")
	profile := flag.String("profile", "", "write a processor profile")
	flag.Parse()
	s, err := dataset.LoadSchema(*schema)
	if err != nil {
		log.Fatal(err)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	for _, file := range flag.Args() {
		var cpu, wall []float64
		var rows, numbers int
		for range *runs {
			debug.FreeOSMemory()
			before, start := used(), time.Now()
			d, err := dataset.Load(file, s, dataset.Options{})
			if err != nil {
				log.Fatal(err)
			}
			wall, cpu, rows = append(wall, time.Since(start).Seconds()), append(cpu, used().cpu-before.cpu), d.Records.Len()
			numbers = rows * (d.Records.Dim() + 1)
		}
		slices.Sort(cpu)
		slices.Sort(wall)
		c, w := cpu[len(cpu)/2], wall[len(wall)/2]
		fmt.Printf("dyad,%s,%d,%.3f,%.3f,%.2f,%d,%d\n", filepath.Base(file), runtime.GOMAXPROCS(0), c, w, float64(rows)/w/1e6,
			used().peak, numbers*8/1_000_000)
	}
}

type usage struct {
	cpu  float64
	peak int64 // MB
}

func used() usage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return usage{seconds(u.Utime) + seconds(u.Stime), u.Maxrss / 1024}
}
