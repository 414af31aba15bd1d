package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	lib "dyad"
)

// version is the version of the program, which models record.
const version = lib.Version

type versionCmd struct{}

type versionResult struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"`
}

// Run prints the version.
func (versionCmd) Run(a *app) error {
	r := versionResult{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				r.Revision = s.Value
			}
		}
	}
	text := fmt.Sprintf("dyad %s (%s, %s)\n", r.Version, r.Go, r.Platform)
	return a.emit(r, text)
}
