"""diffprivlib's logistic regression on two data sets that differ in the label of one record: pointwise, so its claim must hold.

usage: attack_diffprivlib.py [trainings on each side, default 1000] > diffprivlib.csv
"""
import sys
import time
import warnings

import diffprivlib
import numpy as np
import sklearn
from diffprivlib.models import LogisticRegression

from neighbours import EPSILON, N, writer

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    write = writer(f"diffprivlib {diffprivlib.__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}")
    start = time.process_time()
    x, y = np.tile([1.0, 0.0], (N, 1)), np.r_[np.ones(N // 2), -np.ones(N // 2)]
    less = np.r_[-1.0, y[1:]]

    def fit(labels, seed):
        return LogisticRegression(epsilon=EPSILON, data_norm=1.0, C=0.1, max_iter=1000, random_state=seed).fit(x, labels).coef_[0, 0]

    sides = {"with": [fit(y, s) for s in range(runs)], "without": [fit(less, runs + s) for s in range(runs)]}
    write(library="diffprivlib", case="control", loss="pointwise", relation="replace one", n=N, positives=N // 2, claimed_epsilon=EPSILON, delta=0,
          seconds=f"{time.process_time() - start:.1f}", **sides)
