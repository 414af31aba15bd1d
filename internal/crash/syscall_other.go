//go:build unix && !(linux && (amd64 || arm64))

package crash

import "errors"

func failCalls(string, string) error { return errors.ErrUnsupported }

func memoryFolder() string { return "" }
