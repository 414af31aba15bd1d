package privacy

import "fmt"

// ClusterSums describes a query about disjoint clusters that cover all records. For each cluster, the
// released vector contains two parts: the number of records in the cluster times Levels, and the sum of these
// records. A record is a vector of integers with norm at most Levels. The cluster of a record depends only on
// the record and on public or released numbers.
type ClusterSums struct {
	Clusters int `json:"clusters"` // Clusters is k >= 1.
	Dim      int `json:"dim"`      // Dim is the number of coordinates of a record, >= 1.
	Levels   int `json:"levels"`   // Levels is L, from 1 to 2^26.
}

// Certify returns the certificate 2 L. The sums alone have the same sensitivity, so the numbers of records
// cost nothing more (docs/theory.md#cluster-sums). There is no rounding error: the entries of the vector are
// integers below 2^53 for at most 2^26 records.
//
// Proof. A record that stays in its cluster moves one sum by at most 2 L. A record that changes its cluster
// moves the sums of two clusters by at most L each, and the entries for the numbers of their records by L
// each. The sum of squares is L^2 + L^2 + 2 L^2 = (2 L)^2. Opposite records of length L attain the bound of
// the first case, and any two records of length L attain the bound of the second case. QED
//
// Checked by Coq: Classes.cluster_sums.
func (s ClusterSums) Certify() (Certificate, error) {
	if s.Clusters < 1 || s.Dim < 1 || s.Levels < 1 || s.Levels > 1<<26 {
		return Certificate{}, fmt.Errorf("%w: there are %d clusters, %d coordinates and %d levels; want at least 1 "+
			"of each, and at most 2^26 levels", errCertificate, s.Clusters, s.Dim, s.Levels)
	}
	exact := 2 * float64(s.Levels)
	c, err := newCertificate(exact, exact, "numbers and sums of records by cluster",
		fmt.Sprintf("a replaced record moves the vector by at most 2 R (R = %d levels), even if its cluster "+
			"changes (docs/theory.md#cluster-sums)", s.Levels))
	return stated("cluster-sums", s, c, err)
}

// Coordinates is the length of the released vector.
func (s ClusterSums) Coordinates() int { return s.Clusters * (1 + s.Dim) }
