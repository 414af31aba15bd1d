package export

import (
	"cmp"
	"fmt"
	"strings"
)

// The formats of Function.Write.
const (
	ONNX        = "onnx"        // with the encoder: raw columns to scores or maps
	NPZ         = "npz"         // the numbers alone, for encoded records
	Safetensors = "safetensors" // as NPZ
	Python      = "python"      // a function on NumPy, of linear scores
	JavaScript  = "javascript"  // a module with the model as plain JSON, of linear scores
	GoSource    = "go"          // a function on the standard library, of linear scores
	SQL         = "sql"         // a SELECT for DuckDB and PostgreSQL, of linear scores
	BigQuery    = "bigquery"    // the same for other engines
	Snowflake   = "snowflake"
	Spark       = "spark"
	SQLServer   = "sqlserver"
)

// formats lists the formats of Function.Write.
var formats = []string{ONNX, NPZ, Safetensors, Python, GoSource, JavaScript, SQL, BigQuery, Snowflake, Spark, SQLServer}

// Write is the function in a format. table is the one that SQL selects from; "" means records.
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
