package privacy

import (
	"math"
	"strconv"
)

// FormatUp formats x >= 0 with six digits, rounded up. The number in the text is at least x, so a printed
// epsilon, delta or mu is never below the proved value.
func FormatUp(x float64) string { return formatUp(x, 6) }

func formatUp(x float64, digits int) string {
	unit := math.Pow10(-digits) // a step is half a unit, and a unit of the last digit is at least two steps
	for step := 0; ; step++ {
		text := strconv.FormatFloat(x*(1+float64(step)*unit/2), 'g', digits, 64)
		if v, err := strconv.ParseFloat(text, 64); err != nil || v >= x || step > 40 {
			return text
		}
	}
}
