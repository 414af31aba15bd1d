// Package schemas embeds the ready-made schemas of public data sets (dyad data list).
package schemas

import "embed"

// Files holds the schemas as files NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
