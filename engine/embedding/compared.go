package embedding

import (
	"fmt"

	"dyad/engine"
)

// The ways to compare the embeddings of two records.
const (
	ByCosine      = "cosine"      // phi(y y' cos(f, f'))
	ByDistance    = "distance"    // phi(y y' (1 - ||f - f'||^2)), ||f|| <= 1
	ByContrastive = "contrastive" // ||f - f'||^2/2 for equal labels, else max(0, 1 - ||f - f'||)^2/2, ||f|| <= 1
)

// scoreRange is the radius of the ball to which the score of a network is projected if the network is not an MLP.
// The range of an MLP is proved. A logistic loss of scores with this distance has a slope of 1e-14.
const scoreRange = 16

// OutputOf returns the output stage of a network whose embeddings are compared by ByCosine, ByDistance or
// ByContrastive. If how is "", the network computes scores.
func OutputOf(net Network, how string) (o Output) {
	switch {
	case how == ByCosine:
		o.Unit = true
	case how != "":
		o.Within = 1
	default:
		if _, proved := net.(MLP); !proved {
			o.Within = scoreRange
		}
	}
	return o
}

// PairLossOf returns the loss phi of embeddings that are compared by ByCosine, ByDistance or ByContrastive. If
// how is "", it returns a Score loss.
func PairLossOf(how string, phi engine.Scalar) PairLoss {
	switch how {
	case ByCosine:
		return Bilinear{Of: phi}
	case ByDistance:
		return Distance{Of: phi}
	case ByContrastive:
		return Contrastive{Margin: 1}
	}
	return Score{Of: phi}
}

// TermLossOf returns the loss with this name, or an error if the name is unknown. Contrastive and triplet
// losses use the margin. The losses npair, infonce and ntxent use the temperature.
func TermLossOf(name string, margin, temperature float64) (TermLoss, error) {
	for _, l := range []TermLoss{
		Contrastive{margin}, BradleyTerry{}, Triplet{margin}, NPair{temperature}, InfoNCE{Temperature: temperature},
		InfoNCE{Temperature: temperature, Symmetric: true},
	} {
		if l.Name() == name {
			return l, nil
		}
	}
	return nil, fmt.Errorf("embedding: loss %q of pairs or tuples is unknown", name)
}
