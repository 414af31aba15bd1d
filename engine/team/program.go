package team

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Program returns the SHA-256 of the running program.
func Program() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("team: the program's own file: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("team: the program's own file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("team: the program's own file: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
