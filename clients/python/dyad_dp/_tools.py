"""What else the program does: first steps with a file, curves over epsilon, audits, verdicts."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _checks, _handover, _released, _schema
from ._program import DyadError, flags, run
from ._results import frame_of

if TYPE_CHECKING:
    from ._estimators import PrivateAUCClassifier, PrivateRanker
    from ._types import Path


@dataclass(frozen=True)
class Started:
    """A draft of a schema: from_data are the columns whose ranges or categories were taken from the data, which are not public."""

    schema: dict
    text: str = field(repr=False)
    from_data: tuple[str, ...] = ()


def start(data, *, label: str | None = None, positive: Any = None, answers: dict[str, Any] | None = None, out: Path | None = None) -> Started:
    """Drafts the schema of a file or a DataFrame (dyad start). No budget is charged, and nothing private is printed.

    answers is what is known about columns without the data, such as {"age": {"range": [18, 110]}}. out is a schema file to keep. Ranges that no
    answer has come from the data: from_data names their columns, and a model by them says that its guarantee does not hold.
    """
    import json

    with _handover.folder() as at:
        path = str(_handover.write_frame(at / "data.parquet", data, {})) if _handover.is_frame(data) else os.fspath(data)
        to = File(out).absolute() if out is not None else at / "schema.yaml"
        args = ["start", path, "--out", str(to), "--recipe", str(at / "recipe.yaml")]
        if answers is not None:
            args += ["--answers", str(_handover.write_text(at / "answers.yaml", json.dumps(answers)))]
        found = run(args + flags({"label": label, "positive": positive}))
        return Started(_schema.load(to), to.read_text(encoding="utf-8"), tuple(found.get("from_data") or ()))


@dataclass(frozen=True)
class CurveResult:
    """The AUC against epsilon. points have algorithm, epsilon, auc, auc_low and auc_high: of public data the mean over splits with one standard
    error, of private data a released figure with its interval of 95 %."""

    points: list[dict]
    report: dict = field(repr=False)

    @classmethod
    def of(cls, report: dict) -> CurveResult:
        """Reads a result of dyad curve."""
        if "means" not in report:
            return cls(report["rows"], report)
        points = [{_snake(k): v for k, v in m.items()} for m in report["means"]]
        return cls([{**m, "auc": m["mean"], "auc_low": m["mean"] - m["se"], "auc_high": m["mean"] + m["se"]} for m in points], report)

    def frame(self):
        """A pandas DataFrame, a row for each point."""
        return frame_of(self.points)

    def plot(self, ax=None):
        """Draws the points with their bands on a matplotlib axis, which is returned."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        for algorithm in dict.fromkeys(p["algorithm"] for p in self.points):
            rows = sorted((p for p in self.points if p["algorithm"] == algorithm), key=lambda p: p["epsilon"])
            x, y, low, high = (np.array([p[k] for p in rows], dtype=float) for k in ("epsilon", "auc", "auc_low", "auc_high"))
            ax.plot(x, y, marker="o", label="without privacy" if algorithm == "projected-gradient" else algorithm)
            ax.fill_between(x, low, high, alpha=0.2)
        ax.set(xscale="log", xlabel="epsilon", ylabel="AUC")
        ax.legend()
        return ax

    def _repr_html_(self) -> str:
        return self.frame()._repr_html_()


def curve(estimator, X, y, *, epsilons: Sequence[float], holdout_epsilon: float | None = None, splits: int | None = None, algorithms: Sequence[str] = (), out=None, **options) -> CurveResult:
    """The AUC against epsilon (dyad curve), by splits of X and y with the estimator's bounds.

    Public data cost nothing. On private data every epsilon is charged, and holdout_epsilon for the figures of each, all at once. out is the
    prefix of files to keep: CSV and figures, from which an interrupted call goes on. What was charged is kept next to the ledger without it.
    """
    public = estimator._is_public
    if not public and holdout_epsilon is None:
        raise DyadError("curve on private data needs holdout_epsilon=, the budget of the figures of every run: it is charged with the trainings")
    _checks.only_scores(estimator, "curve", "name algorithms=, and further flags of dyad lab curve as keywords")
    X = estimator._take(X)
    schema, columns = estimator._describe(X, y, None, None, X.shape[0])
    with _handover.folder() as at:
        args = ["lab", "curve", "--data", estimator._write(at, X, columns), "--schema", str(_handover.write_schema(at / "schema.yaml", schema))]
        if out is None:
            out = at / "curve" if public else _released.new("curve", estimator.ledger).with_suffix("")
        args += ["--out", str(File(out).absolute()), "--yes", *(["--public-data"] if public else [])]
        args += flags({"epsilon": list(epsilons), "holdout_epsilon": holdout_epsilon, "splits": splits, "algorithm": list(algorithms) or None, "delta": estimator.delta})
        found = run(args + flags({"ledger": None if public else estimator.ledger, **options}), verbose=estimator.verbose)
    return CurveResult.of(found)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


@dataclass(frozen=True)
class AuditResult:
    """A lower bound of epsilon from attacks; refuted if it is above the claim."""

    claimed: float
    lower: float
    refuted: bool
    report: dict = field(repr=False)


def audit(algorithm: str, *, verbose: bool = False, **options) -> AuditResult:
    """Attacks an algorithm (dyad lab audit). options are its flags and keys, such as runs=1000, epsilon=1, time="30s". No data are read."""
    found = run(["lab", "audit", algorithm, *flags(options)], verbose=verbose, check=False)
    return AuditResult(found["claimed_epsilon"], found["audited_epsilon"], not found["holds"], found)


@dataclass(frozen=True)
class Verdict:
    """What the checker says of a model file. True if it is verified."""

    verdict: str
    why: str
    report: dict = field(repr=False)

    def __bool__(self) -> bool:
        return self.verdict == "verified"


def verify(model: Path | PrivateAUCClassifier | PrivateRanker, *, key: str | None = None, signature: Path | None = None, ledger: Path | None = None) -> Verdict:
    """Recomputes the guarantee of a model file, or of a fitted estimator, independently of the program that planned it (dyad verify).

    key is the public key of the owner's ledger (dyad_dp.ledger.key): the file must then be the one that the owner signed. A file that is refused is a
    verdict and no error; one that cannot be read is.
    """
    with contextlib.ExitStack() as stack:
        path: Any = model
        if hasattr(path, "model_bytes_"):
            path = path.model_file_ or path._model(stack.enter_context(_handover.folder()))
        found: dict[str, Any] = run(["verify", os.fspath(path), *flags({"key": key, "signature": signature, "ledger": ledger})], check=False)
    return Verdict(found["verdict"], found.get("why", ""), found)
