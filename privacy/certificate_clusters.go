package privacy

import "fmt"

// ClusterSums are the numbers of records and the sums of records of disjoint clusters that cover
// all records, as one vector: Levels times the number, and the sum, of each. A record is a vector of
// integers with norm at most Levels; its cluster is chosen by that record and by public or released
// numbers.
type ClusterSums struct {
	Clusters int `json:"clusters"` // k >= 1
	Dim      int `json:"dim"`      // coordinates of a record, >= 1
	Levels   int `json:"levels"`   // L, 1 to 2^26
}

// Certify returns the certificate 2 L: the numbers are free (docs/theory.md#cluster-sums). There is
// no rounding error: the vector has integers below 2^53 for at most 2^26 records.
//
// Proof. A record that stays in its cluster moves one sum by at most 2 L. One that leaves it takes
// at most L from one sum and adds at most L to another, and moves two entries by L each:
// L^2 + L^2 + 2 L^2 = (2 L)^2. Opposite records of length L attain the first, and any two of length L
// the second. QED
//
// Checked by Coq: Classes.cluster_sums.
func (s ClusterSums) Certify() (Certificate, error) {
	if s.Clusters < 1 || s.Dim < 1 || s.Levels < 1 || s.Levels > 1<<26 {
		return Certificate{}, fmt.Errorf("%w: sums of %d clusters of %d coordinates in %d levels, want at least 1 of each and at most 2^26 levels", errCertificate, s.Clusters, s.Dim, s.Levels)
	}
	exact := 2 * float64(s.Levels)
	c, err := newCertificate(exact, exact, "numbers and sums of records by cluster",
		fmt.Sprintf("same cluster: one sum moves by 2R; other cluster: R^2 + R^2 + 2 R^2; R = %d levels (docs/theory.md#cluster-sums)", s.Levels))
	return stated("cluster-sums", s, c, err)
}

// Coordinates is the length of the vector.
func (s ClusterSums) Coordinates() int { return s.Clusters * (1 + s.Dim) }
