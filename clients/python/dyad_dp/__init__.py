"""Pairwise models with differential privacy, in scikit-learn's conventions.

The work is done by the program ``dyad``, which the wheel carries: it reads the data
from a private file, charges the ledger, trains, and writes the model. This package
holds no mechanism and no randomness of its own.
"""

from ._estimators import PrivateAUCClassifier, PrivateMetric, PrivateRanker
from ._program import BudgetError, DyadError, SavedElsewhere, program, version
from ._public import PublicOneHot, PublicScaler
from ._results import Curve, Figures, Guarantee, Surface
from ._search import search

__all__ = [
    "BudgetError",
    "Curve",
    "DyadError",
    "Figures",
    "Guarantee",
    "PrivateAUCClassifier",
    "PrivateMetric",
    "PrivateRanker",
    "PublicOneHot",
    "PublicScaler",
    "SavedElsewhere",
    "Surface",
    "program",
    "search",
    "version",
]
