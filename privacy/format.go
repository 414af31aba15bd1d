package privacy

import (
	"math"
	"strconv"
)

// FormatUp writes x >= 0 with six digits, rounded up: the number that is read is
// at least x, so a printed epsilon, delta or mu is never below the proved one.
func FormatUp(x float64) string { return formatUp(x, 6) }

func formatUp(x float64, digits int) string {
	unit := math.Pow10(-digits) // steps of half of it: a last digit is worth at least twice that
	for step := 0; ; step++ {
		text := strconv.FormatFloat(x*(1+float64(step)*unit/2), 'g', digits, 64)
		if v, err := strconv.ParseFloat(text, 64); err != nil || v >= x || step > 40 {
			return text
		}
	}
}
