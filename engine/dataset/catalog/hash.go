package catalog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Hash returns the SHA-256, in hex, and the length of the uncompressed bytes of
// a file: it looks through gzip and zstd.
func Hash(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("catalog: %w", err)
	}
	defer f.Close()
	sum, size, err = hashReader(f)
	if err != nil {
		return "", 0, fmt.Errorf("catalog: cannot read %s, it may be damaged: %w", path, err)
	}
	return sum, size, nil
}

func hashReader(r io.Reader) (string, int64, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	var content io.Reader = b
	switch head, _ := b.Peek(4); {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return "", 0, err
		}
		content = z
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return "", 0, err
		}
		defer z.Close()
		content = z
	}
	h := sha256.New()
	n, err := io.Copy(h, content)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
