"""The peers against hand computations: python3 -m unittest protocol_test (tests of a library that is not installed are skipped)."""
import importlib.util
import math
import unittest
import unittest.mock

import numpy as np
from scipy import integrate, stats

import numpy_peers as peers
from protocol import gaussian_delta, gaussian_mu, two_hops


class Quiet:
    """A generator without noise."""
    def normal(self, size=None):
        return 0.0 if size is None else np.zeros(size)

    def integers(self, high):
        return 1


class Unit(Quiet):
    """A generator whose normal numbers are all 1: the noise is its standard deviation."""
    def normal(self, size=None):
        return 1.0 if size is None else np.ones(size)


x4 = np.array([[.6, .0], [.2, .4], [-.2, .2], [.0, -.6]])
y4 = np.array([1., 1., -1., -1.])


def has(*names):
    return unittest.skipUnless(all(importlib.util.find_spec(n) for n in names), f"{names} not installed")


class Mechanisms(unittest.TestCase):
    def test_gaussian(self):
        # The definition: delta = integral of (p - e^epsilon q)+ for N(mu, 1) against N(0, 1).
        for mu, epsilon in ((.268, 1.0), (1.0, .5), (2.0, 4.0)):
            f = lambda z: max(0, stats.norm.pdf(z - mu) - math.exp(epsilon) * stats.norm.pdf(z))
            area = integrate.quad(f, epsilon / mu + mu / 2, 40)[0]
            self.assertAlmostEqual(gaussian_delta(mu, epsilon) / area, 1, places=6)
        self.assertAlmostEqual(1 / gaussian_mu(1, 1e-5), 3.7306, places=3)  # Balle and Wang 2018: sigma at (1, 1e-5)

    def test_two_hops(self):
        # At epsilon 1 exact replace-one noise (twice the sensitivity) is at most 3 % smaller.
        ratio = gaussian_mu(1, 1e-5) / 2 / gaussian_mu(*two_hops(1, 1e-5))
        self.assertTrue(1 < ratio < 1.03, ratio)

    def test_class_means(self):
        w, _ = peers.class_means(x4, y4, 1.0, Quiet())
        np.testing.assert_allclose(w, [.4 - -.1, .2 - -.2])
        w, _ = peers.class_means(x4, y4, 2.0, Unit())  # sigma = 2/mu = 1: sums + 1, n+ = (2 sqrt2 + 1)/sqrt2
        count = 2 + 1 / math.sqrt(2)
        np.testing.assert_allclose(w, (np.array([.8, .4]) + 1) / count - (np.array([-.2, -.4]) + 1) / (4 - count))

    def test_signed_sum(self):
        w, _ = peers.signed_sum(x4, y4, 1.0, Quiet())  # prior 0: sum of y x
        np.testing.assert_allclose(w, [1.0, .8])
        w, _ = peers.signed(x4, y4, .5, 1, 2.0, Unit()), 1  # sigma = 2 (1 + .5)/2
        np.testing.assert_allclose(w, (np.array([.5, .5, -1.5, -1.5])[:, None] * x4).sum(0) + 1.5)

    def test_least_squares(self):
        x = np.array([[.1], [.3], [-.1], [.1]])  # mean .1: centred 0, .2, -.2, 0, second moment .08
        s = math.sqrt(2) * .25 / (1e6 * math.sqrt(.3))
        w, _ = peers.least_squares(x, y4, 1e6, Quiet())
        np.testing.assert_allclose(w, [.4 / (.08 + 3 * s)])

    def test_adassp(self):
        # Without noise and with rows that leave no doubt of the least eigenvalue there is no ridge: least squares with an intercept.
        x, y = np.tile(x4, (10 ** 6, 1)), np.tile(y4, 10 ** 6)
        w, _ = peers.adassp(x, y, 1e3, Quiet(), 1e-5)
        a = np.hstack([x4, np.ones((4, 1))])
        np.testing.assert_allclose(w / w[0], (np.linalg.lstsq(a, y4, rcond=None)[0][:2] / np.linalg.lstsq(a, y4, rcond=None)[0][0]), rtol=1e-6)
        # Few rows: no eigenvalue is certain, and the ridge is the bound on the noise. Each of three releases has mu/sqrt 3.
        s = math.sqrt(3) / .1
        w, _ = peers.adassp(x4, y4, .1, Quiet(), 1e-5)
        b = a / math.sqrt(2)
        want = np.linalg.solve(b.T @ b + s * math.sqrt(3 * math.log(18 / .05)) * np.eye(3), b.T @ y4)
        np.testing.assert_allclose(w, want[:2])

    def test_gradient(self):
        w, _ = peers.gradient(x4, y4, 1.0, Quiet(), steps=1, rate=4.0)
        np.testing.assert_allclose(w, [.5, .4])  # 4/4 sum of y x / 2
        w, _ = peers.gradient(x4, y4, 4.0, Unit(), steps=4, rate=0.5, clip=1.0)
        z, noise = np.zeros(3), 2 * 1 * 2 / 4.0
        a = np.hstack([x4, np.ones((4, 1))])
        for _ in range(4):
            g = sum(-y * r / (1 + math.exp(y * r @ z)) for r, y in zip(a, y4))
            z = z - .125 * (g + noise)
        np.testing.assert_allclose(w, z[:2])

    def test_symmetric(self):
        # Isometric coordinates: the standard deviation of <noise, A> is |A|_F for symmetric A.
        rng, a = np.random.default_rng(1), np.array([[1., 2.], [2., -1.]])
        draws = [np.sum(peers.symmetric(2, rng) * a) for _ in range(20000)]
        self.assertAlmostEqual(np.std(draws) / np.linalg.norm(a), 1, delta=.02)

    def test_sensitivities(self):
        # The largest move of each release over random neighbours, at corners of the ball, is the sensitivity in the text.
        rng, most = np.random.default_rng(2), dict.fromkeys(("class", "signed", "moment", "product"), 0.0)
        ball = lambda: (lambda v: v / np.linalg.norm(v))(rng.normal(size=2))
        for _ in range(20000):
            (u, v), (a, b), prior = (ball(), ball()), rng.choice([-1, 1], 2), .3
            one = lambda z, c: np.concatenate([z * (c > 0), z * (c < 0), [math.sqrt(2) * (c > 0)]])
            most["class"] = max(most["class"], np.linalg.norm(one(u, a) - one(v, b)))
            most["signed"] = max(most["signed"], np.linalg.norm((a - prior) * u - (b - prior) * v))
            most["moment"] = max(most["moment"], np.linalg.norm(np.outer(u, u) - np.outer(v, v)))
            # Of AdaSSP, whose rows are (x, 1)/sqrt 2: the least eigenvalue moves by less than 1, the product with the label by 2.
            p, q = (np.append(z, 1) / math.sqrt(2) for z in (u, v))
            most["product"] = max(most["product"], np.linalg.norm(a * p - b * q))
            self.assertLessEqual(np.abs(np.linalg.eigvalsh(np.outer(p, p) - np.outer(q, q))).max(), 1)
        for name, bound in (("class", 2), ("product", 2), ("signed", 2 * 1.3), ("moment", math.sqrt(2))):
            self.assertLessEqual(most[name], bound + 1e-12)
            self.assertGreater(most[name], .999 * bound)


class Libraries(unittest.TestCase):
    @has("opacus")
    def test_opacus(self):
        import opacus_dpsgd as peer
        hop = two_hops(1, 1e-5)
        self.assertAlmostEqual(peer.noise(*hop, 1.0, 10) * gaussian_mu(*hop) / math.sqrt(10), 1, delta=.04)
        with unittest.mock.patch.object(peer, "noise", lambda *_: 1e-6):
            w, _ = peer.fit(x4, y4, 1, 1e-5, Quiet(), {})  # full batches, 10 steps of 4
        want, _ = peers.gradient(x4, y4, 1e9, Quiet(), steps=10, rate=4.0)
        np.testing.assert_allclose(w.numpy(), want, rtol=1e-3)

    @has("interpret")
    def test_dp_ebm(self):
        import dp_ebm as peer
        # Replacing a record costs twice the mu of the two parts together, and no more is left; the noise of the package is of those parts.
        claim = peer.claim_for(1.0, 1e-5)
        parts = gaussian_mu(.1 * claim, 5e-6), gaussian_mu(.9 * claim, 5e-6)
        self.assertAlmostEqual(2 * math.hypot(*parts), gaussian_mu(1, 1e-5), places=6)
        # What replacing a record costs exactly: sqrt 2 for the histogram of a column, 2 for a sum of gradients.
        exact = math.sqrt(2 * parts[0] ** 2 + 4 * parts[1] ** 2) / gaussian_mu(1, 1e-5)
        self.assertTrue(.995 < exact <= 1, exact)
        from interpret.utils._privacy import calc_gdp_noise_multi
        self.assertAlmostEqual(calc_gdp_noise_multi(300 * 12, .9 * claim, 5e-6) * parts[1] / math.sqrt(300 * 12), 1, places=6)

    @has("dpmm")
    def test_mst(self):
        # The package's sigma is that of a third of its rho for each release of counts, weights of norm 1, as for a sensitivity of 1.
        from dpmm.models.mst import MSTGM
        model = MSTGM(epsilon=1, delta=1e-5, n_jobs=1)
        self.assertAlmostEqual(1 / (2 * model.generator.sigma ** 2), model.generator.rho / 3)

    @has("jax_privacy")
    def test_jax(self):
        import jax_privacy_gd as peer
        self.assertAlmostEqual(peer.multiplier(1.0, 1e-5) * gaussian_mu(1, 1e-5) / math.sqrt(peer.STEPS), 1, delta=.01)
        self.assertEqual(peer.gradient.sensitivity(peer.REPLACE), 2)
        w = peer.train(x4, y4, __import__("jax").random.key(0), 0.0)
        want, _ = peers.gradient(x4, y4, 1e9, Quiet())
        np.testing.assert_allclose(w, want, rtol=1e-4)

    @has("diffprivlib")
    def test_diffprivlib(self):
        import diffprivlib_logistic as peer
        from sklearn.linear_model import LogisticRegression
        x, y = np.tile(x4, (50, 1)), np.tile(y4, 50)
        w, _ = peer.fit(x, y, 1e6, 0, Quiet(), {})
        np.testing.assert_allclose(w, LogisticRegression(C=.1).fit(x, y).coef_[0], rtol=1e-2)


if __name__ == "__main__":
    unittest.main()
