package privacy

import (
	"errors"
	"fmt"
	"math"

	"dyad/privacy/internal/round"
)

// The certificates of this file are about an evaluation: queries about n labelled records and the scores that
// a public or released function gives to the records. The score of a record is a function of that record and
// of released numbers, bit for bit (docs/theory.md#evaluated-scores). Every query is a vector of integers. So
// its sensitivity has no rounding error unless a field states an error.
//
// A record can also be a person with several rows. The person's contribution to a query is then a mean over
// the rows, with weights that are a function of the person. This mean is in the convex hull of the
// contributions of single rows, so every certificate holds unchanged (docs/theory.md#person-figures). The
// Error fields then bound the error of the conversion of exact sums to float64.
//
// Checked by Coq: Hull.persons.

// ClassPairSum describes a sum over all pairs of a positive and a negative record. A term is an integer in
// [-Levels, Levels] that depends on the two records. For the AUC the term is the sign of the difference of
// their scores. If Counted is true, a second coordinate is the number of positives times CountWeight.
type ClassPairSum struct {
	Records   int  `json:"records"`   // Records is n >= 2.
	Levels    int  `json:"levels"`    // Levels is L >= 1.
	Counted   bool `json:"counted"`   // Counted adds the number of positives.
	Manhattan bool `json:"manhattan"` // Manhattan requests a certificate in the L1 norm, for Laplace noise.
	// Error bounds the norm of the difference between the computed and the exact vector.
	// This difference comes from a conversion to float64. Error is >= 0.
	Error float64 `json:"error"`
	Name  string  `json:"name"` // Name is the name of the sum in reports.
}

// CountWeight returns the integer k by which the number of positives is multiplied. It is L (n-1) in the L1
// norm. In the L2 norm it is the largest integer up to sqrt(3) L (n-1).
func (s ClassPairSum) CountWeight() float64 {
	reach := float64(s.Levels) * float64(s.Records-1)
	if s.Manhattan {
		return reach
	}
	return math.Floor(math.Sqrt(3) * reach * (1 - 0x1p-50))
}

// Certify returns the certificate 2 L (n-1), in either norm and with or without the count
// (docs/theory.md#class-pairs).
//
// Proof. A record has at most n-1 partners of the other class. If the class of the record stays the same,
// only the terms of the record change, each by at most 2L. If the class changes, terms with records of one
// class replace terms with records of the other class. Together these are n-1 terms, each of magnitude at
// most L. So the sum moves by at most L (n-1). The number of positives, multiplied by k = CountWeight, moves
// by k. In the L2 norm, L^2 (n-1)^2 + k^2 <= 4 L^2 (n-1)^2. In the L1 norm, L (n-1) + k <= 2 L (n-1). QED
//
// Checked by Coq: ClassPairs.class_pair_sum, ClassPairs.class_pair_sum_manhattan.
func (s ClassPairSum) Certify() (Certificate, error) {
	// beyond these limits 2 L (n-1) would be rounded
	if err := errors.Join(refuse(s.Records < 2 || s.Records > 1<<31 || s.Levels < 1 || s.Levels > 1<<20,
		"Records = %d must be 2 to 2^31, and Levels = %d must be 1 to 2^20", s.Records, s.Levels),
		nonNegative("error of a sum over pairs", s.Error)); err != nil {
		return Certificate{}, err
	}
	why := fmt.Sprintf("a record is in at most n - 1 = %d pairs of different classes; each pair adds a number of "+
		"absolute value at most %d",
		s.Records-1, s.Levels)
	length := 1
	if s.Counted {
		length = 2
		why += "; the number of positives does not increase the sensitivity"
	}
	return evaluationCertificate(s, 2*float64(s.Levels)*float64(s.Records-1), 2*s.Error, s.Manhattan, length, s.Name,
		why, "class-pairs")
}

// CellCounts describes a vector that contains the number of records in each of several disjoint cells.
// Every record is in exactly one cell. The cell depends only on the record and on public or released
// numbers.
type CellCounts struct {
	Cells     int     `json:"cells"`     // Cells is the number of cells, >= 1.
	Manhattan bool    `json:"manhattan"` // Manhattan requests a certificate in the L1 norm.
	Error     float64 `json:"error"`     // Error bounds ||computed - exact||; >= 0.
	Name      string  `json:"name"`      // Name is the name of the counts in reports.
}

// Certify returns the certificate sqrt(2), or 2 in the L1 norm. A replaced record leaves one cell and enters
// another (docs/theory.md#cell-counts).
//
// Checked by Coq: Classes.cell_counts, Classes.cell_counts_manhattan.
func (c CellCounts) Certify() (Certificate, error) {
	if err := errors.Join(refuse(c.Cells < 1, "there are %d cells, but there must be at least 1", c.Cells),
		nonNegative("error of counts", c.Error)); err != nil {
		return Certificate{}, err
	}
	exact := round.Up(math.Sqrt2, 1)
	if c.Manhattan {
		exact = 2
	}
	return evaluationCertificate(c, exact, 2*c.Error, c.Manhattan, c.Cells, c.Name,
		"a replaced record leaves one count and enters another", "cell-counts")
}

// RightCounts describes a vector with one number for each of several classifiers. This number is how many
// records the classifier gets right. Each classifier is a function of a record and of public or released
// numbers.
type RightCounts struct {
	Classifiers int     `json:"classifiers"` // Classifiers is the number m of classifiers, >= 1.
	Manhattan   bool    `json:"manhattan"`   // Manhattan requests a certificate in the L1 norm.
	Error       float64 `json:"error"`       // Error bounds ||computed - exact||; >= 0.
}

// Certify returns the certificate sqrt(m), or m in the L1 norm (docs/theory.md#cell-counts).
//
// Checked by Coq: Classes.right_counts, Classes.right_counts_manhattan.
func (r RightCounts) Certify() (Certificate, error) {
	if err := errors.Join(
		refuse(r.Classifiers < 1, "there are %d classifiers, but there must be at least 1", r.Classifiers),
		nonNegative("error of counts", r.Error)); err != nil {
		return Certificate{}, err
	}
	exact := round.Up(math.Sqrt(float64(r.Classifiers)), 1)
	if r.Manhattan {
		exact = float64(r.Classifiers)
	}
	return evaluationCertificate(r, exact, 2*r.Error, r.Manhattan, r.Classifiers,
		"numbers of records that are classified correctly",
		fmt.Sprintf("one record changes the count of each of %d classifiers by at most 1",
			r.Classifiers), "cell-counts")
}

// ScoreSum describes the sum of one integer for each record. The integers are in a fixed interval of
// length 2 Levels. They are either scores, rounded to integers of magnitude at most Levels, or distances
// of such scores to a released centre.
type ScoreSum struct {
	Levels    int     `json:"levels"`    // Levels is L >= 1.
	Manhattan bool    `json:"manhattan"` // Manhattan labels the certificate as a certificate in the L1 norm. For a single number the L1 norm and the L2 norm are the same.
	Error     float64 `json:"error"`     // Error bounds |computed - exact|; >= 0.
	Name      string  `json:"name"`      // Name is the name of the sum in reports.
}

// Certify returns the certificate 2 L (docs/theory.md#score-sums).
//
// Checked by Coq: Classes.score_sum.
func (s ScoreSum) Certify() (Certificate, error) {
	if err := errors.Join(refuse(s.Levels < 1, "scores have %d levels, but must have at least 1", s.Levels),
		nonNegative("error of a sum of scores", s.Error)); err != nil {
		return Certificate{}, err
	}
	return evaluationCertificate(s, 2*float64(s.Levels), 2*s.Error, s.Manhattan, 1, s.Name,
		fmt.Sprintf("each term of the sum is an integer from an interval of length %d", 2*s.Levels), "score-sums")
}

// evaluationCertificate returns the certificate of a query that is a vector of the given length. The argument
// numbers is its statement.
func evaluationCertificate(numbers any, exact, errors float64, manhattan bool, length int, released, why,
	section string) (Certificate, error) {
	total := exact
	if errors > 0 {
		total = round.Up(exact+errors, 1)
	}
	c, err := newCertificate(exact, total, released, why+" (docs/theory.md#"+section+")")
	if manhattan && err == nil {
		c.manhattan, c.length = true, length
	}
	return stated(section, numbers, c, err)
}
