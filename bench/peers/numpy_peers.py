"""Private linear scores in numpy, replace-one, exact Gaussian noise: the first argument says which.

    class-means     class sums and count of positives in one release (R = 1); the difference of the class means
    signed-sum      the count with 10 % of mu^2, then sum (y - prior) x with the rest (R = 1)
    least-squares   count .10, centre .15, records clipped to .5 around it, signed sum .45, second moments .30, ridge 3: moments as in
                    sufficient-statistics perturbation (Vu and Slavkovic 2009), with an adaptive ridge (Wang 2018)
    adassp          AdaSSP (Wang 2018, algorithm 2) with an intercept: least eigenvalue, second moments and signed sum share mu^2 in thirds, and
                    the ridge is what the bound on the noise of the moments needs above that eigenvalue, with probability .95
    gradient        full-batch gradient descent on the pointwise logistic loss with an intercept, clip 1 (Song et al. 2013; Bassily et al.
                    2014): 20 steps of 4, and their last iterate
    logistic        logistic regression of scikit-learn, C = 100 or as asked, not private: the ceiling

Sensitivities for replacing one record, ||x|| <= R, n public:
    class sums (S+, S-, sqrt2 R n+)   2R: same class ||x - x'|| <= 2R; a class switch sqrt(R^2 + R^2 + 2R^2) = 2R
    count 1, sum of records 2R, signed sum 2R max(1 - b, 1 + b) (b is released before)
    second moments, off-diagonal entries times sqrt2: sqrt2 R^2, as ||xx' - zz'||_F^2 = |x|^4 + |z|^4 - 2 (x.z)^2
    least eigenvalue of the second moments 1, as xx' - zz' has eigenvalues within R^2
    sum of gradients of norm at most C: 2C
"""
import sys

import numpy as np

from protocol import gaussian_mu, serve


def positives(p, mu, rng):
    """Count of positives, kept within 2 to 98 % of n."""
    n = len(p)
    return np.clip(p.sum() + rng.normal() / mu, .02 * n, .98 * n)


def class_means(x, y, mu, rng):
    n, d = x.shape
    p, sigma = y > 0, 2 / mu
    plus, minus = x[p].sum(0) + sigma * rng.normal(size=d), x[~p].sum(0) + sigma * rng.normal(size=d)
    count = np.clip((np.sqrt(2) * p.sum() + sigma * rng.normal()) / np.sqrt(2), .02 * n, .98 * n)
    return plus / count - minus / (n - count), 1


def signed(x, y, prior, radius, mu, rng):
    return ((y - prior)[:, None] * x).sum(0) + 2 * radius * max(1 - prior, 1 + prior) / mu * rng.normal(size=x.shape[1])


def signed_sum(x, y, mu, rng):
    prior = 2 * positives(y > 0, mu * np.sqrt(.1), rng) / len(y) - 1
    return signed(x, y, prior, 1, mu * np.sqrt(.9), rng), 1


def symmetric(d, rng):
    """Normal noise on the upper triangle in isometric coordinates: 1 on the diagonal, 1/sqrt2 off it."""
    z = np.triu(rng.normal(size=(d, d)))
    z /= np.where(np.eye(d, dtype=bool), 1, np.sqrt(2))
    return z + np.triu(z, 1).T


def least_squares(x, y, mu, rng, radius=.5, ridge=3):
    n, d = x.shape
    prior = 2 * positives(y > 0, mu * np.sqrt(.10), rng) / n - 1
    centre = (x.sum(0) + 2 / (mu * np.sqrt(.15)) * rng.normal(size=d)) / n
    b = x - centre
    b *= np.minimum(1, radius / np.maximum(np.linalg.norm(b, axis=1, keepdims=True), 1e-12))
    v = signed(b, y, prior, radius, mu * np.sqrt(.45), rng)
    s = np.sqrt(2) * radius ** 2 / (mu * np.sqrt(.30))
    values, vectors = np.linalg.eigh(b.T @ b + s * symmetric(d, rng))
    return vectors @ (vectors.T @ v / (np.maximum(values, 0) + ridge * s * np.sqrt(d))), 2


def adassp(x, y, mu, rng, delta, failure=.05):
    n, d = x.shape
    a = np.hstack([x, np.ones((n, 1))]) / np.sqrt(2)
    s, d = np.sqrt(3) / mu, d + 1
    second = a.T @ a
    least = max(np.linalg.eigvalsh(second)[0] + s * rng.normal() - s * np.sqrt(np.log(6 / delta)), 0)
    second += np.sqrt(2) * s * symmetric(d, rng)
    v = a.T @ y + 2 * s * rng.normal(size=d)
    ridge = max(s * np.sqrt(d * np.log(2 * d * d / failure)) - least, 0)
    return np.linalg.solve(second + ridge * np.eye(d), v)[:-1], 1


def gradient(x, y, mu, rng, steps=20, rate=4.0, clip=1.0):
    n, d = x.shape
    a, w = np.hstack([x, np.ones((n, 1))]), np.zeros(d + 1)
    norms, sigma = np.linalg.norm(a, axis=1), 2 * clip * np.sqrt(steps) / mu
    for _ in range(steps):
        c = -y / (1 + np.exp(np.clip(y * (a @ w), -500, 500)))
        c *= np.minimum(1, clip / np.maximum(np.abs(c) * norms, 1e-12))
        w = w - rate / n * (a.T @ c + sigma * rng.normal(size=d + 1))
    return w[:d], steps


def logistic(x, y, C=100):
    from sklearn.linear_model import LogisticRegression
    model = LogisticRegression(C=C, max_iter=5000).fit(x, y)
    return model.coef_[0], int(model.n_iter_[0])


private = {"class-means": class_means, "signed-sum": signed_sum, "least-squares": least_squares, "adassp": adassp, "gradient": gradient}

if __name__ == "__main__":
    name, version = sys.argv[1], f"numpy {np.__version__}"
    if name == "logistic":
        import sklearn
        serve(f"scikit-learn {sklearn.__version__}, {version}", lambda x, y, epsilon, delta, rng, options: logistic(x, y, **options))
    else:
        more = {"delta"} if name == "adassp" else {}
        serve(version, lambda x, y, epsilon, delta, rng, options: private[name](
            x, y, gaussian_mu(epsilon, delta), rng, **options, **({"delta": delta} if more else {})))
