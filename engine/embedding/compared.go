package embedding

import "dyad/engine"

// The ways to compare the embeddings of two records.
const (
	ByCosine      = "cosine"      // phi(y y' cos(f, f'))
	ByDistance    = "distance"    // phi(y y' (1 - ||f - f'||^2)), ||f|| <= 1
	ByContrastive = "contrastive" // ||f - f'||^2/2 for equal labels, else max(0, 1 - ||f - f'||)^2/2, ||f|| <= 1
)

// scoreRange is the ball to which the score of a network is projected if it is no MLP, whose range is proved: a logistic loss of
// scores that far apart has a slope of 1e-14.
const scoreRange = 16

// OutputOf is the stage of a network whose embeddings are compared in one of these ways, "" for scores.
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

// PairLossOf is phi of embeddings that are compared in one of these ways, "" for scores.
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
