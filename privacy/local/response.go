package local

import (
	"fmt"
	"math"

	"dyad/privacy"
	"dyad/privacy/account"
)

// RandomizedResponse answers a question with Categories possible answers. It gives the true answer
// with probability e^Epsilon/(e^Epsilon + Categories - 1), and otherwise one of the other answers,
// each equally likely (Warner 1965; [Han19] Proposition 2).
//
// Guarantee: the answer is Epsilon-locally private, exactly (placeLaw with one favoured place).
// The answer is drawn on the user's device, in a time that does not depend on the answer. Only the
// randomised answer leaves the device.
type RandomizedResponse struct {
	Epsilon    float64 // in [MinEpsilon, MaxEpsilon]
	Categories int     // 0 means 2
}

func (m RandomizedResponse) categories() int {
	if m.Categories == 0 {
		return 2
	}
	return m.Categories
}

// Validate returns an error unless all fields are in range.
func (m RandomizedResponse) Validate() error {
	if m.Categories != 0 && m.Categories < 2 || m.Categories > math.MaxInt32 {
		return fmt.Errorf("local: a randomised response has %d categories, but must have at least 2", m.Categories)
	}
	return checkLocalEpsilon(m.Epsilon)
}

// Event returns the privacy cost of one answer for the user who gives it.
func (m RandomizedResponse) Event() account.Event {
	return account.PureEvent{Epsilon: m.Epsilon}
}

// Truth returns the probability of the true answer.
func (m RandomizedResponse) Truth() float64 {
	return 1 / (1 + float64(m.categories()-1)*math.Exp(-m.Epsilon))
}

// Answer returns the randomised answer for the true answer, 0 <= truth <
// Categories.
func (m RandomizedResponse) Answer(truth int, src *privacy.Source) (int, error) {
	if err := m.Validate(); err != nil {
		return 0, err
	}
	if truth < 0 || truth >= m.categories() {
		return 0, fmt.Errorf("local: the true answer is not one of the %d categories",
			m.categories())
	}
	law := newPlaceLaw(m.categories(), 1, m.Epsilon)
	answer := uint64(truth) + law.draw(src) // the truth stands at place 0
	return int(answer - law.n&-(1-below(answer, law.n))), nil
}
