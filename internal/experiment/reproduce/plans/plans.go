// Package plans has the plans of the tables and figures of the papers, PAPER-ITEM.yaml, for package
// experiment/reproduce.
package plans

import "embed"

// Files are the plans of the papers.
//
//go:embed huai-*.yaml kang-*.yaml xue-*.yaml han-*.yaml li-*.yaml
var Files embed.FS
