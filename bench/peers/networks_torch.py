"""Gradients of the logistic loss of pairs of embeddings with PyTorch on the CPU: the peer of BenchmarkGradient in engine/embedding.

    python3 bench/peers/networks_torch.py --sizes 4096 16384 > bench/results/peers-networks-torch.csv

A network with 64 features, 32 hidden units (tanh) and 16 outputs in float64, all pairs, in blocks of rows: the loss of a block with all
columns is differentiated in the embeddings by autograd, and one backward pass through the network follows. No Jacobian is clipped,
which would take one backward pass a record and output more; Dyad's figures include that.
"""
import argparse
import sys

import torch
from common import header, measure


def cosine(f, g, p):
    return torch.nn.functional.softplus(-p * (f @ g.T))


def distance(f, g, p):
    return torch.nn.functional.softplus(-p * (1 - torch.cdist(f, g, compute_mode="use_mm_for_euclid_dist").square()))


def embed(net, x, unit):
    f = net(x)
    return f / (f.square().sum(1, keepdim=True) + 2.0**-16).sqrt() if unit else f


def gradient(net, x, y, loss, unit, block):
    """The gradient of the sum over all ordered pairs; the pair (i, i) of an inner product is taken out."""
    f = embed(net, x, unit)
    leaf = f.detach().requires_grad_(True)
    total = torch.zeros_like(leaf)
    for i in range(0, len(x), block):
        p = y[i:i + block, None] * y[None, :]
        p[torch.arange(len(p)), torch.arange(i, i + len(p))] = 0
        total += torch.autograd.grad(loss(leaf[i:i + block], leaf, p).sum(), leaf)[0]
    return torch.autograd.grad(f, list(net.parameters()), total)


def model(d):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(d, 32), torch.nn.Tanh(), torch.nn.Linear(32, 16, bias=False)).double()


def data(n, d):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(n, d, generator=g, dtype=torch.float64)
    x /= x.norm(dim=1, keepdim=True)
    return x, torch.randint(0, 2, (n,), generator=g).double() * 2 - 1


def check():
    net, (x, y) = model(64), data(60, 64)
    f = embed(net, x, True)
    p = y[:, None] * y[None, :]
    values = torch.nn.functional.softplus(-p * (f @ f.T))
    want = torch.autograd.grad((values - torch.diag(torch.diag(values))).sum(), list(net.parameters()))
    got = gradient(net, x, y, cosine, True, 16)
    error = max((a - b).abs().max().item() for a, b in zip(want, got))
    if not error < 1e-10:
        sys.exit(f"the gradient is off by {error}")


p = argparse.ArgumentParser()
p.add_argument("--threads", type=int, default=2)
p.add_argument("--runs", type=int, default=3)
p.add_argument("--sizes", type=int, nargs="*", default=[4096, 16384])
p.add_argument("--block", type=int, default=256, help="rows of a block")
o = p.parse_args()
torch.set_num_threads(o.threads)
header(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}", f"{o.threads} threads, {o.runs} runs")
check()
for n in o.sizes:
    net, (x, y) = model(64), data(n, 64)
    for name, loss, unit in (("cosine-logistic", cosine, True), ("distance-logistic", distance, False)):
        measure("PyTorch eager", name, n, 64, o.runs, lambda: gradient(net, x, y, loss, unit, o.block))
