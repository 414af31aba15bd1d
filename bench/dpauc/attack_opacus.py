"""Does Opacus' epsilon hold if the loss couples the records of a batch? Trains a linear model on neighbouring data sets.

usage: attack_opacus.py [trainings on each side, default 300] > opacus.csv
"""
import sys
import time
import warnings

import numpy as np
import opacus
import torch
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from neighbours import CLIP, DELTA, EPSILON, N, constructed, ordinary, without, writer


def pointwise(score, y):
    """The control: a mean over records."""
    return nn.functional.softplus(-y * score).mean()


def pairwise(score, y):
    """The logistic AUC loss: a mean over the pairs of a positive and a negative record of the batch."""
    loss = nn.functional.softplus(score[y < 0][:, None] - score[y > 0])
    return loss.mean() if loss.numel() else 0 * score.sum()


def private(data, noise, batches, step):
    """What a user of Opacus writes, but the mean is over the expected batch of N records on both sides: that favours the library."""
    x, y = (torch.tensor(v, dtype=torch.float32) for v in data)
    model, engine = nn.Linear(x.shape[1], 1, bias=False), opacus.PrivacyEngine(accountant="prv")
    nn.init.zeros_(model.weight)
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=step), data_loader=DataLoader(TensorDataset(x, y), batch_size=-(-N // batches)),
        noise_multiplier=noise, max_grad_norm=CLIP)
    optimizer.expected_batch_size = N / batches
    return engine, model, optimizer, loader


def train(loss, data, noise, batches, epochs, step):
    engine, model, optimizer, loader = private(data, noise, batches, step)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x)[:, 0], y).backward()
            optimizer.step()
    return model._module.weight.detach()[0].numpy(), engine


def clipped_sum(loss, data, weights):
    """Opacus' own sum of clipped rows at some weights, before its noise."""
    _, model, optimizer, _ = private(data, 1.0, 1, 0.0)
    model._module.weight.data[0] = torch.tensor(weights)
    x, y = (torch.tensor(v, dtype=torch.float32) for v in data)
    loss(model(x)[:, 0], y).backward()
    optimizer.clip_and_accumulate()
    return optimizer.params[0].summed_grad.flatten().numpy().copy()


def case(write, name, loss, data, runs, removed=None, batches=1, epochs=10, step=0.1):
    """The constructed pair removes the last record, at the first weights. In ordinary data the record is removed that moves the sum most
    where the training ends without noise."""
    start = time.process_time()
    weights = np.zeros(data[0].shape[1], np.float32) if removed is not None else train(loss, data, 0.0, 1, epochs, step)[0]
    whole, everyone = clipped_sum(loss, data, weights), range(N) if removed is None else [removed]
    shifts = {i: clipped_sum(loss, without(*data, i), weights) - whole for i in everyone}  # of the weights: minus the gradient
    moves = {i: float(np.linalg.norm(s)) / CLIP for i, s in shifts.items()}
    removed = max(moves, key=moves.get)
    less, direction = without(*data, removed), shifts[removed] / np.linalg.norm(shifts[removed])
    noise = get_noise_multiplier(target_epsilon=EPSILON, target_delta=DELTA, sample_rate=1 / batches, steps=epochs * batches, accountant="prv")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _, engine = train(loss, data, noise, batches, epochs, step)
    said = sorted({str(w.message).split(".")[0].strip()[:80] for w in seen})
    torch.manual_seed(7)
    sides = [[float(train(loss, side, noise, batches, epochs, step)[0] @ direction) for _ in range(runs)] for side in (data, less)]
    write(library="opacus", case=name, loss=loss.__name__, relation="remove one", n=N, positives=int((data[1] > 0).sum()), clip=CLIP, noise=f"{noise:.6g}",
          step=step, rate=1 / batches, steps=epochs * batches, claimed_epsilon=f"{engine.get_epsilon(DELTA):.6g}", delta=DELTA, move=f"{moves[removed]:.6g}",
          above=sum(m > 1.005 for m in moves.values()), warnings="; ".join(said), seconds=f"{time.process_time() - start:.1f}",
          **{"with": sides[0], "without": sides[1]})


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # those of one training stand in its line
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    write = writer(f"opacus {opacus.__version__}, torch {torch.__version__.split('+')[0]}, numpy {np.__version__}")
    case(write, "control", pointwise, constructed([2, 0]), runs, N - 1)
    case(write, "constructed", pairwise, constructed([-2, 0]), runs, N - 1)
    case(write, "constructed, batches", pairwise, constructed([-2, 0]), runs, N - 1, batches=4, epochs=3)
    for positives in 1, 2, 10, N // 2:
        case(write, f"ordinary, {positives} positives", pairwise, ordinary(positives), runs, step=4.0)
