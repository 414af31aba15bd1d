"""Scores of a model, from its raw columns. Written by dyad export."""

# The model, line by line:
# guarantee: epsilon = 1, delta = 1e-05 for one record

import numpy as np

# column, low, high, log1p, centre, half, first day, numbers that are missing, first feature is the line, factors, features where missing, weights
NUMBERS = [
    ("age", 18, 95, False, 56.5, 38.5, 0, [-1, ], True, [0.5, ], [0, ], [0.841, ]),
    ("lab", 0, 500, True, 3.1083030505424323, 3.1083030505424323, 0, [], True, [0.5, ], [-0.1655021232056265, ], [0.909, ]),
    ("score", -2, 3, False, 0.5, 2.5, 0, [], True, [0.5, ], [np.nan, ], [0.141, ]),
]

# column, values are numbers, codes of values, code where missing, code of other values, weights; code -1 is 0, code -2 is refused
CATEGORIES = [
    ("sex", False, {"f": 0, "m": 1, }, -1, -2, [-0.757, ]),
    ("the ward's", False, {"a": 0, "b\"": 1, "c": 2, }, 3, -1, [-0.959, -0.279, 0.657, 0.989, ]),
    ("code", True, {1: 0, 2: 1, 3.5: 2, }, -1, -1, [0.412, -0.544, -1, ]),
]
FACTOR = 0.5
RADIUS = 0.9999999999999958


def score(columns):
    """Scores of rows, NaN for a row that dyad predict refuses.

    columns is a DataFrame, or a dict of arrays. Dates are days from January 1, 1970; None and NaN are missing, and "" among categories.
    """
    values, weights = [], []
    for name, low, high, log1p, centre, half, first, missing, line, factors, instead, w in NUMBERS:
        x = np.asarray(columns[name], dtype=np.float64) - first
        u = np.clip(np.where(np.isfinite(x), x, np.nan), low, high)
        u = np.clip(((np.log1p(u) if log1p else u) - centre) / half, -1, 1)
        values.append(np.where(np.isnan(x) | np.isin(x, missing), instead[0], u * factors[0]))
        weights.append(np.full(len(u), w[0]))
    for name, by_number, codes, missing, other, w in CATEGORIES:
        code = np.array([_code(v, by_number, codes, missing, other) for v in columns[name]], dtype=np.int64)
        place = np.maximum(code, 0)
        sign = 2 * place - 1 if len(w) == 1 else 1
        values.append(np.where(code == -2, np.nan, np.where(code == -1, 0, sign * FACTOR)))
        weights.append(np.full(len(code), w[0]) if len(w) == 1 else np.take(w, place))
    x, weights = np.stack(values), np.stack(weights)
    x = x * (RADIUS / np.maximum(np.sqrt((x * x).sum(axis=0)), RADIUS))
    return (weights * x).sum(axis=0)


def _code(value, by_number, codes, missing, other):
    if value is None or value != value or isinstance(value, str) and value == "":
        return missing
    return codes.get(float(value) if by_number else str(value), other)
