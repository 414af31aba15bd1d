"""Logistic regression of diffprivlib 0.6.3 with scikit-learn 1.2.2: objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011).

Its guarantee is epsilon-DP for replacing one record (the paper's neighbours differ in one entry); delta is not used. data_norm = 1 is public,
C = 0.1 fixed.
"""
import warnings

import diffprivlib
import sklearn
from diffprivlib.models import LogisticRegression

from protocol import serve


def fit(x, y, epsilon, delta, rng, options):
    model = LogisticRegression(epsilon=epsilon, data_norm=1.0, C=0.1, max_iter=1000, random_state=int(rng.integers(2 ** 31)))
    model.fit(x, y)
    return model.coef_[0], int(model.n_iter_[0])


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of rows whose norm is above 1 by a rounding, which it clips
    serve(f"diffprivlib {diffprivlib.__version__}, scikit-learn {sklearn.__version__}", fit)
