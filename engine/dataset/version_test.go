package dataset

import (
	"strings"
	"testing"
)

// A schema may say its version, and one of a later version is refused, whatever else it says.
func TestSchemaVersion(t *testing.T) {
	for version, ok := range map[string]bool{"1": true, "2": false, "-1": false, "1.5": false} {
		s, err := ParseSchema([]byte("version: " + version + "\n" + headerSchema))
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "version") {
			t.Errorf("version %s: %v", version, err)
		}
		if ok {
			if text, err := s.YAML(); err != nil || !strings.HasPrefix(string(text), "version: 1\n") {
				t.Errorf("%s, %v", text, err)
			}
		}
	}
}
