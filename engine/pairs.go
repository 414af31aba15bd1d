package engine

// Pairs is a set of ordered pairs of records. The choice of the pairs does not depend on
// the data. Only this package implements Pairs, so backends know every implementation.
type Pairs interface {
	// Len is the number of ordered pairs.
	Len() int64
	// MaxPerRecord is the largest number of these pairs that contain one record.
	MaxPerRecord() int64

	pairs()
}

// AllPairs are the N(N-1) ordered pairs of different records among N records.
type AllPairs struct{ N int }

// Len returns N(N-1).
func (p AllPairs) Len() int64 { return int64(p.N) * int64(p.N-1) }

// MaxPerRecord returns 2(N-1), the number of pairs that contain one given record.
func (p AllPairs) MaxPerRecord() int64 { return 2 * int64(p.N-1) }

func (AllPairs) pairs() {}

// PrefixPairs are the T pairs (z_t, z_i), i < t, of the (T+1)-st record z_t with the
// records before it. They form the loss of one step of online pairwise descent ([Huai20]
// equation 3, with indices from 0). z_i is record Order[i] of the Records, or record i if
// Order is nil. Order must not depend on the data.
type PrefixPairs struct {
	Order []int32
	T     int // 1 <= T < n
}

// Len returns T.
func (p PrefixPairs) Len() int64 { return int64(p.T) }

// Record returns the number of the record at place t.
func (p PrefixPairs) Record(t int) int32 {
	if p.Order == nil {
		return int32(t)
	}
	return p.Order[t]
}

// MaxPerRecord returns T, because record z_t is in every pair.
func (p PrefixPairs) MaxPerRecord() int64 { return int64(p.T) }

func (PrefixPairs) pairs() {}
