package evaluate

// RankSum is the sum of sign(s - s') over all pairs of the score s of a positive and s' of a
// negative record, an integer: (2 AUC - 1) n+ n-. Of models on the same records the one with the
// largest sum has the largest AUC. Its certificate is privacy.ClassPairSum with one level. Scores
// and classes have one entry a record; NaN counts as 0.
func RankSum(scores []float64, positive []bool) int64 {
	sum, _ := rankSum(scores, positive)
	return sum
}
