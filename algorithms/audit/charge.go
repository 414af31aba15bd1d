package audit

import (
	"fmt"

	"dyad/algorithms"
	"dyad/privacy/account"
	"dyad/privacy/ledger"
)

// Charged calls run, which must carry out plan p on private data under dataID. It returns an error unless the
// ledger's account of dataID then covers the releases of p in addition to its earlier charges. Nobody else
// may write to the ledger during the call. An error of run is returned unchanged.
func Charged(l *ledger.Ledger, dataID string, p *algorithms.Plan, run func() error) error {
	const delta = 1e-9
	before, err := l.Summary(dataID, delta)
	if err != nil {
		return err
	}
	if err := run(); err != nil {
		return err
	}
	after, err := l.Summary(dataID, delta)
	if err != nil {
		return err
	}
	var cost account.GDP
	for _, e := range p.Events() {
		if err := cost.Compose(e); err != nil {
			return err
		}
	}
	// The squares mu^2 add up; the accounts round up by a few units in the last place.
	due := before.Mu*before.Mu + cost.Mu()*cost.Mu()
	if paid := after.Mu * after.Mu; after.Runs != before.Runs+1 || !(paid >= due*(1-1e-12)) {
		return fmt.Errorf("audit: a run of %s released %.6g-GDP of data id %q, but the totals of the ledger went from %d "+
			"runs and %.6g-GDP to %d runs and %.6g-GDP, so the run was not charged in full",
			p.Algorithm, cost.Mu(), dataID, before.Runs, before.Mu, after.Runs, after.Mu)
	}
	return nil
}
