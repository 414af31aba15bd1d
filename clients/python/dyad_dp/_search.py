"""A private choice among settings."""

from __future__ import annotations

import copy
import json

from . import _checks, _handover
from ._program import flags, run


def search(estimator, candidates, X, y, *, person=None, road="auto", runs=None):
    """Trains each of the candidates on private data, scores them and chooses one, in one charge (``dyad search``).

    candidates is a list of dicts: a name, and any of algorithm, radius, l2, loss, features (columns of the
    schema), steps, step_size, total_step, batch_records, ridge, clip_radius and second_moments. They must not be
    chosen by looking at the private records. The budget is the estimator's epsilon and delta. Returns
    (fitted estimator with the winner's model, the program's result).
    """
    _checks.only_scores(estimator, "search", "give it to the candidates")
    e = copy.copy(estimator)
    X = e._take(X)
    schema, columns = e._describe(X, y, None, person, X.shape[0])
    with _handover.folder() as at, e._keeping(schema, at) as out:
        settings = _handover.write_text(at / "candidates.yaml", json.dumps({"candidates": list(candidates)}))
        args = ["search", "--candidates", str(settings), "--data", e._write(at, X, columns)]
        args += ["--schema", str(_handover.write_schema(at / "schema.yaml", schema)), "--out", str(out)]
        args += flags({"epsilon": e.epsilon, "delta": e.delta, "road": road, "runs": runs, "ledger": e.ledger})
        result = run(args, verbose=e.verbose)
        e._adopt(out.read_bytes())
    e.model_file_ = None if schema["public"] else str(out)
    e.n_features_in_ = X.shape[1]
    return e, result
