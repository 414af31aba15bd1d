"""What was spent on which data: the program's ledger. ledger= is a file; None is the program's own.

>>> from dyad_dp import ledger
>>> ledger.init("clinic", epsilon=2, delta=1e-5)      # the most that may be spent
>>> ledger.show()                         # totals of all data ids, with every charge
"""

from __future__ import annotations

from typing import Any

from ._program import flags, run
from ._results import Spent


def show(data_id: str | None = None, *, delta: float | None = None, ledger=None) -> list[Spent]:
    """What was spent, for each data id, at one delta."""
    found = run(["ledger", "show", *([data_id] if data_id is not None else []), *flags({"delta": delta, "ledger": ledger})])
    return [Spent(**{k: v for k, v in one.items() if k in Spent.__dataclass_fields__}, report=one) for one in (found if isinstance(found, list) else [found])]


def init(data_id: str, *, epsilon: float, delta: float, looking: bool = False, close: bool = False, ledger=None) -> None:
    """Sets the most that may be spent on a data id; looking counts budgets that are chosen by looking at earlier results.

    A cap below what was spent needs close=True.
    """
    run(["ledger", "init", data_id, *flags({"epsilon": epsilon, "delta": delta, "looking": looking, "close": close, "ledger": ledger})], parse=False)


def verify(*, witness=None, ledger=None) -> dict[str, Any]:
    """Checks that no line was changed or lost; a damaged ledger is an error."""
    return run(["ledger", "verify", *flags({"witness": witness, "ledger": ledger})])


def key(*, ledger=None) -> str:
    """The public key that signs what charged runs release, made at the first call: dyad_dp.verify(FILE, key=KEY) takes it."""
    return run(["ledger", "key", *flags({"ledger": ledger})])["key"]


def sign(path, *, ledger=None) -> None:
    """Signs a file that a run released before there was a key, into PATH.minisig."""
    run(["ledger", "sign", str(path), *flags({"ledger": ledger})], parse=False)
