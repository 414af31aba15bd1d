package reproduce

import "strings"

// evidence is a command that anybody can run in a minute, with the output that it prints if a verdict is true.
type evidence struct{ command, prints string }

// evidenceOf has the evidence for the verdict on every algorithm of the catalogue. Commands of dyad need only the
// program, and commands of go test need a copy of the repository. TestVerdictsHaveEvidence runs the commands of dyad.
var evidenceOf = map[string][]evidence{
	"dpgdsc": {
		{"dyad plan --algorithm dpgdsc --mode paper -n 256 -d 8 --epsilon 1 --delta 1e-5",
			"(0.00797598, 1e-05)-differentially private"},
		{"dyad plan --algorithm dpgdsc --mode paper -n 256 -d 8 --epsilon 1 --delta 1e-5",
			"the noise of the paper meets the claim"},
	},
	"offpairstrc": {{"dyad plan --algorithm offpairstrc --mode paper -n 256 -d 8",
		"never takes a step here: its burn-in is T1 = max(ceil(16 L^2/alpha^2), 7) = 256000000 of n = 256 records"}},
	"offpairc": {{"dyad plan --algorithm offpairc --mode paper -n 1000000 -d 8", "no n works with alpha = 1/sqrt(n)"}},
	"dpgdc": {{"dyad plan --algorithm dpgdc --mode paper -n 256 -d 8 --epsilon 1 --delta 1e-5",
		"(0.171302, 1e-05)-differentially private"}},
	"dpgdc2": {
		{"dyad plan --algorithm dpgdc2 --mode paper -n 4096 -d 8 --epsilon 4 --delta 1e-5 --set G=4 --set L=4 --set Dg=8 " +
			"--set radius-diameter=2", "THE CLAIM IS NOT MET by the noise of the paper"},
		{"dyad plan --algorithm dpgdc2 --mode paper -n 4096 -d 8 --epsilon 4 --delta 1e-5",
			"the noise of the paper meets the claim"},
	},
	"dpegd": {{"dyad plan --algorithm dpegd --mode paper -n 256 -d 8 --epsilon 1 --delta 1e-5",
		"(0.257727, 1e-05)-differentially private"}},
	"gradient-perturbation": {{"dyad plan --algorithm gradient-perturbation --mode paper -n 256 -d 8",
		"the variance in [Kang21] Theorem 1 has an unspecified constant"}},
	"convergent-descent": {
		{"dyad plan --algorithm convergent-descent -n 256 -d 8 --set steps=10000 --set step-size=0.4",
			"noise multiplier 3.73063"},
		{"dyad plan --algorithm gradient-perturbation -n 256 -d 8 --set steps=10000 --set step-size=0.4",
			"noise multiplier 373.063"},
		{"go test ./privacy -run TestConvergenceNeedsTheGrid", "ok"},
	},
	"subsampled-descent": {{"dyad lab audit subsampled-descent -n 20 --epsilon 4 --set steps=4 --runs 500",
		"the claim is not refuted"}},
	"moments": {{"dyad lab audit moments -n 64 -d 4 --epsilon 4 --runs 1000",
		"epsilon 2 is half the claim. These runs refute this value"}},
	"moment-metric": {{"dyad lab audit moment-metric --task metric -n 64 -d 3 --epsilon 4 --runs 1000",
		"epsilon 2 is half the claim. These runs refute this value"}},
	"moments-descent": {{"dyad lab audit moments-descent -n 64 -d 4 --epsilon 4 --runs 400",
		"the claim is not refuted"}},
	"projected-gradient": {{"dyad plan --algorithm projected-gradient --mode nonprivate -n 256 -d 8",
		"no privacy guarantee"}},
	"offgiga": {{"dyad plan --algorithm offgiga --mode nonprivate -n 256 -d 8", "no privacy guarantee"}},
	"onpairstrc": {
		{"dyad plan --algorithm onpairstrc --mode paper -n 256 -d 8 --set l2=0.001",
			"never takes a step here: its burn-in is T1 = max(ceil(16 L^2/alpha^2), 7) = 256000000 of n = 256 records"},
		{"dyad plan --algorithm onpairstrc --mode paper -n 256 -d 8 --epsilon 1 --delta 1e-5 --set l2=20",
			"(0.00964539, 1e-05)-differentially private"},
	},
	"onpairc": {{"dyad plan --algorithm onpairc --mode paper -n 256 -d 8",
		"with alpha = c/sqrt(n) it never takes a step unless c > 4(L+alpha)"}},
	"dpftrl": {
		{"go test ./algorithms/attack -run TestPrefixSumsMoveMoreThanOneColumn", "ok"},
		{"go test ./algorithms -run TestDPFTRLNoise", "ok"},
	},
	"ongiga": {{"dyad plan --algorithm ongiga --mode nonprivate -n 256 -d 8", "no privacy guarantee"}},
	"pairs": {
		{"dyad pairs plan -n 20000 -d 33 --pairs 40000 --unit group --kappa 4 --mode paper --epsilon 1",
			"THE CLAIM IS NOT MET by the noise of the paper"},
		{"go test ./algorithms/pairs -run TestThePrintedClaimIsRefuted", "ok"},
	},
	"tuples": {{"dyad lab audit pairs --tuple 4 --epsilon 4 --runs 2000",
		"epsilon 2 is half the claim. These runs refute this value"}},
}

// evidenceLines are the lines of an algorithm on the page of verdicts.
func evidenceLines(name string) string {
	var b strings.Builder
	for _, e := range evidenceOf[name] {
		b.WriteString("- Evidence: `" + e.command + "` prints `" + e.prints + "`.\n")
	}
	return b.String()
}
