"""Transformers that learn nothing: their numbers are declared, so they may stand before a private fit."""

from __future__ import annotations

import numpy as np

from . import _checks, _handover, _schema
from ._base import Base
from ._program import DyadError


class Public(Base):
    """A transformer that computes each row from its record alone, by what was declared."""

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(allow_nan=True),
            requires_fit=False,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X, y=None):
        """Checks the declaration against the columns of X. Nothing is taken from the records."""
        self._columns(X)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """transform(X), after the checks of fit."""
        return self.fit(X, y).transform(X)

    def _named(self, declared, X):
        """The columns of X that a dict declares, in its order."""
        if not _handover.is_frame(X):
            raise DyadError(f"{type(self).__name__} is declared by names of columns, which a DataFrame has")
        for name in declared:
            if name not in X.columns:
                raise DyadError(f"{type(self).__name__}: the DataFrame has no column {name!r}")
        return X[list(declared)]

    def _inputs(self, declared, input_features) -> list[str]:
        if isinstance(declared, dict):
            return [str(name) for name in declared]
        if input_features is not None:
            return [str(name) for name in input_features]
        if not hasattr(self, "n_features_in_"):
            raise _checks.not_fitted(self)
        return [f"x{k + 1}" for k in range(self.n_features_in_)]


class PublicScaler(Public):
    """Maps declared ranges to [0, 1]; what is outside of its range counts as the nearest end, NaN stays.

    scikit-learn's scalers take mean, variance, minimum or maximum from the records. Before a private fit
    these would go into the model without noise, and its guarantee would not hold.

    Parameters
    ----------
    bounds : the public ranges of the raw columns, known without the data: (low, high) for all, two arrays,
        a pair for each column, or for a DataFrame a dict from a column to (low, high); other columns are left out.

    A private estimator that follows has bounds=(0, 1).
    """

    def __init__(self, bounds):
        self.bounds = bounds

    def _columns(self, X):
        bounds = self.bounds
        if isinstance(bounds, dict):
            X, bounds = self._named(bounds, X), tuple(map(np.array, zip(*bounds.values())))
        X = _checks.matrix(X, "PublicScaler", missing=True, sparse=False)
        return X, *_schema._pair(bounds, X.shape[1])

    def transform(self, X) -> np.ndarray:
        """X in [0, 1]."""
        X, low, high = self._columns(X)
        return np.clip((X - low) / (high - low), 0, 1)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the columns, which are those of the input."""
        return np.array(self._inputs(self.bounds, input_features), dtype=object)


class PublicOneHot(Public):
    """A column of zeros and ones for each declared category.

    scikit-learn's OneHotEncoder takes the categories from the records unless it is given them: which ones
    occur, and how many columns there are, is then private.

    Parameters
    ----------
    categories : the public categories, known without the data: for a DataFrame a dict from a column to a list
        (other columns are left out), for arrays a list for each column.
    unknown : "error", or "other": a value that is not declared gives zeros.

    A private estimator that follows has bounds=(0, 1).
    """

    def __init__(self, categories, unknown="error"):
        self.categories = categories
        self.unknown = unknown

    def _columns(self, X) -> list[tuple[str, np.ndarray, list]]:
        if self.unknown not in ("error", "other"):
            raise DyadError(f'unknown is {self.unknown!r}, want "error" or "other"')
        categories = self.categories
        if isinstance(categories, dict):
            X, names, categories = self._named(categories, X), list(categories), list(categories.values())
        else:
            names = list(range(1, len(categories) + 1))
        lists = [c for c in categories if not isinstance(c, str) and len(c) and len(set(c)) == len(c)]
        X = np.asarray(X, dtype=object)
        if not lists or len(lists) != len(categories) or X.ndim != 2 or X.shape[1] != len(lists):
            raise DyadError("categories is a list of different values for each column, or a dict from a column of a DataFrame to such a list")
        return list(zip(names, X.T, lists))

    def transform(self, X) -> np.ndarray:
        """Zeros and ones: a column for each category, in the order of the declaration."""
        out = []
        for name, values, categories in self._columns(X):
            hot = np.array([[v == c for c in categories] for v in values], dtype=bool).reshape(len(values), len(categories))
            known = hot.any(axis=1)
            if self.unknown == "error" and not known.all():
                row = int(np.argmin(known))
                raise DyadError(f'row {row}, column {name!r}: the value is not one of the declared categories; correct it, or set unknown="other"')
            out.append(hot)
        return np.hstack(out).astype(np.float64)

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the columns: column_category."""
        lists = self.categories.values() if isinstance(self.categories, dict) else self.categories
        names = self._inputs(self.categories, input_features)
        return np.array([f"{n}_{c}" for n, cs in zip(names, lists) for c in cs], dtype=object)
