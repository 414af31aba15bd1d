"""k-NN by FAISS IndexFlatL2 in float32, the peer of the line k-NN of dyad lab bench, both in turns on one thread.

    python3 bench/peers/knn_faiss.py --dyad PROGRAM > bench/results/peers-faiss.csv

3 neighbours of a tenth as many queries as records of 32 features. Dyad's answer is exact in float64; FAISS's is that of float32. Processor
time: FAISS with adding the records, Dyad by dyad lab bench, without its start.
"""
import argparse
import json
import statistics
import subprocess
import time

import faiss
import numpy as np
from common import header

p = argparse.ArgumentParser()
p.add_argument("--dyad", required=True)
p.add_argument("--runs", type=int, default=5)
p.add_argument("--records", type=int, nargs="*", default=[20_000, 100_000])
o = p.parse_args()
faiss.omp_set_num_threads(1)
header(f"python3 bench/peers/knn_faiss.py: faiss-cpu {faiss.__version__}, numpy {np.__version__}", f"medians of {o.runs} runs in turns with dyad lab bench --only k-NN")
rng = np.random.default_rng(1)
d = 32


def peer(x, q):
    wall, cpu = time.perf_counter(), time.process_time()
    index = faiss.IndexFlatL2(d)
    index.add(x)
    index.search(q, 3)
    return time.perf_counter() - wall, time.process_time() - cpu


def dyad(n):
    out = subprocess.run([o.dyad, "bench", "--json", "--only", "k-NN", "--variant", "best", "--runs", "1", "--records", str(n)], check=True, capture_output=True)
    line, = json.loads(out.stdout)["lines"]
    return line["seconds"], line["processor_seconds"]


for n in o.records:
    x = rng.standard_normal((n, d), dtype=np.float32)
    q = rng.standard_normal((n // 10, d), dtype=np.float32)
    peer(x, q)
    runs = [(peer(x, q), dyad(n)) for _ in range(o.runs)]
    for k, name in enumerate(["FAISS IndexFlatL2", "Dyad"]):
        wall, cpu = zip(*(r[k] for r in runs))
        print(f"{name},k-NN,{n},{d},{statistics.median(wall):.5f},{statistics.median(cpu):.5f}", flush=True)
