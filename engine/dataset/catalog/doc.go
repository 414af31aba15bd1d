// Package catalog knows public data sets: where they are, on what terms, what
// they must contain, and how to fetch and check them. It comes with no data.
//
// A file is checked by the SHA-256 of its uncompressed bytes, so that it does
// not matter how an address packs it. Where that number is not known, the
// catalogue says so: Fetch then reports what it got, and does not call it
// checked.
package catalog
