"""Checks of arguments: numpy only, with scikit-learn's words where its tools expect them."""

from __future__ import annotations

import sys

import numpy as np

from ._program import DyadError


class NotFittedError(ValueError, AttributeError):
    """The estimator was used before fit."""


def not_fitted(estimator) -> Exception:
    """The error that callers know: scikit-learn's where it is in use."""
    kind: type[Exception] = NotFittedError
    if "sklearn" in sys.modules:
        from sklearn import exceptions

        kind = exceptions.NotFittedError
    return kind(f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first.")


def matrix(X, name: str, *, missing: bool, sparse: bool = True):
    """X as a numeric matrix: float32 and float64 stay, other numbers become float64."""
    if hasattr(X, "tocsr"):
        if not sparse:
            raise TypeError(f"Sparse data was passed, but {name} needs dense data. Use '.toarray()' to convert it.")
        X = X.tocsr()
        if np.iscomplexobj(X.data):
            raise ValueError("Complex data not supported")
        if not np.all(np.isfinite(X.data)):
            raise ValueError("Input X contains NaN or infinity.")
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        return _shape(X, name)
    X = np.asarray(X)
    if np.iscomplexobj(X):
        raise ValueError("Complex data not supported")
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind in "OUSV":
            try:
                X = X.astype(np.float64)
            except (TypeError, ValueError) as e:
                kind = TypeError if isinstance(e, TypeError) else ValueError
                raise kind(f"{e if kind is TypeError else 'could not convert X to float'}: argument must be a string or a number; texts travel in a DataFrame") from None
        else:
            X = X.astype(np.float64)
    X = _shape(X, name)
    if np.isinf(X).any():
        raise ValueError("Input X contains infinity or a value too large for its dtype.")
    if not missing and np.isnan(X).any():
        raise ValueError(f"Input X contains NaN. {name} takes missing values with missing='middle', or by a schema.")
    return X


def _shape(X, name: str):
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data using X.reshape(-1, 1) or X.reshape(1, -1).")
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required by {name}.")
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def vector(y, n: int, what: str) -> np.ndarray:
    """y as a vector of n values."""
    if y is None:
        raise ValueError(f"requires {what} to be passed, but the target y is None.")
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        import warnings

        kind: type[Warning] = UserWarning
        if "sklearn" in sys.modules:
            from sklearn import exceptions

            kind = exceptions.DataConversionWarning
        warnings.warn("A column-vector y was passed when a 1d array was expected.", kind, stacklevel=4)
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"{what} should be a 1d array, got an array of shape {y.shape} instead.")
    if len(y) != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {n} rows, {len(y)} of {what}.")
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError(f"Input {what} contains NaN or infinity.")
    return y


def whole(values, n: int, what: str) -> np.ndarray:
    """Ids of groups or persons as whole numbers."""
    values = vector(values, n, what)
    if values.dtype.kind not in "iu":
        raise DyadError(f"{what} of arrays are whole numbers; ids that are texts travel as a column of a DataFrame, where spellings are compared")
    return values


def only_scores(estimator, what: str, instead: str) -> None:
    """Refuses an estimator whose model or parameters a function would leave out of account."""
    if type(estimator)._task != "auc":
        raise DyadError(f"{what} compares AUCs of scores, which {type(estimator).__name__} does not have")
    for name in ("algorithm", "loss", "radius", "l2", "options"):
        if getattr(estimator, name):
            raise DyadError(f"{what} does not use {name}= of the estimator: {instead}")


def no_others(estimator, others: dict) -> None:
    """Refuses keywords of fit that it has not, and says why weights are none."""
    if others.get("sample_weight") is not None:
        raise DyadError(
            f"{type(estimator).__name__} takes no sample_weight: the noise is scaled for records that count once each, and one of a larger weight would be "
            "protected less than epsilon says. person= gives all rows of a person one weight together; records of no interest are left out of X"
        )
    wrong = [name for name in others if name != "sample_weight"]
    if wrong:
        raise TypeError(f"{type(estimator).__name__}.fit() got an unexpected keyword argument {wrong[0]!r}")
