"""Pairwise models with differential privacy, in scikit-learn's conventions.

The work is done by the program ``dyad``, which the wheel carries: it reads the data
from a private file, charges the ledger, trains, and writes the model. This package
holds no mechanism and no randomness of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import ledger, losses
    from ._estimators import PrivateAUCClassifier, PrivateMetric, PrivateRanker
    from ._program import BudgetError, DyadError, SavedElsewhere, program, version
    from ._public import PublicOneHot, PublicScaler
    from ._results import Curve, Figures, Guarantee, Surface
    from ._search import search
    from ._tools import AuditResult, CurveResult, Started, Verdict, audit, curve, start, verify

# Where names are; a module is imported when one of its names is used, as scikit-learn takes a second to load.
_PLACES = {
    "_estimators": ("PrivateAUCClassifier", "PrivateMetric", "PrivateRanker"),
    "_program": ("BudgetError", "DyadError", "SavedElsewhere", "program", "version"),
    "_public": ("PublicOneHot", "PublicScaler"),
    "_results": ("Curve", "Figures", "Guarantee", "Surface"),
    "_search": ("search",),
    "_tools": ("AuditResult", "CurveResult", "Started", "Verdict", "audit", "curve", "start", "verify"),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}
_MODULES = ("ledger", "losses")

__all__ = [  # noqa: PLE0604
    "AuditResult",
    "BudgetError",
    "Curve",
    "CurveResult",
    "DyadError",
    "Figures",
    "Guarantee",
    "PrivateAUCClassifier",
    "PrivateMetric",
    "PrivateRanker",
    "PublicOneHot",
    "PublicScaler",
    "SavedElsewhere",
    "Started",
    "Surface",
    "Verdict",
    "audit",
    "curve",
    "ledger",
    "losses",
    "program",
    "search",
    "start",
    "verify",
    "version",
]


def __getattr__(name: str):
    if name in _MODULES:
        return import_module("." + name, __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module("." + _MODULE_OF[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
