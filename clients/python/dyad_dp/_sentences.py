"""The program's errors in the words of Python: names of parameters and columns, places in X, cures that are arguments.

The program names a rule and its place in JSON. RULES has the sentence of each rule that records from Python can break; ELSEWHERE has
those of files that Python never writes. Flags become parameters by one function. Tests compare both with the program's source.
"""

from __future__ import annotations

import re
import tempfile

_MISSING = 'fill it in, or take missing values as the middle of the range: missing="middle", or for one column bounds={COLUMN: {"range": [low, high], "missing": {"policy": "middle"}}}'
_VALUE = "correct the value"
_NOTATION = 'convert the column to numbers, or say how they are written: bounds={COLUMN: {"range": [low, high], "decimal": ",", "thousands": "."}}'
_BOTH = "pairs need both classes: check classes=(negative, positive) and y"
_AGAIN = "this is a defect of the package: please report it, with the versions of numpy, pandas, pyarrow and SciPy"

# What is wrong, as the program says it before the first semicolon: (what is wrong in Python's words, or "" for the same; what to do).
RULES: dict[str, tuple[str, str]] = {
    "the value is not a number": ("", _VALUE),
    "the number has a decimal comma, but the schema has decimal points": ("a text with a decimal comma", _NOTATION),
    "the number has a sign between its thousands": ("a text with a sign between thousands", _NOTATION),
    "the number has a comma, which begins a fraction or separates thousands": ("a text with a comma, which begins a fraction or separates thousands", _NOTATION),
    "the number has a unit or a currency": ("a text with a unit or a currency", 'convert the column to numbers, or name the unit: bounds={COLUMN: {"range": [low, high], "suffix": UNIT}}'),
    "the value is not a number in the notation of the schema (csv.decimal, csv.thousands, suffix)": ("not a number in the declared notation (decimal, thousands, suffix)", "correct the value, or the notation in bounds"),
    "the value is not a finite number": ("", _VALUE),
    "the value is not a date in the format of the schema": ("not a date in the declared format", "correct the value, or date.format of the column"),
    "the value is missing": ("", _MISSING),
    "the category is not in the schema": (
        "the category is not one of the declared categories",
        'correct the value, add it to the categories of bounds (which are public), or count all others as one: bounds={COLUMN: {"categories": [...], "unknown": "other"}}',
    ),
    "the label is neither the positive nor the negative class of the schema": ("the label is neither of the two classes", "correct y, or classes=(negative, positive)"),
    "the label is missing": ("", "fit and evaluate need a label in every row"),
    "the label is outside its range": ("the label is outside of grades", "correct y, or grades=(lowest, highest)"),
    "the label is not a finite number": ("", "correct y"),
    "some rows have a label and other rows have none": ("", "label all rows or none"),
    "every row has the same label": ("", "pairs need two labels that differ"),
    "no row has the positive class": ("", _BOTH),
    "every row has the positive class": ("", _BOTH),
    "the file has no rows": ("X has 0 samples", "give at least 2 rows"),
    "the file has 1 row": ("X has one sample (n_samples = 1)", "a pair needs at least 2 rows"),
    "the query group is missing": ("", "every row needs one: group="),
    "no query group has two rows with different labels": ("", "ranking compares the rows of a group: check group= and y"),
    "more than 2147483647 query groups": ("", "join groups"),
    "the person id is missing (missing.values of the schema may count it as missing), or it has no visible character": ("the person id is missing, or has no visible character", "every row needs one"),
    "a person has rows in two query groups": ("", "a guarantee for persons is for persons who are in one group each: check group= and person="),
    "all rows have the same person id": ("", "pairs need at least 2 persons: check person="),
    "the number of different ids differs from `persons` of the schema": (
        "the number of different ids is not persons=",
        "count the persons on your own machine (ids that differ in case, in spaces around them or in invisible characters are one) and correct persons=, or "
        'say persons="public" if the ids are public',
    ),
    "the id is a number of magnitude 2^53 or more, so two different ids may become the same number": ("", "number persons and groups from 0, or give ids as texts in a column of a DataFrame"),
    "the element type is not float32, float64, a whole number of 1 to 8 bytes, or bool": ("", "convert the array: X.astype(float)"),
    "the features must be a matrix with one row for each record and one column for each feature": ("", "give X with two dimensions"),
    "each row must have exactly one number as its label or its group": ("", "give y and group with one dimension"),
    "features and labels (or groups) have different numbers of rows": ("", "give X, y, group and person of one length"),
    "an index of the matrix is not a whole number from 0 to features - 1": ("", "build the SciPy matrix again"),
    "the archive is not a CSR matrix of SciPy": ("X is dense, and the schema says sparse: true", "give scipy.sparse.csr_matrix(X)"),
    "the archive has no such array": ("an array that the schema names is not there", "give X, y, group and person by their parameters, and leave arrays out of the schema"),
    "the file has none of the column names of the schema": ("the DataFrame has none of the declared columns", "correct the names in bounds= (or schema=), or those of the DataFrame"),
    "the column is a date, a decimal, a list or another type that is neither a number, a text nor a boolean": ("", "convert the column, or leave it out"),
    "the Parquet schema does not match the schema": ("the columns of the DataFrame are not the declared ones", "correct the names in bounds= (or schema=), or those of the DataFrame"),
    "the array has fewer values than its header states, so the file is truncated": ("", _AGAIN),
    "the file continues after the array that its header describes": ("", _AGAIN),
    "the archive is damaged, or is not an NPZ file": ("", _AGAIN),
    "the file is damaged, or it is not a Parquet file": ("", _AGAIN),
    "the file does not begin with an NPY header": ("", _AGAIN),
}

# Beginnings of rules about files that only a path to them can bring, as in dyad_dp.start: the program's own words fit those.
ELSEWHERE = (
    "the compressed file", "the zstd window", "Parquet and NPZ files are compressed", "the file is a workbook", "the file is an OpenDocument", "the workbook ",
    "a formula has no", "this is a folder", "this folder ", "the file is not UTF-8", "the row is longer", "a quoted field", "text follows a closing quote", "the first row",
    "the text after the label", "the index is", "the indices", "the row has a query id", "the query id (qid:)", "the header ", "the line does not belong to an ARFF",
    "not an attribute", "sparse ARFF", "an attribute of dates", "the schema has this column as a number, but the nominal", "the value is not among the nominal", "not one JSON",
    "instance weights", "the object ", "the file does not begin with an IDX", "the labels file", "the value is an object", "this file is not an image", "the image is ", "the image must be",
)  # fmt: skip

# The program's flags whose parameter has another name; all others are parameters by the same name, or options.
FLAGS = {
    "force": "another path",
    "yes": "the confirmation",
    "json": "JSON",
    "data": "X",
    "labels": "y",
    "model": 'options={"model": ...}',
    "resume": "resume=",
    "unknown": 'the "unknown" key of bounds',
    "public-data": "public=True",
    "label": "label=",
    "n": "persons=",
}
PARAMETERS = ("epsilon", "delta", "algorithm", "loss", "radius", "l2", "ledger", "data-id", "schema", "out", "answers", "positive", "key", "task", "signature", "witness")

# Files of the hand-over, by what they carry.
FILES = {"data": "X", "schema": "the schema", "candidates": "candidates", "model": "the model", "figures": "figures", "answers": "answers"}

_FLAG = re.compile(r"(?<![\w-])--(?:set )?([a-z][a-z0-9-]*)(?:[ =]([A-Z2-7]{20,}|[A-Z]{1,9}\b))?")


def translated(text: str) -> str:
    """Any text of the program without temporary paths and flags."""
    text = re.sub(re.escape(tempfile.gettempdir()) + r"[^\s:;,]*dyad-handover-[^/\\\s]*[/\\](\w+)\.\w+", lambda m: FILES.get(m[1], m[1]), text)
    text = text.replace(", or --force to replace it", "")
    text = re.sub(r"--set ([\w-]+): dyad [\w ]+ has no flag --[\w-]+(?:; did you mean ([\w-]+)\?)?(?:; \"dyad .*)?", _unknown, text)
    return _FLAG.sub(_parameter, text).replace("the schema: schema:", "the schema:")


def _unknown(m: re.Match) -> str:
    return f'there is no option "{m[1].replace("-", "_")}"' + (f', did you mean "{m[2].replace("-", "_")}"?' if m[2] else "")


def _parameter(m: re.Match) -> str:
    name, value = m[1], m[2]
    if name == "resume" and value:
        return f'resume="{value}"'
    return FLAGS.get(name) or (name.replace("-", "_") if name in PARAMETERS else f'options={{"{name.replace("-", "_")}": {value or "..."}}}')


def sentence(entry: dict, columns=None) -> str:
    """What Python says for an error of the program, a line of --log-format json; columns are the names of those that travelled."""
    place = entry.get("place")
    if not place:
        return translated(entry["message"])
    what, _, cure = place["rule"].partition("; ")
    what, _, detail = what.partition(": it ") if "does not match the schema" in what else (what, "", "")
    told, do = RULES.get(what, ("", translated(cure)))
    column, position = place.get("column"), place.get("position", 0)
    if not column and columns is not None and 0 < position <= len(columns):
        column = columns[position - 1]
    where = [f'column "{column}"'] if column else [f"column {position - 1}"] if position else []
    if place.get("row"):
        where.append(f"row {place['row'] - 1} (the first is 0)")
    text = (told or translated(what)) + (f": it {detail}" if detail else "")
    return ", ".join(where) + (": " if where else "") + text + (f"; {do.replace('COLUMN', repr(column) if column else 'column')}" if do else "")
