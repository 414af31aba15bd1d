"""Prints what libraries take to read a file of numbers, or a folder of them, to memory, in the columns of bench/reading.

    python3 peers.py LIBRARY FILE RUNS     (polars, pyarrow or pandas)
"""
import glob, os, resource, sys, time

library, name, runs = sys.argv[1], sys.argv[2].rstrip("/"), int(sys.argv[3])
files = sorted(glob.glob(name + "/*")) if os.path.isdir(name) else [name]
csv = ".csv" in files[0]
if library == "polars":
    import polars
    one = polars.read_csv if csv else polars.read_parquet
    join = polars.concat
elif library == "pandas":
    import pandas
    one = pandas.read_csv if csv else pandas.read_parquet
    join = pandas.concat
else:
    import pyarrow, pyarrow.csv, pyarrow.parquet
    one = pyarrow.csv.read_csv if csv else pyarrow.parquet.read_table
    join = pyarrow.concat_tables
def read():
    return one(files[0]) if len(files) == 1 else join([one(f) for f in files])
cpu, wall = [], []
for _ in range(runs):
    c, w = time.process_time(), time.perf_counter()
    rows = len(read())
    cpu.append(time.process_time() - c)
    wall.append(time.perf_counter() - w)
c, w = sorted(cpu)[runs // 2], sorted(wall)[runs // 2]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"{library},{os.path.basename(name)},{os.cpu_count()},{c:.3f},{w:.3f},{rows / w / 1e6:.2f},{peak},")
