// Package dataset turns files into engine.Records: loading, scanning, packing,
// conversion, splits and synthetic data. docs/data.md is the manual of the formats.
//
// The rooms below it know less. Each format has one (csv, parquet, array, sparse,
// workbook, jsonl, arff), which gives fields or numbers and knows no schema; source
// opens, decompresses and cuts files into lines, parse reads the text of a field,
// sniff tells the format. schema holds what people declare and the one encoder,
// and reads no data. drafts guesses a schema from one profile of each column.
//
// It is the only step of Dyad that may fail on the content of a file, and it
// runs before anything is charged to a privacy budget. Its errors name the
// file, the row, the column and the rule, never the value.
//
// # Data-free scaling
//
// A feature is scaled by numbers of the Schema alone, which are public: declared
// by the user, never computed from the records. (A schema written by Draft is
// the exception; it says so, see Schema.BoundsFromData.) So the map from a row
// of the file to a record involves no other row, and a change of one row changes
// one record.
//
// A dense row is encoded as follows.
//
//  1. A numeric column is clamped to its range [lo, hi], silently, transformed
//     (identity or log1p) and mapped to [-1, 1] by its transformed range.
//  2. A column of two categories is -1 for the first, +1 for the second; of
//     m > 2 categories it is m columns, one 1 and m-1 zeros.
//  3. All columns are multiplied by 1/sqrt(V). V adds 1/3 for each numeric
//     column, the second moment of the uniform distribution on [-1, 1], and 1
//     for each categorical column. A row that is uniform in its ranges then has
//     mean square norm 1.
//  4. engine.NewRecords projects the row to norm R = 1.
//
// Where features are numbered (dense LIBSVM, NPY, NPZ, IDX) all are numeric, and a
// row is encoded in the same way.
//
// A sparse row (LIBSVM) is not centred, so that zero stays zero: a value is
// clamped to its range, which must contain 0, transformed, divided by the
// largest magnitude that the range allows, and multiplied by 1/sqrt(z), where z
// is the public bound Schema.NonZeros on the features stored in a row. So every
// row has norm at most 1 and the projection changes nothing but roundoff.
//
// # Labels and groups
//
// A label of two classes becomes -1 or +1. A graded one (kind: numeric) is mapped
// linearly from its public range [lo, hi] to [-1, 1]; outside of it is an error.
// A column with role group puts rows into public query groups, numbered by first
// appearance, within which a ranking compares rows.
package dataset
