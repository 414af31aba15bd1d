"""One private classifier in the place of another: diffprivlib's LogisticRegression and PrivateAUCClassifier, on the same splits.

    python from_diffprivlib.py OUT.csv [dyad] [diffprivlib]

diffprivlib 0.6.6 is not importable with scikit-learn 1.9, so each may run in an environment of its own; rows are appended. Before, in a script:

    from diffprivlib.models import LogisticRegression
    model = LogisticRegression(epsilon=1, data_norm=norm)

and after, with ranges in the place of a norm, and a name under which the ledger adds up what is spent:

    from dyad_dp import PrivateAUCClassifier
    model = PrivateAUCClassifier(epsilon=1, bounds=(0, 1), classes=(0, 1), raw_columns=True, data_id="trial")

fit, predict, predict_proba, decision_function and Pipelines of public steps stay. The guarantees differ: diffprivlib's is pure epsilon, and here delta = min(1e-5,
n^-1.5) for a replaced record. The data are made here, so they are public; both are told ranges and not data.
"""

import sys
import time
import warnings
from importlib.metadata import version

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

SPLITS, FEATURES = 10, 10
EPSILONS = (0.1, 0.3, 1.0, 3.0)
SIZES = (1000, 10000)


def data(n, split):
    X, y = make_classification(2 * n, FEATURES, n_informative=5, n_redundant=2, class_sep=0.7, flip_y=0.05, random_state=split)
    X = (np.clip(X, -4, 4) + 4) / 8  # ranges of -4 to 4 are declared, not measured
    return train_test_split(X, y, train_size=n, random_state=split, stratify=y)


def dyad(epsilon):
    from dyad_dp import PrivateAUCClassifier

    return PrivateAUCClassifier(epsilon=epsilon, bounds=(0, 1), classes=(0, 1), raw_columns=True, data_id="trial")


def diffprivlib(epsilon):
    from diffprivlib.models import LogisticRegression

    return LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(FEATURES)), max_iter=1000)


def main(out, *names):
    warnings.simplefilter("ignore")
    models = {"dyad": (dyad, "dyad-dp"), "diffprivlib": (diffprivlib, "diffprivlib")}
    rows = []
    for name in names or models:
        make, package = models[name]
        for n in SIZES:
            for epsilon in EPSILONS:
                figures, seconds = [], []
                for split in range(SPLITS):
                    X, later, y, later_y = data(n, split)
                    began = time.perf_counter()
                    model = make(epsilon).fit(X, y)
                    seconds.append(time.perf_counter() - began)
                    figures.append(roc_auc_score(later_y, model.decision_function(later)))
                auc, error = np.mean(figures), np.std(figures, ddof=1) / np.sqrt(SPLITS)
                rows.append(f"{name},{version(package)},{n},{FEATURES},{epsilon:g},{SPLITS},{auc:.4f},{error:.4f},{np.median(seconds):.3f}")
                print(rows[-1], flush=True)
    with open(out, "a") as f:
        if f.tell() == 0:
            f.write("model,version,n,d,epsilon,splits,auc,standard_error,seconds\n")
        f.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
