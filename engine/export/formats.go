package export

import (
	"cmp"
	"fmt"
	"strings"
)

// The formats of Function.Write.
const (
	ONNX        = "onnx"        // with the encoder: maps raw columns to scores or to outputs of a map
	NPZ         = "npz"         // the numbers only, for encoded records
	Safetensors = "safetensors" // the numbers only, as in NPZ
	Python      = "python"      // a NumPy function for linear scores
	JavaScript  = "javascript"  // a module with the model as plain JSON, for linear scores
	GoSource    = "go"          // a function that needs only the standard library, for linear scores
	SQL         = "sql"         // a SELECT for DuckDB and PostgreSQL, for linear scores
	BigQuery    = "bigquery"    // a SELECT for BigQuery; the formats below are for other engines
	Snowflake   = "snowflake"
	Spark       = "spark"
	SQLServer   = "sqlserver"
)

// formats lists the formats of Function.Write.
var formats = []string{ONNX, NPZ, Safetensors, Python, GoSource, JavaScript, SQL, BigQuery, Snowflake, Spark, SQLServer}

// Write returns the function in a format. table is the table that SQL selects from; if it is "", the table is records.
func (f *Function) Write(format, table string) ([]byte, error) {
	switch format {
	case ONNX:
		return f.ONNX()
	case NPZ:
		return f.NPZ()
	case Safetensors:
		return f.Safetensors()
	case Python:
		return f.Python()
	case JavaScript:
		return f.JavaScript()
	case GoSource:
		return f.Go()
	case SQL, BigQuery, Snowflake, Spark, SQLServer:
		return f.SQL(format, cmp.Or(table, "records"))
	}
	return nil, fmt.Errorf("export: the format of an export is %q, want one of %s", format, strings.Join(formats, ", "))
}
