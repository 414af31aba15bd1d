package privacy

import "strconv"

// FormatUp writes x >= 0 with six digits, rounded up: the number that is read is
// at least x, so a printed epsilon, delta or mu is never below the proved one.
func FormatUp(x float64) string {
	for step := 0; ; step++ {
		text := strconv.FormatFloat(x*(1+float64(step)*5e-7), 'g', 6, 64)
		if v, err := strconv.ParseFloat(text, 64); err != nil || v >= x || step > 40 {
			return text
		}
	}
}
