package files

import (
	"errors"
	"strings"
	"testing"

	"dyad/internal/input"
	"dyad/internal/must"
)

// Each content takes its own endings, and endings that name no format, and refuses all others with a remedy.
func TestEndings(t *testing.T) {
	for content, is := range contents {
		for _, ending := range is.endings {
			if _, known := formats[ending]; !known {
				t.Errorf("%s is an ending of %s, and other contents take it", ending, content)
			}
		}
		for _, name := range []string{"m", "m.txt", "m.model", ".dyad", "a.onnx/m", "m" + is.endings[0], "M" + strings.ToUpper(is.endings[0])} {
			must.CheckDo(t, CheckEnding(name, content), name, " for ", content)
		}
		refused := 0
		for ending, format := range formats {
			if err := CheckEnding("m"+ending, content); err != nil {
				if refused++; !errors.Is(err, input.Err) || !strings.Contains(err.Error(), format.remedy) || format.remedy == "" {
					t.Errorf("m%s for %s: %v", ending, content, err)
				}
			}
		}
		must.Equal(t, refused, len(formats)-len(is.endings), "%s: refused endings", content)
	}
}
