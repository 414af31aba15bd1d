package export

import (
	"fmt"
	"strings"
)

// dialect describes the syntax of an SQL engine. DuckDB and PostgreSQL share one dialect.
type dialect struct {
	double, text, real string // names of types; real is the 32-bit type, "" if there is none
	number             string // format of a literal with an exponent
	ln                 string
	days               string // expression for the days from 1970-01-01 to a date
	nan, infinite      string // conditions on a number; "" if the engine has no such numbers
	open, between      string // syntax around a derived table of one row
	end                string
	name               func(string) string
	literal            func(string) string
	equal              func(column, literal string) string
}

func equal(column, literal string) string { return column + " = " + literal }

// quoted returns a function that quotes a name and doubles the quotation marks in it.
func quoted(mark string) func(string) string {
	return func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }
}

// escaped returns a literal for engines in which a backslash is the escape character.
func escaped(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s) + "'"
}

// backticks quotes a name in backticks and escapes backticks in it.
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
		double: "DOUBLE PRECISION", text: "VARCHAR", real: "REAL", number: "%s", ln: "ln(%s)",
		days: "CAST(%s AS DATE) - DATE '1970-01-01'",
		nan:  "%[1]s = CAST('NaN' AS DOUBLE PRECISION)", infinite: "abs(%[1]s) = CAST('Infinity' AS DOUBLE PRECISION)",
		name: quoted(`"`), literal: sqlText, equal: equal,
	}),
	BigQuery: {
		double: "FLOAT64", text: "STRING", number: "%s", ln: "ln(%s)",
		days: "DATE_DIFF(CAST(%s AS DATE), DATE '1970-01-01', DAY)",
		nan:  "IS_NAN(%[1]s)", infinite: "IS_INF(%[1]s)", open: "CROSS JOIN UNNEST([STRUCT(\n  ",
		between: ",\n  ", end: ")])",
		name: backticks, literal: escaped, equal: equal,
	},
	Snowflake: lateral(dialect{ // a literal with an exponent may have a decimal type
		double: "DOUBLE", text: "VARCHAR", number: "CAST('%s' AS DOUBLE)", ln: "ln(%s)",
		days: "DATEDIFF(day, CAST('1970-01-01' AS DATE), CAST(%s AS DATE))",
		nan:  "%[1]s = CAST('NaN' AS DOUBLE)", infinite: "abs(%[1]s) = CAST('inf' AS DOUBLE)", name: quoted(`"`),
		literal: escaped, equal: equal,
	}),
	Spark: lateral(dialect{
		double: "DOUBLE", text: "STRING", real: "FLOAT", number: "%s", ln: "ln(%s)",
		days: "DATEDIFF(CAST(%s AS DATE), DATE '1970-01-01')",
		nan:  "isnan(%[1]s)", infinite: "abs(%[1]s) = CAST('Infinity' AS DOUBLE)", name: quoted("`"),
		literal: escaped, equal: equal,
	}),
	SQLServer: { // LEAST and GREATEST need version 2022 or later; comparisons of texts ignore blanks at the end
		double: "FLOAT", text: "NVARCHAR(4000)", real: "REAL", number: "%s", ln: "LOG(%s)",
		days: "DATEDIFF(day, '19700101', CAST(%s AS DATE))",
		open: "CROSS APPLY (SELECT\n  ", between: ",\n  ", end: ")", name: quoted(`"`),
		literal: func(s string) string { return "N" + sqlText(s) },
		equal: func(column, literal string) string {
			return fmt.Sprintf("(%s = %s COLLATE Latin1_General_100_BIN2 AND DATALENGTH(%s) = DATALENGTH(%s))", column, literal,
				column, literal)
		},
	},
}

// is returns a condition on a number, or a false condition if the engine has no such numbers.
func is(condition, c string) string {
	if condition == "" {
		return "1 = 0"
	}
	return fmt.Sprintf(condition, c)
}

// sqlText returns a text literal.
func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
