"""JAX-Privacy on the pointwise logistic loss: full-batch gradients, clipped and summed by its clipped_grad.

Replace-one: clipped_grad says the sensitivity for dp_accounting's REPLACE_ONE (2C); noise of every step is that times the multiplier that
dp_accounting finds for the composition of as many Gaussian mechanisms. Fixed setting: 20 steps of 4 on the mean gradient, clip 1, last
iterate, intercept.
"""
from functools import lru_cache

import dp_accounting
import jax
import jax.numpy as jnp
import jax_privacy
import numpy as np
from dp_accounting.pld import PLDAccountant

from protocol import serve

STEPS, RATE, CLIP = 20, 4.0, 1.0
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE


@lru_cache(maxsize=None)
def multiplier(epsilon, delta):
    """Standard deviation over sensitivity. For a Gaussian mechanism without sampling the relation is in the sensitivity alone, so the
    accountant may keep its default."""
    event = lambda m: dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(m), STEPS)
    return dp_accounting.calibrate_dp_mechanism(lambda: PLDAccountant(value_discretization_interval=1e-3), event, epsilon, delta)


def loss(params, x, y):
    return jnp.mean(jnp.logaddexp(0.0, -y * (x @ params["w"] + params["b"])))


gradient = jax_privacy.clipped_grad(loss, l2_clip_norm=CLIP, batch_argnums=(1, 2))


@jax.jit
def train(x, y, key, deviation):
    def step(params, key):
        g = gradient(params, x, y)
        leaves, tree = jax.tree.flatten(g)
        noisy = [v + deviation * jax.random.normal(k, v.shape) for v, k in zip(leaves, jax.random.split(key, len(leaves)))]
        return jax.tree.map(lambda p, v: p - RATE / len(x) * v, params, jax.tree.unflatten(tree, noisy)), None
    start = {"w": jnp.zeros(x.shape[1]), "b": jnp.zeros(())}
    return jax.lax.scan(step, start, jax.random.split(key, STEPS))[0]["w"]


def fit(x, y, epsilon, delta, rng, options):
    deviation = multiplier(epsilon, delta) * gradient.sensitivity(REPLACE)
    return np.asarray(train(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32), jax.random.key(int(rng.integers(2 ** 31))), deviation)), STEPS


if __name__ == "__main__":
    serve(f"jax-privacy {jax_privacy.__version__}, jax {jax.__version__}, dp-accounting 0.6.0", fit)
