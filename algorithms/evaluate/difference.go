package evaluate

// Numbers is how many numbers the plan releases.
func (p *Plan) Numbers() (n int) {
	for _, r := range p.releases {
		n += r.coordinates
	}
	return n
}
