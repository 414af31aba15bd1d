package export

import (
	"fmt"
	"strings"
)

// dialect is what one SQL engine writes in its own way. DuckDB and PostgreSQL share theirs.
type dialect struct {
	double, text, real string // types; real is the type with 32 bits, "" without one
	number             string // of a literal with an exponent
	ln                 string
	days               string // from 1970-01-01 to the date
	nan, infinite      string // conditions on a number; "" where no number is that
	open, between      string // of a derived table of one row
	end                string
	name               func(string) string
	literal            func(string) string
	equal              func(column, literal string) string
}

func equal(column, literal string) string { return column + " = " + literal }

// quoted doubles the mark in a name.
func quoted(mark string) func(string) string {
	return func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }
}

// escaped is a literal in which a backslash escapes.
func escaped(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s) + "'"
}

// backticks quotes a name; a backtick in it is escaped.
func backticks(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}

func lateral(d dialect) dialect {
	d.open, d.between, d.end = "CROSS JOIN LATERAL (SELECT\n  ", ",\n  ", ")"
	return d
}

// dialects maps SQL formats to their dialects.
var dialects = map[string]dialect{
	SQL: lateral(dialect{
		double: "DOUBLE PRECISION", text: "VARCHAR", real: "REAL", number: "%s", ln: "ln(%s)", days: "CAST(%s AS DATE) - DATE '1970-01-01'",
		nan: "%[1]s = CAST('NaN' AS DOUBLE PRECISION)", infinite: "abs(%[1]s) = CAST('Infinity' AS DOUBLE PRECISION)", name: quoted(`"`), literal: sqlText, equal: equal,
	}),
	BigQuery: {
		double: "FLOAT64", text: "STRING", number: "%s", ln: "ln(%s)", days: "DATE_DIFF(CAST(%s AS DATE), DATE '1970-01-01', DAY)",
		nan: "IS_NAN(%[1]s)", infinite: "IS_INF(%[1]s)", open: "CROSS JOIN UNNEST([STRUCT(\n  ", between: ",\n  ", end: ")])", name: backticks, literal: escaped, equal: equal,
	},
	Snowflake: lateral(dialect{ // a literal with an exponent may be a decimal
		double: "DOUBLE", text: "VARCHAR", number: "CAST('%s' AS DOUBLE)", ln: "ln(%s)", days: "DATEDIFF(day, CAST('1970-01-01' AS DATE), CAST(%s AS DATE))",
		nan: "%[1]s = CAST('NaN' AS DOUBLE)", infinite: "abs(%[1]s) = CAST('inf' AS DOUBLE)", name: quoted(`"`), literal: escaped, equal: equal,
	}),
	Spark: lateral(dialect{
		double: "DOUBLE", text: "STRING", real: "FLOAT", number: "%s", ln: "ln(%s)", days: "DATEDIFF(CAST(%s AS DATE), DATE '1970-01-01')",
		nan: "isnan(%[1]s)", infinite: "abs(%[1]s) = CAST('Infinity' AS DOUBLE)", name: quoted("`"), literal: escaped, equal: equal,
	}),
	SQLServer: { // 2022 and later have LEAST and GREATEST; its comparison of texts ignores blanks at the end
		double: "FLOAT", text: "NVARCHAR(4000)", real: "REAL", number: "%s", ln: "LOG(%s)", days: "DATEDIFF(day, '19700101', CAST(%s AS DATE))",
		open: "CROSS APPLY (SELECT\n  ", between: ",\n  ", end: ")", name: quoted(`"`), literal: func(s string) string { return "N" + sqlText(s) },
		equal: func(column, literal string) string {
			return fmt.Sprintf("(%s = %s COLLATE Latin1_General_100_BIN2 AND DATALENGTH(%s) = DATALENGTH(%s))", column, literal, column, literal)
		},
	},
}

// is is a condition on a number, and false where no number is that.
func is(condition, c string) string {
	if condition == "" {
		return "1 = 0"
	}
	return fmt.Sprintf(condition, c)
}
