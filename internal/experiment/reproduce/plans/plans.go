// Package plans has the plans of the tables and figures of the papers for package experiment/reproduce. Their
// names are PAPER-ITEM.yaml.
package plans

import "embed"

// Files are the plans of the papers.
//
//go:embed huai-*.yaml kang-*.yaml xue-*.yaml han-*.yaml li-*.yaml
var Files embed.FS
