package sizes

import (
	"runtime"
	"testing"
)

func TestCollectionsWaitForTheBallast(t *testing.T) {
	runtime.GC()
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.NextGC < uint64(len(ballast)) {
		t.Errorf("the next collection is at %d bytes, with a ballast of %d", m.NextGC, len(ballast))
	}
}
