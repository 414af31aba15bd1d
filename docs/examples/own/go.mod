module example.org/own

go 1.26.0

require dyad v0.0.0

require (
	github.com/gofrs/flock v0.13.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace dyad => ../../..
