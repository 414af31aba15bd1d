"""What the peers share: one form of output, which dyad lab bench --peers reads.

A line of output is peer,method,n,d,wall_s,cpu_s. method, n and d are those of the line of dyad lab bench that does the same work; times
are the median of the runs after one to warm up: wall clock, and processor time over all threads, which other programs on the machine
disturb less. The comment "# cpu:" says where.
"""
import os
import platform
import statistics
import time

columns = "peer,method,n,d,wall_s,cpu_s"


def processor():
    with open("/proc/cpuinfo") as f:
        return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))


def header(versions, notes):
    print(f"# {versions}, python {platform.python_version()}")
    print(f"# cpu: {processor()}")
    print(f"# {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {notes}")
    print(columns, flush=True)


def measure(peer, method, n, d, runs, f):
    f()
    wall, cpu = [], []
    for _ in range(runs):
        w, c = time.perf_counter(), time.process_time()
        f()
        wall.append(time.perf_counter() - w)
        cpu.append(time.process_time() - c)
    print(f"{peer},{method},{n},{d},{statistics.median(wall):.5f},{statistics.median(cpu):.5f}", flush=True)
