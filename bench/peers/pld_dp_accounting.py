"""Epsilon of composed Poisson batches by dp-accounting, the peer of dyad account.

    python3 bench/peers/pld_dp_accounting.py --dyad PROGRAM > bench/results/peers-dp-accounting.csv

Both take turns: dp-accounting in this process after its imports, Dyad as a whole process with its start. A line is
program, steps, rate, noise, delta, median processor time, epsilon. Add/remove.
"""
import argparse
import json
import os
import statistics
import subprocess
import time
from importlib.metadata import version

import dp_accounting
from common import processor
from dp_accounting import pld

p = argparse.ArgumentParser()
p.add_argument("--dyad", required=True)
p.add_argument("--runs", type=int, default=7)
p.add_argument("--interval", type=float, default=1e-4, help="of dp-accounting: its default")
o = p.parse_args()


def peer(steps, rate, delta):
    start = time.process_time()
    a = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=o.interval)
    a.compose(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(1)), steps)
    epsilon = a.get_epsilon(delta)
    return time.process_time() - start, epsilon


def dyad(steps, rate, delta):
    out, to = os.pipe()
    child = subprocess.Popen([o.dyad, "account", "--json", "--sigma", "1", "--steps", str(steps), "--rate", str(rate), "--relation",
                              "add/remove", "--delta", str(delta)], stdout=to)
    os.close(to)
    with os.fdopen(out) as f:
        answer = json.load(f)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime, next(a["epsilon"] for a in answer["accountants"] if a["accountant"] == "PLD")


print(f"# python3 bench/peers/pld_dp_accounting.py: dp-accounting {version('dp-accounting')}, interval {o.interval}, and dyad account, in turns")
print(f"# cpu: {processor()}")
print(f"# {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, medians of {o.runs} runs")
print("program,steps,rate,sigma,delta,cpu_s,epsilon", flush=True)
for steps, rate in [(1000, 0.01), (10_000, 0.001)]:
    delta = 1e-5
    runs = [(peer(steps, rate, delta), dyad(steps, rate, delta)) for _ in range(o.runs)]
    for k, name in enumerate(["dp-accounting", "Dyad"]):
        cpu, epsilon = zip(*(r[k] for r in runs))
        print(f"{name},{steps},{rate},1,{delta},{statistics.median(cpu):.3f},{epsilon[0]:.6f}", flush=True)
