// Package dataset converts data files to engine.Records. It loads, scans, packs, converts and splits data and
// generates synthetic data. docs/data.md is the manual of the formats.
//
// The sub-packages have narrower tasks. The packages csv, parquet, array, sparse, workbook, jsonl and arff each
// read one format. They return fields or numbers and do not know schemas. Package source opens and decompresses
// files and cuts them into lines. Package parse parses the text of a field. Package sniff detects the format of
// a file. Package schema holds the user's declarations and the only encoder. It reads no data. Package drafts
// guesses a schema from a profile of each column.
//
// Reading data is the only step of Dyad that may fail because of the content of a file. It runs before a
// privacy budget is charged. Its errors name the file, the row, the column and the rule, and never contain a
// value.
//
// # Data-free scaling
//
// A feature is scaled by numbers of the Schema alone. These numbers are public: the user declares them, and
// they are never computed from the records. (The only exception is a schema written by Draft. Such a schema
// states that its numbers were computed from the records, see Schema.BoundsFromData.) So the map from a row of
// the file to a record involves no other row, and a change of one row changes one record.
//
// A dense row is encoded as follows.
//
//  1. A numeric value is clamped to its range [lo, hi] without a message, transformed (identity or log1p),
//     and mapped linearly from the transformed range to [-1, 1].
//  2. A column with two categories becomes -1 for the first category and +1 for the second. A column with
//     m > 2 categories becomes m features: 1 for the category of the row and 0 for the others.
//  3. All features are multiplied by 1/sqrt(V). V is the sum of 1/3 for each numeric column, which is the
//     second moment of the uniform distribution on [-1, 1], and 1 for each categorical column. A row that is
//     uniform in its ranges then has mean square norm 1. A numeric column with a basis adds 1, or 2 if the basis
//     has a spike. Each pair of interacting columns adds 1.
//  4. engine.NewRecords projects the row to norm R = 1.
//
// In formats with numbered features (dense LIBSVM, NPY, NPZ, IDX) all features are numeric, and a row is
// encoded in the same way.
//
// A sparse row (LIBSVM) is not centred, so that zero stays zero. Each value is clamped to its range, which must
// contain 0, and transformed. The result is divided by the largest magnitude that the range allows and
// multiplied by 1/sqrt(z). Here z is Schema.NonZeros, the public bound on the number of features stored in a
// row. So every row has norm at most 1, and the projection changes a row only by roundoff.
//
// # Labels and groups
//
// A label with two classes becomes -1 or +1. A graded label (kind: numeric) is mapped linearly from its public
// range [lo, hi] to [-1, 1]. A label outside the range is an error. A column with role group assigns rows to
// public query groups, which are numbered in the order of their first appearance. A ranking compares rows only
// within a query group.
package dataset
