package cuda

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dyad/engine/cuda/driver"
)

// named holds the numbers from the data sheet of a GPU that plans need. Runs can be planned for a named GPU
// without access to the GPU.
type named struct {
	Key             string  `json:"key"`
	Name            string  `json:"name"`
	Memory          uint64  `json:"memory_bytes"`
	Major           int     `json:"major"`
	Minor           int     `json:"minor"`
	Multiprocessors int     `json:"multiprocessors"`
	Link            float64 `json:"link_bytes_per_second"` // rate of copies from the host to the GPU
}

//go:embed gpus.json
var namedGPUs []byte

func readNamed() ([]named, error) {
	var all []named
	if err := json.Unmarshal(namedGPUs, &all); err != nil {
		return nil, fmt.Errorf("cuda: gpus.json: %w", err)
	}
	return all, nil
}

// dataSheet returns the numbers of the GPU with a product name. ok is false if there are none.
func dataSheet(gpu string) (g named, ok bool) {
	all, err := readNamed()
	if i := slices.IndexFunc(all, func(g named) bool { return g.Name == gpu }); err == nil && i >= 0 {
		return all[i], true
	}
	return named{}, false
}

// ErrNamed is the error of computations on a GPU that was opened by OpenNamed, which is for plans only.
var ErrNamed = errors.New("cuda: this GPU is only for plans; name a GPU of this machine, such as cuda:0")

// OpenNamed returns the GPU with a name such as h200, for plans only: computations on the device fail with
// ErrNamed. If the name is unknown, the error lists the known names.
func OpenNamed(key string) (*Device, error) {
	all, err := readNamed()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, g := range all {
		if g.Key == key {
			return &Device{name: "cuda:" + key, info: driver.Device{Name: g.Name, TotalMemory: g.Memory, Major: g.Major,
				Minor: g.Minor, Multiprocessors: g.Multiprocessors}}, nil
		}
		known = append(known, "cuda:"+g.Key)
	}
	return nil, fmt.Errorf("cuda: GPU %q is unknown; a plan accepts %s, or cuda:N for a GPU of this machine", key,
		strings.Join(known, ", "))
}

// linkShare is the fraction of the data sheet's link rate that copies from page-locked memory reach.
const linkShare = 0.8

//go:embed predicted.json
var predictedModels []byte

// predicted returns the predicted time model of a method on a GPU on which no kernel has been measured. The
// predictions come from bench/gpu.
func (g named) predicted(method string) (TimeModel, bool) {
	var all Models
	if err := json.Unmarshal(predictedModels, &all); err != nil {
		return TimeModel{}, false
	}
	return all.Of(g.Name, method)
}
