"""Private synthetic data by MST (McKenna, Miklau and Sheldon 2021; package dpmm), then boosted trees of LightGBM on them.

Columns become bins of their public ranges, 16 or fewer; the domain and n are public, and n records are drawn. The package accounts in zCDP
for adding or removing one record: a third of rho each for the one-way marginals, the choice of pairs and the pairs. To replace a record
moves counts by sqrt 2 in norm, so the Gaussian parts cost 2 rho/3 each, and the scores of pairs (1-norms) by 2, so the exponential
mechanism costs 4 rho/3: 8/3 in all, and MST gets 3/8 of the rho of (epsilon, delta). The noise of the package is OpenDP's, which takes no
seed: we draw the same distribution from the seed of the run.
"""
import warnings

import numpy as np
import pandas
from dpmm.models import mst
from dpmm.models.base.mechanisms import cdp_rho, mechanism
from dpmm.models.mst import MSTGM

from boosting_lightgbm import boost
from protocol import serve_columns

MOST = 60  # columns: MST scores all pairs
STEPS = 300, 1000  # of mirror descent, for the one-way marginals and for the tree; the package takes 2,500 and 5,000, a minute a run


def fit(train, y, test, kinds, epsilon, delta, seed, options):
    if len(kinds) > MOST:
        raise ValueError(f"MST scores all pairs of {len(kinds)} columns, which takes too long here: at most {MOST}")
    n, bins = len(y), 16 if len(y) >= 2000 else 8
    binned = lambda x: np.column_stack([x[:, k] if m else np.minimum(bins - 1, np.floor(bins * x[:, k])) for k, m in enumerate(kinds)]).astype(int)
    names = [f"c{k}" for k in range(len(kinds))]
    frame = pandas.DataFrame(binned(train), columns=names)
    frame["y"] = (y > 0).astype(int)
    rng = np.random.RandomState(seed % 2 ** 32)
    mechanism.gaussian_noise = lambda sigma, size: rng.normal(scale=sigma, size=size)
    mst.FactoredInference = lambda domain, iters: mechanism.FactoredInference(domain, iters=min(iters, STEPS[0]))
    model = MSTGM(epsilon=epsilon, delta=delta, n_iters=STEPS[1], domain={**{name: m or bins for name, m in zip(names, kinds)}, "y": 2}, n_jobs=1)
    model.set_random_state(rng)
    model.generator.rho = 3 / 8 * cdp_rho(epsilon, delta)
    model.generator.sigma = np.sqrt(3 / (2 * model.generator.rho))
    model.fit(frame)
    drawn = model.generate(n_records=n)
    label = drawn["y"].to_numpy()
    if label.min() == label.max():
        return np.zeros(len(test))
    return boost(drawn[names].to_numpy(), 2.0 * label - 1, binned(test), kinds, seed)


if __name__ == "__main__":
    import importlib.metadata
    warnings.simplefilter("ignore")
    serve_columns(f"dpmm {importlib.metadata.version('dpmm')}, lightgbm {importlib.metadata.version('lightgbm')}", fit)
