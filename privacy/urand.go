package privacy

// urand is a uniform random real of [0, 1] of which only the digits that some
// decision needed have been drawn: "u-rand" in Karney 2016, after von Neumann.
// Its value is sum_i digit_i * B^-i, i >= 1, B = 2^width.
//
// Why laziness is exact: the digits of a uniform real are independent and
// uniform. Every decision of the samplers is a function of digits that were
// drawn and recorded, so given all decisions the digits not drawn yet are still
// independent and uniform, and drawing them later gives the same joint law as
// drawing all of them at the start. A urand must not be copied and then used
// twice: the two copies would draw different digits for the same real.
type urand struct {
	head uint64   // digit 1
	tail []uint64 // digits 2, 3, ... as far as drawn; mostly nil
}

// karney draws from the samplers of Karney, "Sampling exactly from the normal
// distribution", ACM TOMS 42(1), 2016. width is the number of bits of a digit,
// 1 to 64. Releases use 64; tests also use small widths, where ties between
// digits, which have probability 2^-64 otherwise, happen in nearly every draw.
type karney struct {
	src   *Source
	width uint
}

// fresh returns a new urand with one digit.
func (s karney) fresh() urand { return urand{head: s.digit()} }

func (s karney) digit() uint64 { return s.src.Uint64() >> (64 - s.width) }

// digitAt returns digit i+2 of u and draws it, and those before it, if needed.
func (s karney) digitAt(u *urand, i int) uint64 {
	for len(u.tail) <= i {
		u.tail = append(u.tail, s.digit())
	}
	return u.tail[i]
}

// less decides a < b by comparing digits from the first. It ends with
// probability 1: two independent uniform reals differ.
func (s karney) less(a, b *urand) bool {
	if a.head != b.head {
		return a.head < b.head
	}
	return s.lessTail(a, b)
}

func (s karney) lessTail(a, b *urand) bool {
	for i := 0; ; i++ {
		x, y := s.digitAt(a, i), s.digitAt(b, i)
		if x != y {
			return x < y
		}
	}
}
