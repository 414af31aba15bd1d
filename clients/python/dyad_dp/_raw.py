"""What stands before a private fit. The guarantee is for records whose features were computed from one record
each, by rules that are public: a scaler that was fitted to the private records puts its mean and its variance
into every row, and into the model, without noise.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _handover
from ._base import Base
from ._program import DyadError
from ._public import Public

_CURE = (
    "Use dyad_dp.PublicScaler or dyad_dp.PublicOneHot, whose ranges and categories are declared, or leave it out (the estimator scales by bounds=); "
    "a step that was fitted to public data goes in as sklearn.frozen.FrozenEstimator"
)
_ARRAY = (
    "raw_columns=True is needed for an array of private data: it declares that bounds are of raw columns, that is, every row is computed from its record "
    "alone, by rules that are public. An array does not tell: after StandardScaler().fit_transform(X) the mean and the variance of the private "
    "records are in every row, and would go into the model without noise. A DataFrame with raw columns and their bounds by name needs no "
    "declaration, nor do dyad_dp.PublicScaler and dyad_dp.PublicOneHot in a pipeline"
)
_CROSS_VALIDATION = (
    "scikit-learn's model selection would train on the private data again and again, a charge for each fit, and choose by "
    "figures that nothing protects: dyad_dp.search trains, scores and chooses in one charge"
)


class Private(Base):
    """Marks the estimators whose fit is charged: what they learnt is released with a guarantee."""


def check(estimator: Private, X) -> None:
    """Refuses private records that are not known to be raw.

    The callers of fit are looked at: scikit-learn's pipelines may hold steps that learn nothing, and no other tool
    of scikit-learn or imbalanced-learn may call. Records from elsewhere need column names, or a declaration.
    """
    declared = estimator.raw_columns or _has_names(X)
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module.startswith("sklearn.model_selection"):
            raise DyadError(_CROSS_VALIDATION)
        if module.startswith("imblearn") or module.startswith("sklearn.") and not module.startswith(("sklearn.pipeline", "sklearn.base", "sklearn.utils")):
            raise DyadError(f"{module} calls a private fit: it may repeat or weight records, or choose by figures that nothing protects. Call fit itself, or through a Pipeline")
        pipeline = frame.f_locals.get("self")
        if module == "sklearn.pipeline" and hasattr(pipeline, "steps") and "X" in frame.f_locals:
            steps = _before(pipeline)
            if steps:
                declared |= _public(steps, frame.f_locals["X"], X)
                X = frame.f_locals["X"]
        frame = frame.f_back
    if not declared:
        raise DyadError(_ARRAY)


def _has_names(X) -> bool:
    return _handover.is_frame(X) and all(isinstance(c, str) for c in X.columns)


def _before(pipeline) -> list:
    """The steps before the one that is being fitted."""
    at = (k for k, (_, step) in enumerate(pipeline.steps) if any(isinstance(s, Private) and not hasattr(s, "model_") for s in _parts(step)))
    return pipeline.steps[: next(at, len(pipeline.steps) - 1)]


def _parts(step):
    """What a step is made of: scikit-learn's containers learn nothing but names of columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    inner = None
    if type(step) is Pipeline:
        inner = [s for _, s in step.steps]
    elif type(step) is FeatureUnion:
        inner = [s for _, s in step.transformer_list]
    elif type(step) is ColumnTransformer:
        inner = [step.remainder, *(t[1] for t in step.transformers)]
    if inner is None:
        yield step
    else:
        for s in inner:
            yield from _parts(s)


def _public(steps: list, X, after) -> bool:
    """Refuses steps that learn, and steps that compute a row from others; true if they declare all columns."""
    from sklearn.utils import get_tags

    parts = [(name, part) for name, step in steps for part in _parts(step) if part not in ("drop", None)]
    for name, part in parts:
        frozen = type(part).__name__ == "FrozenEstimator" and type(part).__module__ == "sklearn.frozen._frozen"
        if not (isinstance(part, (str, Public, Private)) or frozen or not get_tags(part).requires_fit):
            raise DyadError(
                f"step {name} ({type(part).__name__}) is fitted to the private records before the private estimator sees them: what it learns goes into "
                f"the model without noise, and the guarantee does not hold. {_CURE}"
            )
    alone = _first(X)
    for name, step in steps:
        try:
            alone = alone if step in ("passthrough", None) else step.transform(alone)
        except Exception:
            raise _together(name, step) from None
    if not _equal(_row(alone), _row(after)):
        name, step = next(((n, s) for n, s in steps if "FunctionTransformer" in {type(p).__name__ for p in _parts(s)}), steps[-1])
        raise _together(name, step)
    return all(isinstance(part, Public) for _, part in parts)


def _together(name: str, step) -> DyadError:
    return DyadError(
        f"step {name} ({type(step).__name__}) gives a record other features when it stands alone: it computes them from other private records as well, "
        f"and the guarantee does not hold. {_CURE}"
    )


def _first(X):
    return X.head(1) if _handover.is_frame(X) else X[:1]


def _row(X) -> np.ndarray:
    X = _first(X)
    return np.asarray(X.toarray() if _handover.is_sparse(X) else X).ravel()


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    try:
        return np.allclose(a.astype(np.float64), b.astype(np.float64), equal_nan=True)
    except (TypeError, ValueError):
        return bool(np.all(a == b))
