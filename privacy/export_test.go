package privacy

// AddNoise is what a session does with a planned release.
func AddNoise(m Mechanism, x []float64, src *Source) error { return m.add(x, src) }

// CertificateForTest is a certificate with the given sensitivity.
func CertificateForTest(sensitivity float64) (Certificate, error) {
	return newCertificate(sensitivity, sensitivity, "test vector", "given")
}
