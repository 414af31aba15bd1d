package privtest

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// GoldenTable reads the table of reference values and returns its rows without the header. A row has five
// cells: the quantity, the inputs as JSON, the expected value, the tolerance and the source. The environment
// variable DYAD_GOLDEN names the file. If DYAD_GOLDEN is not set, the file is shared/golden/privacy.csv next
// to the repository, and the argument root is the root of the repository. The error wraps fs.ErrNotExist if
// DYAD_GOLDEN is not set and there is no such file.
func GoldenTable(root string) ([][]string, error) {
	name := os.Getenv("DYAD_GOLDEN")
	named := name != ""
	if !named {
		name = filepath.Join(root, "..", "shared", "golden", "privacy.csv")
	}
	f, err := os.Open(name)
	if err != nil {
		if named {
			return nil, fmt.Errorf("privtest: DYAD_GOLDEN: %v", err)
		}
		return nil, fmt.Errorf("privtest: there is no table of reference values; name a file in DYAD_GOLDEN: %w",
			fs.ErrNotExist)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 || len(rows[0]) != 5 || rows[0][0] != "quantity" {
		return nil, fmt.Errorf("privtest: %s is not a table with the columns quantity, inputs, expected, tolerance and "+
			"source: %v", name, err)
	}
	return rows[1:], nil
}
