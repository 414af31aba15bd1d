package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"dyad/engine/dataset/source"
)

// Hash returns the SHA-256, in hex, and the length of the uncompressed bytes of a file. Files compressed by
// gzip or zstd are decompressed.
func Hash(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("catalog: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	u, err := source.Unpack(path, f)
	if err == nil {
		defer u.Close()
		size, err = io.Copy(h, u)
	}
	if err != nil {
		return "", 0, fmt.Errorf("catalog: cannot read %s; the file may be damaged: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
