"""k-NN and exact AUC with scikit-learn: the peer of the lines k-NN and exact AUC of dyad lab bench.

    python3 bench/peers/knn_sklearn.py > bench/results/peers-sklearn.csv

3 neighbours of a tenth as many queries as records of 32 features in float64, brute force; AUC of scores.
"""
import argparse

import numpy as np
import sklearn
from common import header, measure
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

p = argparse.ArgumentParser()
p.add_argument("--runs", type=int, default=3)
p.add_argument("--records", type=int, nargs="*", default=[20_000, 100_000])
p.add_argument("--scores", type=int, nargs="*", default=[1_000_000, 10_000_000])
o = p.parse_args()

header(f"scikit-learn {sklearn.__version__}, numpy {np.__version__}", f"{o.runs} runs")
rng = np.random.default_rng(1)
d = 32
for n in o.records:
    y = rng.integers(0, 2, n) * 2.0 - 1
    x = rng.standard_normal((n, d)) + y[:, None] / 8
    q = rng.standard_normal((n // 10, d))
    knn = KNeighborsClassifier(3, algorithm="brute").fit(x, y)
    measure("scikit-learn", "k-NN", n, d, o.runs, lambda: knn.predict(q))
for n in o.scores:
    y = rng.integers(0, 2, n) * 2.0 - 1
    s = rng.standard_normal(n) + y
    measure("scikit-learn", "exact AUC", n, "", o.runs, lambda: roc_auc_score(y, s))
