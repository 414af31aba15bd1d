"""k-NN and exact AUC with scikit-learn: the peer of the lines knn and auc of dyad bench.

    python3 bench/peers/knn_sklearn.py > bench/results/knn-sklearn.csv

3 neighbours of 10^4 queries among 10^5 records of 32 features in float64, brute force; AUC of 10^7 scores. Times are the median of
the given number of runs after one to warm up: wall clock, and processor time over all threads.
"""
import argparse
import os
import platform
import statistics
import time

import numpy as np
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier


def processor():
    with open("/proc/cpuinfo") as f:
        return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))


def timed(runs, f):
    f()
    wall, cpu = [], []
    for _ in range(runs):
        w, c = time.perf_counter(), time.process_time()
        f()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    return statistics.median(wall), statistics.median(cpu)


p = argparse.ArgumentParser()
p.add_argument("--runs", type=int, default=5)
p.add_argument("--queries", type=int, default=10_000)
p.add_argument("--records", type=int, default=100_000)
p.add_argument("--scores", type=int, default=10_000_000)
o = p.parse_args()

print(f"# scikit-learn {sklearn.__version__}, numpy {np.__version__}, python {platform.python_version()}")
print(f"# {processor()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {o.runs} runs")
print("method,n,m,d,wall_s,cpu_s")
rng = np.random.default_rng(1)
d = 32
y = rng.integers(0, 2, o.records) * 2.0 - 1
x = rng.standard_normal((o.records, d)) + y[:, None] / 8
q = rng.standard_normal((o.queries, d))
knn = KNeighborsClassifier(3, algorithm="brute").fit(x, y)
wall, cpu = timed(o.runs, lambda: knn.predict(q))
print(f"knn,{o.records},{o.queries},{d},{wall:.4f},{cpu:.4f}", flush=True)

y = rng.integers(0, 2, o.scores) * 2.0 - 1
s = rng.standard_normal(o.scores) + y
wall, cpu = timed(o.runs, lambda: roc_auc_score(y, s))
print(f"auc,{o.scores},,,{wall:.4f},{cpu:.4f}")
