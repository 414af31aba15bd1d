"""Clipped Jacobians of records times weights, in PyTorch on the CPU: what bench/results/gpu/networks-cpu.csv has beside the
predicted rates of engine/cuda (docs/theory.md#networks-on-a-gpu).

For a score f = w2 . tanh(W1 x' + b) of n records: J_i by its factors, its norm, the scale min(1, C/||J_i||), and the sum of
s_i v_i J_i as products of matrices, in float32, on one thread. Seconds are of the process, the least of five.

network_peer.py > bench/results/gpu/networks-cpu.csv
"""

import os
import platform
import time

import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)


def step(x, v, hidden, clip):
    w1, b, w2 = hidden
    h = torch.tanh(x @ w1.T + b)
    f = h @ w2
    delta = (1 - h * h) * w2
    square = (h * h).sum(1) + (delta * delta).sum(1) * (1 + (x * x).sum(1))
    scaled = v * torch.clamp(clip / torch.sqrt(square), max=1)
    left = delta * scaled[:, None]
    return f, left.T @ x, left.sum(0), scaled @ h


def main():
    name = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.processor())
    print("cpu,torch,threads,load,d,hidden,n,seconds,records_per_second")
    for d, units, n in ((20, 32, 100_000), (784, 128, 10_000)):
        g = torch.Generator().manual_seed(1)
        x = torch.randn(n, d, generator=g) / d**0.5
        v = torch.randn(n, generator=g)
        hidden = (torch.randn(units, d, generator=g), torch.zeros(units), torch.randn(units, generator=g) / units**0.5)
        best = min(timed(x, v, hidden) for _ in range(5))
        print(f"{name},{torch.__version__},1,{os.getloadavg()[0]:.1f},{d},{units},{n},{best:.3g},{n / best:.3g}")


def timed(x, v, hidden):
    begin = time.process_time()
    step(x, v, hidden, 1.0)
    return time.process_time() - begin


if __name__ == "__main__":
    main()
