"""Prints what libraries take to read a file of numbers to memory, in the columns of bench/reading.

    python3 peers.py LIBRARY FILE RUNS     (polars, pyarrow or pandas)
"""
import os, resource, sys, time

library, file, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
csv = file.endswith(".csv")
if library == "polars":
    import polars
    read = polars.read_csv if csv else polars.read_parquet
elif library == "pandas":
    import pandas
    read = pandas.read_csv if csv else pandas.read_parquet
else:
    import pyarrow.csv, pyarrow.parquet
    read = pyarrow.csv.read_csv if csv else pyarrow.parquet.read_table
cpu, wall = [], []
for _ in range(runs):
    c, w = time.process_time(), time.perf_counter()
    rows = len(read(file))
    cpu.append(time.process_time() - c)
    wall.append(time.perf_counter() - w)
c, w = sorted(cpu)[runs // 2], sorted(wall)[runs // 2]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"{library},{os.path.basename(file)},{os.cpu_count()},{c:.3f},{w:.3f},{rows / w / 1e6:.2f},{peak}")
