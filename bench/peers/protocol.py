"""The lines between the runner and a peer: see the documentation of package experiment.

A peer calls serve(version, fit). fit(x, y, epsilon, delta, rng, options) gets x (n x d, rows of norm at most 1, float64), y (-1 or 1) and a
seeded numpy Generator, and returns weights and the number of times that it read all records. epsilon and delta are for replacing one
record, and n is public. A peer that calls serve_columns(version, fit) bins columns itself: fit(train, y, test, kinds, epsilon, delta, seed,
options) gets the columns of the records before they are scaled to norm 1, numbers as places in their public ranges from 0 to 1 and
categories as whole numbers, and kinds, the number of categories of each or 0 for a number. It returns a score for each row of test.
"""
import json
import math
import sys
import time

import numpy as np


def serve(version, fit):
    def answer(request, arrays):
        rng = np.random.default_rng(request["seed"])
        weights, passes = fit(arrays[0], arrays[1], request["epsilon"], request["delta"], rng, request["options"])
        return {"weights": [float(w) for w in weights], "passes": passes}
    loop(version, answer, lambda request: arrays_of(request["train"]))


def serve_columns(version, fit):
    def answer(request, arrays):
        train, y, test = arrays
        scores = fit(train, y, test, request["columns"], request["epsilon"], request["delta"], request["seed"], request["options"])
        return {"scores": [float(v) for v in scores]}
    loop(version, answer, lambda request: (np.load(request["train_columns"]), arrays_of(request["train"])[1], np.load(request["test_columns"])))


def arrays_of(path):
    with np.load(path) as arrays:
        return arrays["X"], arrays["y"]


def loop(version, answer, load):
    """Answers the requests; files are loaded once for all requests of a split."""
    kept = (None, None)
    for line in sys.stdin:
        request = json.loads(line)
        if kept[0] != request["train"]:
            kept = (request["train"], load(request))
        start = time.perf_counter()
        try:
            out = answer(request, kept[1]) | {"seconds": time.perf_counter() - start, "version": version}
        except ValueError as e:
            out = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(out), flush=True)


def coordinates(w):
    """The upper triangle of a symmetric matrix row by row, off-diagonal entries times sqrt 2."""
    i, j = np.triu_indices(len(w))
    return w[i, j] * np.where(i == j, 1, np.sqrt(2))


def upper(z):
    """P(N(0, 1) > z), to full relative precision."""
    return math.erfc(z / math.sqrt(2)) / 2


def gaussian_delta(mu, epsilon):
    """The exact delta of N(0, 1) against N(mu, 1) at epsilon (Balle and Wang 2018, theorem 8)."""
    return upper(epsilon / mu - mu / 2) - math.exp(epsilon) * upper(epsilon / mu + mu / 2)


def gaussian_mu(epsilon, delta):
    """The largest mu = sensitivity / sigma that is (epsilon, delta)-DP, by bisection from below."""
    if not delta > 0:
        raise ValueError("Gaussian noise needs delta > 0")
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        if gaussian_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low


def two_hops(epsilon, delta):
    """Budget for adding or removing one record that gives (epsilon, delta) for replacing one.

    To replace a record is to remove one and to add another. If each hop is (e, d)-DP, two are (2e, (1 + exp(e)) d)-DP: group privacy.
    """
    return epsilon / 2, delta / (1 + math.exp(epsilon / 2))
