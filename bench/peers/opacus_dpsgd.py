"""Opacus DP-SGD on the pointwise logistic loss: a linear model with an intercept.

Opacus accounts for adding or removing one record. The budget for replacing one is met by group privacy over the two hops (protocol.two_hops):
the noise is calibrated by Opacus' PRV accountant to (epsilon/2, delta/(1 + exp(epsilon/2))), and after the training Opacus must have
accounted for just that noise, rate and steps. What the hops lose is little: at epsilon 1, delta 1e-5 and full batches exact
replace-one noise is less than 3 % smaller (protocol_test.py); the accountant's own tolerance adds as much.

Fixed setting: Poisson batches of max(n/10, min(n, 256)) records on average, 10 epochs, clip 1, step 4 on the mean gradient, last iterate.
"""
import math
import warnings
from functools import lru_cache

import opacus
import torch
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from protocol import serve, two_hops

EPOCHS, RATE, CLIP = 10, 4.0, 1.0


@lru_cache(maxsize=None)
def noise(epsilon, delta, rate, steps):
    return get_noise_multiplier(target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps, accountant="prv",
                                epsilon_tolerance=.002)


def fit(x, y, epsilon, delta, rng, options):
    n, d = x.shape
    torch.manual_seed(int(rng.integers(2 ** 62)))
    data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y > 0, dtype=torch.float32))
    loader = DataLoader(data, batch_size=max(math.ceil(n / 10), min(n, 256)))
    rate, steps = 1 / len(loader), EPOCHS * len(loader)
    hop = two_hops(epsilon, delta)
    model = nn.Linear(d, 1)
    nn.init.zeros_(model.weight), nn.init.zeros_(model.bias)
    engine = opacus.PrivacyEngine(accountant="prv")
    model, optimizer, batches = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=RATE), data_loader=loader,
        noise_multiplier=noise(*hop, rate, steps), max_grad_norm=CLIP)
    optimizer.expected_batch_size = n * rate  # public; Opacus rounds it down
    for _ in range(EPOCHS):
        for features, label in batches:
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(model(features)[:, 0], label).backward()
            optimizer.step()
    if engine.accountant.history != [(noise(*hop, rate, steps), rate, steps)]:
        raise ValueError(f"Opacus accounts for {engine.accountant.history}, and the noise is for {steps} steps at rate {rate}")
    return model._module.weight.detach()[0], EPOCHS


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the random generator, which the runner seeds on purpose, and of torch's hooks
    torch.set_num_threads(1)
    serve(f"opacus {opacus.__version__}, torch {torch.__version__.split('+')[0]}", fit)
