package export

import (
	"cmp"
	"fmt"
	"strings"
)

// formats lists the formats of Function.Write.
var formats = []string{ONNX, NPZ, Safetensors, Python, GoSource, JavaScript, SQL, BigQuery, Snowflake, Spark, SQLServer}

// Write returns the function in a format. table is the name of the table from which SQL selects. If it is "", the name
// is "records".
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
