package dataset

// Rules that several readers or tests use.
const (
	ruleTooFew      = "the file has 1 row; a pairwise loss needs at least 2"
	ruleNoPositive  = "no row has the positive class; compare `positive` in the schema with the label column"
	ruleNoNegative  = "every row has the positive class; a pairwise loss needs both classes"
	rulePackedTwice = "Parquet and NPZ files are compressed already; remove the outer gzip or zstd"
	ruleIsHeader    = "the first row looks like a header; set csv.header: true"
	ruleNotHeader   = "the first row has none of the column names of the schema; if the file has no header, set " +
		"csv.header: false; otherwise correct the column names"
	ruleQID = "the row has a query id (qid:), but the schema has no column with role: group; add such a column, or " +
		"remove the query ids"
	ruleNoGroup   = "the query group is missing; every row needs a query group"
	ruleTwoGroups = "a person has rows in two query groups; give a person one group, or give the person column " +
		"role: ignore and set rows_per_person"
	ruleNoPerson = "the person id is missing (missing.values of the schema may count it as missing), or it has no " +
		"visible character; every row needs a person id"
	ruleOtherPersons = "the number of different ids differs from `persons` of the schema; correct `persons`, or " +
		"set -n if the schema comes from a model; ids that differ only in case, outer spaces or invisible " +
		"characters count as one"
	ruleOnePerson   = "all rows have the same person id; a pairwise loss needs at least 2 persons"
	ruleTooManyIDs  = "more than 2147483647 query groups"
	ruleSameLabel   = "every row has the same label; a pairwise loss needs two different labels"
	ruleNoGroupPair = "no query group has two rows with different labels; there is nothing to compare"
	ruleARFFType    = "an attribute of dates, relations or free text cannot be a feature; use role: ignore, or " +
		"another attribute"
	ruleARFFNumeric = "the schema has this column as a number, but the nominal values are not numbers; give the " +
		"column categories"
	ruleARFFNominal = "the value is not among the nominal values of the header; correct the value or the header"
	ruleARFFNames   = "the header has none of the column names of the schema; set `field` of each column to its " +
		"attribute name"
	ruleARFFWeight  = "instance weights ({W} after the row) are not supported; remove them"
	ruleJSONUnknown = "the object has a key that the schema does not have; add the column (role: ignore drops it), or " +
		"set ignore_others: true"
	ruleNotCSR = "the archive is not a CSR matrix of SciPy; write it with scipy.sparse.save_npz(FILE, " +
		"scipy.sparse.csr_matrix(X))"
	ruleCSRIndex = "an index of the matrix is not a whole number from 0 to features - 1; write the matrix again, or " +
		"correct features"
	ruleArrayRows = "features and labels (or groups) have different numbers of rows"
	ruleNoLabels  = "the labels file is absent; name it with labels_file in the schema, or with the option for it"
	ruleArrayID   = "the id is a number of magnitude 2^53 or more, so two different ids may become the same " +
		"number; number the ids from 0, or use a format with texts"
	ruleParquetNames = "the file has none of the column names of the schema; set `field` of each column to its " +
		"name in the file"
	ruleParquetType = "the column is a date, a decimal, a list or another type that is neither a number, a text " +
		"nor a boolean; convert it, or use role: ignore"
	ruleJSONNested = "the value is an object or a list, but it must be a number, a text, true, false or null"
	ruleJSONNames  = "the object has none of the column names of the schema; set `field` of each column to its key " +
		"in the object"
	ruleMixedLabels = "some rows have a label and other rows have none; label all rows, or no row"
)
