package cpu

import "dyad/engine"

// rowsOfPersons holds the numbers that sums over the rows of persons need besides the
// rows (docs/theory.md#person-sums).
type rowsOfPersons struct {
	first  []int     // first row of each person, and the number of rows
	weight []float64 // weight of each row: 1/m for a person with m rows
	next   []int32   // for each row, the first row of the next person
	most   int       // largest number of rows of a person
	own    []float64 // for each row, the part of c from pairs within its person; not for the direct method
}

// newRowsOfPersons returns nil if each row is a record.
func newRowsOfPersons(r *engine.Records) *rowsOfPersons {
	if !r.ByPerson() {
		return nil
	}
	p := &rowsOfPersons{first: make([]int, 1, r.Units()+1), weight: make([]float64, r.Len()), next: make([]int32, r.Len())}
	for k := range r.Units() {
		from, to := r.UnitRows(k)
		for i := from; i < to; i++ {
			p.weight[i], p.next[i] = 1/float64(to-from), int32(to)
		}
		p.first, p.most = append(p.first, to), max(p.most, to-from)
	}
	return p
}

// weigh subtracts the pairs within persons from c, and then multiplies c by the weights of
// the rows. The first number of c belongs to row from.
func (p *rowsOfPersons) weigh(c []float64, from int) {
	if p.own != nil {
		for i, v := range p.own[from:][:len(c)] {
			c[i] -= v
		}
	}
	for i, v := range p.weight[from:][:len(c)] {
		c[i] *= v
	}
}
