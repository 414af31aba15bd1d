"""JAX-Privacy with a loss of one record, of pairs as it is, of each record with the rest of the batch, and of a batch clipped as one.

usage: attack_jax.py [trainings on each side, default 1000] > jax.csv
"""
import sys

import dp_accounting
import jax
import jax.numpy as jnp
import jax_privacy
import numpy as np
from dp_accounting.pld import PLDAccountant

from neighbours import CLIP, DELTA, EPSILON, N, constructed, without, writer

STEP, STEPS = 0.1, 10
RELATION = dp_accounting.NeighboringRelation


def pointwise(w, x, y):
    return jnp.mean(jnp.logaddexp(0.0, -y * (x @ w)))


def pairwise(w, x, y):
    """The mean over pairs of a positive and a negative record of x; 0 without a pair."""
    score = x @ w
    pairs = (y[:, None] > 0) & (y < 0)
    return jnp.sum(jnp.where(pairs, jnp.logaddexp(0.0, score - score[:, None]), 0.0)) / jnp.maximum(jnp.sum(pairs), 1)


def anchored(w, x, y, others, labels):
    """One record against those of the other class in an argument that is not part of batch_argnums."""
    opposite = labels != y
    losses = jnp.logaddexp(0.0, -y * (x @ w - others @ w))
    return jnp.sum(jnp.where(opposite, losses, 0.0)) / jnp.maximum(jnp.sum(opposite), 1)


def clipped(loss, **options):
    return jax_privacy.clipped_grad(loss, l2_clip_norm=CLIP, batch_argnums=(1, 2), **options)


def setting(name):
    """The clipped gradient as a function of w and the data, its bound, and the divisor of a step."""
    if name == "anchored":
        g = clipped(anchored, keep_batch_dim=False)
        return lambda w, x, y: g(w, x, y, x, y), g.sensitivity(RELATION.ADD_OR_REMOVE_ONE), N
    if name == "batch":  # the whole batch is one unit of clipping; another batch is another unit in its place
        g = clipped(pairwise, keep_batch_dim=False)
        return lambda w, x, y: g(w, x[None], y[None]), g.sensitivity(RELATION.REPLACE_ONE), 1
    g = clipped(pointwise if name == "pointwise" else pairwise)
    return g, g.sensitivity(RELATION.ADD_OR_REMOVE_ONE), N


def account(multiplier):
    a = PLDAccountant(value_discretization_interval=1e-3)
    return a.compose(dp_accounting.GaussianDpEvent(multiplier), STEPS).get_epsilon(DELTA)


def case(write, name, setting_name, data, runs):
    less = without(*data, N - 1)
    gradient, bound, divisor = setting(setting_name)
    multiplier = dp_accounting.calibrate_dp_mechanism(
        lambda: PLDAccountant(value_discretization_interval=1e-3), lambda m: dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(m), STEPS), EPSILON, DELTA)

    def samples(data, seed):
        x, y = (jnp.asarray(v, jnp.float32) for v in data)

        def step(w, key):
            return w - STEP / divisor * (gradient(w, x, y) + multiplier * bound * jax.random.normal(key, w.shape)), None

        train = jax.jit(lambda key: jax.lax.scan(step, jnp.zeros(2), jax.random.split(key, STEPS))[0])
        return np.array([train(key) for key in jax.random.split(jax.random.key(seed), runs)])

    zero = jnp.zeros(2)
    shift = np.asarray(gradient(zero, *map(jnp.asarray, less)) - gradient(zero, *map(jnp.asarray, data)))
    size = np.linalg.norm(shift)
    direction = shift / size if size > 0 else np.array([1.0, 0.0])
    write(library="jax-privacy", case=name, loss=setting_name, relation="remove one", n=N, positives=1, clip=CLIP, noise=f"{multiplier * bound / CLIP:.6g}", step=STEP, rate=1,
          steps=STEPS, claimed_epsilon=f"{account(multiplier):.6g}", delta=DELTA, move=f"{size / CLIP:.6g}",
          **{"with": samples(data, 1) @ direction, "without": samples(less, 2) @ direction})


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    write = writer(f"jax-privacy {jax_privacy.__version__}, jax {jax.__version__}, dp-accounting 0.6.0, numpy {np.__version__}")
    case(write, "control", "pointwise", constructed([2, 0]), runs)
    case(write, "pairs as they are", "pairwise", constructed([-2, 0]), runs)
    case(write, "rest of the batch", "anchored", constructed([-2, 0]), runs)
    case(write, "batch as one unit", "batch", constructed([-2, 0]), runs)
