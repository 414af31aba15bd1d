"""Both sums over all pairs with KeOps on the CPU: a peer of the lines logistic direct and mahalanobis of dyad lab bench.

    python3 bench/peers/pairs_keops.py > bench/results/peers-keops.csv

KeOps compiles a C++ loop for each formula on its first call. float64, all pairs, nothing stored; what it cannot share between the two
sums of a pair it computes twice.
"""
import argparse
import os
import sys

os.environ |= {"PYKEOPS_VERBOSE": "0", "KEOPS_VERBOSE": "0"}  # it writes to the standard output

import pykeops
import torch
from common import header, measure
from pykeops.torch import LazyTensor

pykeops.set_verbose(False)


def logistic(x, y):
    s, t = x[y > 0], x[y < 0]
    c = (LazyTensor(s[:, None, None]) - LazyTensor(t[None, :, None])).exp()
    c = 1 / (1 + c)
    rows, cols = c.sum(dim=1)[:, 0], c.sum(dim=0)[:, 0]
    return (t * cols).sum() - (s * rows).sum()


def mahalanobis(x, y, w):
    xw = x @ w
    z, zw = (LazyTensor(v[:, None, :].contiguous()) - LazyTensor(v[None, :, :].contiguous()) for v in (x, xw))
    p = LazyTensor(y[:, None, None].contiguous()) * LazyTensor(y[None, :, None].contiguous())
    c = p / (1 + (p * (1 - (z * zw).sum(dim=2))).exp())
    cx = (c * LazyTensor(x[None, :, :].contiguous())).sum(dim=1)
    return 2 * ((x * c.sum(dim=1)).T @ x - x.T @ cx)


def check():
    g = torch.Generator().manual_seed(1)
    x, y = torch.rand(60, generator=g, dtype=torch.float64), (torch.arange(60) % 2).double() * 2 - 1
    want = sum(-torch.sigmoid(t - s) * (s - t) for s in x[y > 0] for t in x[y < 0])
    m, w = torch.rand(60, 3, generator=g, dtype=torch.float64), torch.eye(3, dtype=torch.float64)
    z = m[:, None, :] - m[None, :, :]
    p = y[:, None] * y[None, :]
    c = torch.sigmoid(-p * (1 - (z * z).sum(2))) * p
    error = max(abs(logistic(x, y) - want).item(), (mahalanobis(m, y, w) - torch.einsum("ij,ija,ijb->ab", c, z, z)).abs().max().item())
    if not error < 1e-10:
        sys.exit(f"the sums are off by {error}")


p = argparse.ArgumentParser()
p.add_argument("--runs", type=int, default=3)
p.add_argument("--sizes", type=int, nargs="*", default=[4096])
o = p.parse_args()
torch.set_num_threads(1)
check()
header(f"KeOps {pykeops.__version__}, PyTorch {torch.__version__}", f"{o.runs} runs")
for n in o.sizes:
    g = torch.Generator().manual_seed(1)
    y = (torch.arange(n) % 2).double() * 2 - 1
    s = 2 * torch.rand(n, generator=g, dtype=torch.float64) - 1
    measure("KeOps", "logistic direct", n, 1, o.runs, lambda: logistic(s, y))
    for d in (8, 32):
        x = torch.randn(n, d, generator=g, dtype=torch.float64)
        x /= x.norm(dim=1, keepdim=True)
        w = torch.eye(d, dtype=torch.float64) / d**0.5
        measure("KeOps", "mahalanobis", n, d, o.runs, lambda: mahalanobis(x, y, w))
