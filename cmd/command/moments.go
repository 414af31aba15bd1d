package command

// momentsFlags are the options of the algorithms moments and moments-descent. Algorithm moment-metric has two
// of these options.
type momentsFlags struct {
	SecondMoments string    `enum:"auto,none,diagonal,full" default:"auto" placeholder:"K" help:"Second moments that algorithm moments releases: none, diagonal, full or auto (a public rule)."`
	ClipRadius    float64   `positive:"" placeholder:"R" help:"Norm to which moments and moment-metric clip records around their centre. Default: by a public rule."`
	CountShare    float64   `positive:"" placeholder:"F" help:"Budget share (of mu squared; of epsilon for --delta 0) that moments spends on the number of positives. Default: by a public rule."`
	CentreShare   float64   `positive:"" placeholder:"F" help:"Budget share that moments and moment-metric spend on the centre. Default: by a public rule."`
	SecondShare   float64   `positive:"" placeholder:"F" help:"Share for the second moments. The signed sum gets the rest. Default: by a public rule."`
	StepShare     float64   `positive:"" placeholder:"F" help:"Budget share for all --steps of moments together. Default: by a public rule."`
	PublicCentre  []float64 `placeholder:"V" help:"Public centre of encoded features for moments, not from the data; 0: the origin. Default: by a public rule."`
	GradientShare float64   `positive:"" placeholder:"F" help:"Budget share that moments-descent spends on gradients. Moments get the rest. Default: by a public rule."`
	Intervals     bool      `help:"Print 95 % intervals of the weights of moments, computed from its releases at no cost. Not with logistic steps."`
	ClassBalance  float64   `positive:"" placeholder:"P" help:"The share of positives, if it is public and does not come from the data: moments then releases no count."`
}
