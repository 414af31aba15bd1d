// Package catalog lists public data sets, with the addresses and the licence terms of each data set. It
// downloads and checks the files. The package contains no data.
//
// A file is checked by the SHA-256 of its uncompressed bytes, so the compression at the address does not
// matter. If the catalogue does not have the SHA-256 of a file, Fetch reports the SHA-256 of the downloaded
// bytes and does not mark the file as checked.
package catalog
