package cuda

import (
	"errors"
	"strings"
	"testing"

	"dyad/engine"
	"dyad/internal/must"
)

// TestSlopesWithoutCode: a slope in which atan, erf or a function of the normal law remains is
// refused with the CPU as the way out; the slopes of atan, erf and normcdf themselves are not.
func TestSlopesWithoutCode(t *testing.T) {
	for text, refused := range map[string]bool{
		"-log(normcdf(u))": true, "u*atan(u) - log1p(u^2)/2": true, "u*erf(u)": true, "hazard(-u)": true,
		"atan(-u)": false, "1 - erf(u)": false, "normcdf(-u)": false,
	} {
		e := must.Get(engine.NewExpression("test", text, engine.ExpressionOptions{}))(t)
		_, err := slopeOf(engine.Score{Of: e}, 3, 0)
		if refused != errors.Is(err, engine.ErrUnsupported) || refused && !strings.Contains(err.Error(), "--device cpu") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
