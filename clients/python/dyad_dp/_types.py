"""Types of parameters."""

from __future__ import annotations

import os
from typing import Any, Literal, Mapping, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Pair = tuple[float, float]
# (low, high) for all features, two arrays, a pair for each, or for a DataFrame a range, a list of categories or a column of a schema for each column.
Bounds = Union[Pair, Sequence[Any], Mapping[str, Union[Pair, Sequence[Any], Mapping[str, Any]]]]
Schema = Union[Mapping[str, Any], Path]
Missing = Literal["error", "middle"]
Persons = Union[int, Literal["public"]]
Options = Mapping[str, Any]
