package command

import "dyad/engine/metrics"

// prequentialWindow is the largest number of scores that are kept.
const prequentialWindow = 10_000

// prequential holds the last scores of records. Each record was scored by the model released before the record
// was used.
type prequential struct {
	w              []float64 // weights of the last release, nil before the first release
	scores, labels []float64
	next           int
}

// add scores a record before its label is used.
func (p *prequential) add(x []float64, y float64) {
	if p.w == nil {
		return
	}
	var score float64
	for k, v := range x {
		score += p.w[k] * v
	}
	if len(p.scores) < prequentialWindow {
		p.scores, p.labels = append(p.scores, score), append(p.labels, y)
		return
	}
	p.scores[p.next], p.labels[p.next] = score, y
	p.next = (p.next + 1) % prequentialWindow
}

// auc returns the AUC of the scores in the window, or nil if all their labels are of one class.
func (p *prequential) auc() *float64 {
	v, err := metrics.AUC(p.scores, p.labels)
	if err != nil {
		return nil
	}
	return &v
}
