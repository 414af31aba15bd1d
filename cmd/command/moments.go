package command

// momentsFlags are the options of the algorithms moments and moments-descent. Algorithm moment-metric has two
// of these options.
type momentsFlags struct {
	SecondMoments string    `enum:"auto,none,diagonal,full" default:"auto" placeholder:"K" help:"Second moments that algorithm moments releases: none, diagonal, full or auto (a public rule)."`
	ClipRadius    float64   `positive:"" placeholder:"R" help:"Clip records to this norm around their centre (moments, moment-metric). Default: by a public rule."`
	CountShare    float64   `positive:"" placeholder:"F" help:"Budget share of moments for the number of positives, in mu^2 (--delta 0: epsilon). Default: by a public rule."`
	CentreShare   float64   `positive:"" placeholder:"F" help:"Budget share for the centre in moments and moment-metric. Default: by a public rule."`
	SecondShare   float64   `positive:"" placeholder:"F" help:"Budget share for second moments. The signed sum gets the rest. Default: by a public rule."`
	StepShare     float64   `positive:"" placeholder:"F" help:"Budget share for all --steps of moments. Default: by a public rule."`
	PublicCentre  []float64 `placeholder:"V" help:"Centre of encoded features for moments, public and not from the data. 0: the origin. Default: by a public rule."`
	GradientShare float64   `positive:"" placeholder:"F" help:"Budget share that moments-descent spends on gradients. Moments get the rest. Default: by a public rule."`
	Intervals     bool      `help:"Print 95 % intervals of the weights of moments, at no cost. Not with logistic steps."`
	ClassBalance  float64   `positive:"" placeholder:"P" help:"Public share of positives, not from the data. moments then does not release their count."`
}
