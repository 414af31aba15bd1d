// Package docs holds the texts of this folder that programs show.
package docs

import _ "embed"

// Theory is theory.md, in which certificates name their theorems by anchors.
//
//go:embed theory.md
var Theory string

// Catalogue is catalogue.md, the words of the algorithms' descriptions.
//
//go:embed catalogue.md
var Catalogue string
