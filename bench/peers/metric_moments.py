"""The metric of moment-metric in numpy, written before the Go code and from the same formulas (docs/theory.md#metric-from-moments):

    serve      (default) a peer, replace-one: the centre with 15 % of mu^2, then the moments of both classes in one release
    reference  prints algorithms/testdata/metric-moments.json: released moments of three data sets, and their metrics
"""
import json
import sys

import numpy as np

from protocol import coordinates, gaussian_mu, serve

RADIUS, CENTRE = .2, .15


def symmetric_noise(rng, d, s):
    """Isometric coordinates with standard deviation s: s on the diagonal, s/sqrt 2 off it."""
    g = rng.normal(size=(d, d)) * s
    return (g + g.T) / 2


def release(x, y, mu, rng):
    """Moments of both classes in units of R. The joint release of S+, S-, R n+, M+/(sqrt2 R), M-/(sqrt2 R) has sensitivity 2 R."""
    n, d = x.shape
    noise = 2 / (mu * np.sqrt(CENTRE)) / n
    c = x.mean(0) + rng.normal(size=d) * noise
    c *= max(0, 1 - d * noise**2 / (c @ c))
    c /= max(1, np.linalg.norm(c))
    b = x - c
    b *= np.minimum(1, RADIUS / np.maximum(np.linalg.norm(b, axis=1), 1e-300))[:, None] / RADIUS
    p, s1 = y > 0, 2 / (mu * np.sqrt(1 - CENTRE))
    s2 = np.sqrt(2) * s1
    return dict(n=n, d=d, positives=p.sum() + rng.normal() * s1, s1=s1, s2=s2, sn=s1,
                sumPlus=b[p].sum(0) + rng.normal(size=d) * s1, sumMinus=b[~p].sum(0) + rng.normal(size=d) * s1,
                plus=b[p].T @ b[p] + symmetric_noise(rng, d, s2), minus=b[~p].T @ b[~p] + symmetric_noise(rng, d, s2))


def nondecreasing(x):
    blocks = []
    for v in x:
        blocks.append([v, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (p, m), (q, k) = blocks[-2:]
            blocks[-2:] = [[(p * m + q * k) / (m + k), m + k]]
    return np.concatenate([[v] * k for v, k in blocks])


def cleaned(m, s, n):
    """Eigenvalues of a sum of x x^T, cleaned of noise s, and eigenvectors."""
    l, u = np.linalg.eigh(m)
    d, mean = len(l), l.mean()
    public = min(max(mean, .1 * n / d), n / d)
    h = ((l[:, None] - l[None]) / ((l[:, None] - l[None])**2 + s * s)).sum(1)
    return np.maximum(nondecreasing(l - s * s * h) + public - mean, 0), u


def beyond(x, edge):
    return x * np.sqrt(np.maximum(0, 1 - edge**2 / np.maximum(x * x, 1e-300)))


def metric(o, tau=1.5, rho=.2, full=.2):
    n, d, s1, s2 = o["n"], o["d"], o["s1"], o["s2"]
    b = np.clip((2 * o["positives"] / n - 1) / (1 + 12 * o["sn"]**2 / n**2), 2 / n - 1, 1 - 2 / n)
    f, a = np.sqrt(2 * (1 + b * b)), 1 - b * b
    s, m = o["sumPlus"] + o["sumMinus"], o["plus"] + o["minus"]
    mean = s / n * max(0, 1 - 2 * d * s1 * s1 / (s @ s))
    v = o["sumPlus"] - o["sumMinus"] - b * s
    diff = o["plus"] - o["minus"] - b * m - np.outer(v, mean) - np.outer(mean, v)
    xi, u = cleaned(m - n * np.outer(mean, mean), np.sqrt(2) * s2, n)
    total = xi.sum()
    if not total > 0:
        return np.eye(d)
    q = np.maximum(np.diag((u * xi) @ u.T), .02 * total / d)
    # Noise and sampling error of entries of v, and of the diagonal and the coordinates of diff.
    ev, ed = np.sqrt((f * s1)**2 + a * total / d), np.sqrt((f * s2)**2 + 2 * a * q * q / n)
    edge = np.sqrt((f * s2)**2 + 2 * a * (total / d)**2 / n) * (np.sqrt(2 * d) + tau)
    ridge, signal, beta = np.sqrt(2 * d) * s2 + 1e-3 * total / d, v @ v, np.zeros(d)
    keep = max(0, 1 - ((np.sqrt(d) + tau) * ev)**2 / signal)
    if keep > 0:
        damp = ridge + (f * s1)**2 / min(max(signal - d * (f * s1)**2, 1e-300) / total, n / d + 1)
        beta = np.sqrt(keep) * u @ (u.T @ beyond(v, ev) / (xi + damp))
    diagonal = np.diag(beyond(np.diag(diff), (np.sqrt(2 * np.log(d)) + tau / 2) * ed))
    l, w = np.linalg.eigh(diff - diagonal)
    k, c = (u / (xi + ridge)) @ u.T, (u * xi) @ u.T
    h = k @ (diagonal + (w * beyond(l, edge)) @ w.T) @ k
    g = np.outer(beta, beta) + n * h @ c @ h
    root = np.diag(np.sqrt(np.diag(g)))
    if not np.sum(root * c) > 0:
        return np.eye(d)
    return rho * np.eye(d) / total + (1 - rho) * (full * g / np.sum(g * c) + (1 - full) * root / np.sum(root * c))


def fit(x, y, epsilon, delta, rng, options):
    return coordinates(metric(release(x, y, gaussian_mu(epsilon, delta), rng))), 3


def reference():
    rng, sets = np.random.default_rng(7), []
    for kind in range(3):
        x = rng.normal(size=(3000, 6))
        score = [x[:, 0] + .5 * x[:, 1], (x[:, :2]**2).sum(1) - 1.5, x[:, 2] + x[:, 0]**2 - 1][kind]
        o = release(x @ (np.eye(6) + .2 * rng.normal(size=(6, 6))) / 12, np.sign(score), gaussian_mu(2 if kind == 1 else 4, 1e-5), rng)
        w = metric(o)
        o["plus"], o["minus"] = coordinates(o["plus"]), coordinates(o["minus"])
        sets.append({key: value.tolist() if isinstance(value, np.ndarray) else float(value) if isinstance(value, float) else value for key, value in o.items()} | {"w": coordinates(w).tolist()})
    print(json.dumps(sets, separators=(",", ":")))


if __name__ == "__main__":
    if sys.argv[1:] == ["reference"]:
        reference()
    else:
        serve(f"numpy {np.__version__}", fit)
