"""What estimators and transformers are: scikit-learn's BaseEstimator where scikit-learn is installed, else its parameters alone."""

from __future__ import annotations

try:
    from sklearn.base import BaseEstimator as Base
except ImportError:
    from ._parameters import Parameters as Base  # type: ignore[assignment]

__all__ = ["Base"]
