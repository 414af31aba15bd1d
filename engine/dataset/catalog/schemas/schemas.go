// Package schemas has the ready schemas of public data sets (dyad data list).
package schemas

import "embed"

// Files are the schemas, NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
