"""Non-private AUC on Pima with scikit-learn: the peer of bench/plans/batch-pima.yaml, on splits of its own.

    python3 bench/peers/pima_sklearn.py pima-indians-diabetes.data > bench/results/pima-512-sklearn.csv

20 random splits, 512 records to train; the same public ranges as bench/schemas/pima.yaml (zeros in glucose..BMI are missing and
become the middle of the range). Logistic regression without regularisation, and the difference of the class means.
"""
import sys

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

low = np.array([0, 40, 30, 0, 0, 15, 0, 20.0])
high = np.array([15, 200, 110, 60, 400, 50, 1.5, 70])
may_miss = np.array([0, 1, 1, 1, 1, 1, 0, 0], bool)

table = np.loadtxt(sys.argv[1], delimiter=",")
raw, label = table[:, :8], table[:, 8]
x = 2 * (np.clip(raw, low, high) - low) / (high - low) - 1
x[(raw == 0) & may_miss] = 0

print(f"# scikit-learn {sklearn.__version__}, numpy {np.__version__}")
print("split,method,auc")
found = {"logistic-regression": [], "class-mean-difference": []}
for split in range(20):
    order = np.random.default_rng(split).permutation(len(label))
    train, test = order[:512], order[512:]
    logistic = LogisticRegression(penalty=None, max_iter=1000).fit(x[train], label[train])
    means = x[train][label[train] == 1].mean(0) - x[train][label[train] == 0].mean(0)
    for name, weights in (("logistic-regression", logistic.coef_[0]), ("class-mean-difference", means)):
        auc = roc_auc_score(label[test], x[test] @ weights)
        found[name].append(auc)
        print(f"{split},{name},{auc:.6f}")
for name, aucs in found.items():
    print(f"# mean AUC {np.mean(aucs):.4f}, standard error {np.std(aucs, ddof=1) / np.sqrt(len(aucs)):.4f} over {len(aucs)} splits: {name}")
