package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"dyad/engine/dataset/catalog/schemas"
)

// Schemas holds the ready-made schemas as files NAME.yaml.
var Schemas fs.FS = schemas.Files

// Entry is a public data set.
type Entry struct {
	Name     string // name of the data set in commands
	Title    string
	Rows     string // number of rows of each part
	Features string
	Positive string // the positive class and its number of rows
	Terms    string // licence terms
	Page     string // address of the owner's description
	// name of the ready-made schema in package schemas (and bench/schemas), without .yaml; "" if there is no schema
	Schema string
	Note   string // advice to read before use; "" if there is no advice
	Files  []File // files to download; empty if a download needs an account
}

// File is one file of a data set.
type File struct {
	Name   string // name in the cache, after unpacking
	URL    string // download address; "" if the file has no public address
	Member string // name inside the archive if URL ends in .zip
	SHA256 string // SHA-256 of the uncompressed bytes, in hex; "" if unknown
	Bytes  int64  // number of uncompressed bytes; 0 if unknown
}

// Known reports whether the catalogue has the SHA-256 of the file, so that its content can be checked.
func (f File) Known() bool { return f.SHA256 != "" }

// packing returns the compression of the file at its address. Files with ".zip" and ".bz2" are unpacked after
// the download. Gzip files are kept as they are, because readers decompress them.
func (f File) packing() string {
	switch ext := strings.ToLower(path.Ext(f.URL)); ext {
	case ".zip", ".bz2":
		return ext
	}
	return ""
}

const (
	uci    = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
	libsvm = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
	mnist  = "https://ossci-datasets.s3.amazonaws.com/mnist/"
)

// Entries returns all data sets in the order in which they are listed.
func Entries() []Entry {
	return []Entry{
		{
			Name: "pima", Title: "Pima Indians diabetes (NIDDK)", Rows: "768", Features: "8",
			Positive: "diabetes, 268 (-1 in the LIBSVM file)", Terms: "public; UCI withdrew the data, so do not " +
				"commit them",
			Page: "https://www.openml.org/d/37", Schema: "pima-libsvm",
			Note: "a zero means a missing value; the CSV file (schema pima) is no longer at UCI",
			Files: []File{
				{Name: "diabetes.libsvm", URL: libsvm + "diabetes",
					SHA256: "eb482976f632eb53b995fa6e160829aeeff1991ca42b8c303d24fb2fb4d80551", Bytes: 75502},
				{Name: "pima-indians-diabetes.data", SHA256: "06f5b7c2cd7bca686fda4f92eab5f61e7ff6426a9acefa2e3dda04fc54293cf5",
					Bytes: 23279},
			},
		},
		{
			Name: "debrecen", Title: "Diabetic retinopathy, Debrecen (Messidor features)", Rows: "1151", Features: "19",
			Positive: "1 = signs of retinopathy, 611", Terms: "CC BY 4.0", Page: "https://archive.ics.uci.edu/dataset/329",
			Schema: "debrecen",
			Files: []File{{Name: "messidor_features.arff", URL: uci + "00329/messidor_features.arff",
				SHA256: "f26adef0a94920205da4eedefbb6ccd730fd4b52a18ac7c01457cc7c1382c0c4", Bytes: 117223}},
		},
		{
			Name: "hepatitis", Title: "Hepatitis", Rows: "155", Features: "19",
			Positive: "1 = die, 32", Terms: "CC BY 4.0", Page: "https://archive.ics.uci.edu/dataset/46", Schema: "hepatitis",
			Note: "the label is the first column; 75 rows have 167 missing values in total",
			Files: []File{{Name: "hepatitis.data", URL: uci + "hepatitis/hepatitis.data",
				SHA256: "9971f9d18abb4fc9dd6749eefb0f864b36fa7bdd59f54188c0b148a5c28214bc", Bytes: 7545}},
		},
		{
			Name: "wdbc", Title: "Breast cancer, Wisconsin (diagnostic)", Rows: "569", Features: "30",
			Positive: "M = malignant, 212", Terms: "CC BY 4.0", Page: "https://archive.ics.uci.edu/dataset/17", Schema: "wdbc",
			Files: []File{{Name: "wdbc.data", URL: uci + "breast-cancer-wisconsin/wdbc.data",
				SHA256: "d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a", Bytes: 124103}},
		},
		{
			Name: "a7a", Title: "a7a (Adult as binary features, LIBSVM)", Rows: "16100 and 16461", Features: "123, sparse",
			Positive: "+1 = more than 50,000 dollars, 3918 and 3923", Terms: "from UCI Adult (CC BY 4.0)",
			Page: "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html", Schema: "a7a",
			Files: []File{
				{Name: "a7a", URL: libsvm + "a7a", SHA256: "d383cf150d4d9f9097b91cc88022cd0ac473c3a72da3f33b4c17801a4bfccdc6",
					Bytes: 1152056},
				{Name: "a7a.t", URL: libsvm + "a7a.t", SHA256: "9be18661eb086859bb72417502116a5a5e2011427ded96337964bc8dd0577167",
					Bytes: 1177819},
			},
		},
		{
			Name: "adult", Title: "Adult (census income)", Rows: "32561 and 16281", Features: "14, mixed",
			Positive: ">50K, 7841 and 3846", Terms: "CC BY 4.0", Page: "https://archive.ics.uci.edu/dataset/2", Schema: "adult",
			Files: []File{
				{Name: "adult.data", URL: uci + "adult/adult.data",
					SHA256: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", Bytes: 3974305},
				{Name: "adult.test", URL: uci + "adult/adult.test",
					SHA256: "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", Bytes: 2003153},
			},
		},
		{
			Name: "bank", Title: "Bank marketing", Rows: "45211", Features: "16, mixed",
			Positive: "yes, 5289", Terms: "CC BY 4.0", Page: "https://archive.ics.uci.edu/dataset/222", Schema: "bank",
			Note: "duration reveals the label, so the ready schema leaves duration out",
			Files: []File{{Name: "bank-full.csv", URL: uci + "00222/bank.zip", Member: "bank-full.csv",
				SHA256: "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d", Bytes: 4610348}},
		},
		{
			Name: "mnist38", Title: "MNIST digits, 8 against 3", Rows: "11982 and 1984 (of 60000 and 10000)", Features: "784",
			Positive: "8, 5851 and 974", Terms: "MNIST terms", Page: "https://www.openml.org/d/554", Schema: "mnist38",
			Note: "the file has all ten digits; the ready schema keeps only the rows of 8 and 3",
			Files: []File{
				{Name: "train-images-idx3-ubyte.gz", URL: mnist + "train-images-idx3-ubyte.gz"},
				{Name: "train-labels-idx1-ubyte.gz", URL: mnist + "train-labels-idx1-ubyte.gz"},
				{Name: "t10k-images-idx3-ubyte.gz", URL: mnist + "t10k-images-idx3-ubyte.gz"},
				{Name: "t10k-labels-idx1-ubyte.gz", URL: mnist + "t10k-labels-idx1-ubyte.gz"},
				{Name: "mnist38-train-images-idx3-ubyte.gz",
					SHA256: "a70aa2c68c15d5b1b0d73973195bf5f1517ad3fdbce04c1f87e21c176c76c3ab", Bytes: 9393904},
				{Name: "mnist38-train-labels-idx1-ubyte.gz",
					SHA256: "1f8f4fe9b16cc04e95e4e76d72ab6cdbb159637ed3122fc5e58dd9cc1526ebc3", Bytes: 11990},
				{Name: "mnist38-t10k-images-idx3-ubyte.gz",
					SHA256: "5a98d6b13b8c455fde1ab7cffe57db8647b0a94652f5dfa0721694da368cb703", Bytes: 1555472},
				{Name: "mnist38-t10k-labels-idx1-ubyte.gz",
					SHA256: "a6482571a30d5871a0d74610e47121b23c75e6a9de2a707183fb5430e7b4fb4e", Bytes: 1992},
			},
		},
		{
			Name: "susy", Title: "SUSY (simulated collisions)", Rows: "5000000", Features: "18",
			Positive: "1 = signal (first column)", Terms: "CC BY 4.0", Page: "https://archive.ics.uci.edu/dataset/279",
			Files: []File{{Name: "SUSY.csv.gz", URL: uci + "00279/SUSY.csv.gz"}},
		},
		{
			Name: "real-sim", Title: "real-sim (newsgroup postings, LIBSVM)", Rows: "72309", Features: "20958, sparse",
			Positive: "+1", Terms: "see the page", Page: "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
			Files: []File{{Name: "real-sim", URL: libsvm + "real-sim.bz2"}},
		},
		{
			Name: "ipums", Title: "IPUMS census microdata", Rows: "as extracted", Features: "as extracted",
			Positive: "as chosen", Terms: "registration; no redistribution", Page: "https://www.ipums.org",
			Note: "there is no file to fetch; make an extract with your account, and draft its schema",
		},
	}
}

// Find returns the data set with the given name.
func Find(name string) (Entry, bool) {
	for _, e := range Entries() {
		if strings.EqualFold(e.Name, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// Match returns the file of the catalogue whose uncompressed bytes have the given SHA-256, and the data set of
// the file.
func Match(sha256 string) (Entry, File, bool) {
	for _, e := range Entries() {
		for _, f := range e.Files {
			if f.Known() && strings.EqualFold(f.SHA256, sha256) {
				return e, f, true
			}
		}
	}
	return Entry{}, File{}, false
}

// Cache returns the folder of downloaded data sets: $XDG_CACHE_HOME/dyad if the variable is set, otherwise
// ~/.cache/dyad. Each data set has its own sub-folder, named after the data set.
func Cache() (string, error) {
	if d := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "dyad"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("catalog: there is no home folder for the cache; name a folder for the cache: %w", err)
	}
	return filepath.Join(home, ".cache", "dyad"), nil
}
