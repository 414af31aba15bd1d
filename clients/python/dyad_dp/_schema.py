"""Schemas: what is public of the data."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from . import _handover
from ._program import DyadError, run

NEEDS_BOUNDS = (
    "bounds= or schema= is needed on private data: the public range of each feature, known without the data "
    "(a code book, what an instrument can show); a range that is computed from private records tells about them. "
    "public=True takes ranges from the data"
)


def load(schema) -> dict:
    """A schema from a dict, a path, or a YAML text, as the program reads it."""
    if isinstance(schema, dict):
        return dict(schema)
    if isinstance(schema, os.PathLike) or "\n" not in str(schema):
        return run(["data", "check", os.fspath(schema)])["schema"]
    with _handover.folder() as at:
        return run(["data", "check", str(_handover.write_text(at / "schema.yaml", str(schema)))])["schema"]


def label_of(schema: dict) -> dict:
    for c in schema.get("columns", ()):
        if c.get("role") == "label":
            return c
    raise DyadError("the schema has no column with role: label")


def column_of(schema: dict, role: str) -> dict | None:
    return next((c for c in schema.get("columns", ()) if c.get("role") == role), None)


def of_matrix(X, bounds, public: bool, missing: str) -> dict:
    """Schema of the features of a matrix."""
    d = X.shape[1]
    schema: dict[str, Any] = {"format": "npz", "features": d, "columns": []}
    if hasattr(X, "tocsr"):
        schema["sparse"] = True
    elif missing != "error":
        schema["missing"] = {"policy": missing}
    if bounds is None:
        if not public:
            raise DyadError(NEEDS_BOUNDS)
        schema["bounds_from_data"] = True
        low, high = _range_of(X)
    else:
        low, high = _pair(bounds, d)
    if low.ndim == 0 or (np.all(low == low[0]) and np.all(high == high[0])):
        schema["range"] = [float(low.flat[0]), float(high.flat[0])]
        return schema
    for k in range(d):
        schema["columns"].append({"name": f"x{k + 1}", "position": k + 1, "range": [float(low[k]), float(high[k])]})
    return schema


def _range_of(X):
    if hasattr(X, "tocsr"):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    else:
        with np.errstate(all="ignore"):
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a column without any number
                low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        low, high = np.nan_to_num(low), np.nan_to_num(high)
    low, high = low.astype(np.float64), high.astype(np.float64)
    return low, np.where(high > low, high, low + np.maximum(1, np.abs(low)))  # a constant column has no range of its own


def _pair(bounds, d: int):
    wrong = f"bounds is a pair (low, high) of numbers or of {d} numbers each, or {d} pairs"
    try:
        a = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        try:
            low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (d,)) for b in bounds)
            a = np.stack([low, high])
        except (TypeError, ValueError):
            raise DyadError(wrong) from None
    readings = [(a[0], a[1])] if a.shape in ((2,), (2, d)) else []
    if a.shape == (d, 2):
        readings.append((a.T[0], a.T[1]))
    if not readings:
        raise DyadError(wrong)
    readings = [(low, high) for low, high in readings if np.all(np.isfinite(a)) and np.all(low < high)]
    if not readings:
        raise DyadError("bounds: every low must be below its high, and both finite")
    if len(readings) > 1 and not np.array_equal(a, a.T) and not (isinstance(bounds, (list, tuple)) and isinstance(bounds[0], np.ndarray)):
        raise DyadError("bounds of two features can be two arrays or two pairs: write (np.array(lows), np.array(highs))")
    return readings[0]


def of_frame(frame, bounds, public: bool, missing: str, others=()) -> dict:
    """Schema of the features of a DataFrame: bounds is a dict from a column to (low, high), [categories] or a column of a schema.

    frame is None where there are no data yet; others are its columns that are no features.
    """
    schema: dict[str, Any] = {"format": "parquet", "columns": []}
    if missing != "error":
        schema["missing"] = {"policy": missing}
    if bounds is None:
        if not public:
            raise DyadError(NEEDS_BOUNDS + ". For a DataFrame bounds is a dict from each column to (low, high) or [categories]")
        schema["bounds_from_data"] = True
        bounds = {name: _values_of(frame[name]) for name in frame.columns}
    if not isinstance(bounds, dict):
        raise DyadError("bounds of a DataFrame is a dict from each column to (low, high), [categories] or a column of a schema")
    if frame is not None:
        without = [str(c) for c in frame.columns if c not in bounds and c not in others]
        absent = [str(c) for c in bounds if c not in frame.columns]
        if without:
            raise DyadError(f"bounds has no range or categories of {_list(without)}: add what is known without the data, or leave the column out of X")
        if absent:
            raise DyadError(f"bounds has {_list(absent)}, which X lacks: correct the name, or leave it out of bounds")
    for name, b in bounds.items():
        column: dict[str, Any] = {"name": str(name)}
        if isinstance(b, dict):
            column.update(b)
        elif len(b) == 2 and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in b):
            column["range"] = [float(b[0]), float(b[1])]
        else:
            column["categories"] = [_text(v) for v in b]
        schema["columns"].append(column)
    return schema


def ask_about_texts(columns, frame) -> None:
    """Refuses texts in the place of numbers unless the column of the schema states how they are written: they have two readings."""
    for column in columns:
        name = column.get("field") or column["name"]
        if column.get("role", "feature") == "feature" and column.get("range") and not column.get("decimal") and name in frame.columns and _is_text(frame[name]):
            raise DyadError(
                f'column "{name}" holds texts, and "1.234" in a text can be a little more than one or a thousand: convert it to numbers, '
                f'or say how they are written, as in bounds={{"{name}": {{"range": {column["range"]}, "decimal": ",", "thousands": "."}}}}, '
                f"or by the keys decimal and thousands of a schema"
            )


def _list(names) -> str:
    return ("column " if len(names) == 1 else "columns ") + ", ".join(f'"{name}"' for name in names)


def _is_text(series) -> bool:
    values = np.asarray(series)
    return values.dtype.kind in "OUT" and any(isinstance(v, str) for v in values)


def is_text_of(v, text) -> bool:
    """A class is what a schema writes as text: 1 and 1.0 are "1"."""
    if text is None:
        return False
    try:
        return float(v) == float(text)
    except (TypeError, ValueError):
        return _text(v) == str(text)


def _text(v) -> str:
    return str(v).lower() if isinstance(v, (bool, np.bool_)) else str(v)


def _values_of(series):
    values = np.asarray(series)
    if values.dtype.kind in "iuf":
        low, high = np.nanmin(values), np.nanmax(values)
        return (float(low), float(high if high > low else low + 1))
    seen = sorted({_text(v) for v in values if v is not None and v == v})
    return seen if len(seen) > 1 else [*seen, "another"]


def for_parquet(schema: dict) -> dict:
    """A schema of named columns for the Parquet file that carries a DataFrame."""
    schema = dict(schema)
    if any("position" in c for c in schema.get("columns", ())):
        raise DyadError("the schema finds columns by position, a DataFrame has names; give names, or an array")
    csv = schema.pop("csv", {})
    written = {key: csv[key] for key in ("decimal", "thousands") if csv.get(key)}  # of texts in the frame, too
    schema["columns"] = [{**written, **c} if c.get("range") and c.get("role", "feature") == "feature" else c for c in schema["columns"]]
    schema.update(format="parquet", ignore_others=True)
    return schema


def free_name(want: str, taken) -> str:
    want = re.sub(r"\W", "_", str(want)) or "y"
    while want in taken:
        want += "_"
    return want


def existing(path) -> str:
    """path as a text; the program says what is wrong with it."""
    return str(Path(path))
