#!/usr/bin/env python3
"""Measures a broadcast between hosts: network namespaces whose links carry 100 MB/s, also the driver's.

    broadcast.py GLINT DIR RUNS EXECUTORS P ROWS FILTERS COUNTS

Runs bloom-test on a few rows, one task per executor, alternately on one executor and on EXECUTORS;
the first round is a warm-up. The time is that of the stage whose tasks wait for the filters. Prints
one JSON object; {"skipped": why} if the system allows no namespaces. This is a separate program
because it enters such a namespace itself.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from executors import Executors
from harness import Failure
import netns

RATE, BURST = "100mbps", "256k"  # tc's mbps are megabytes


def run(glint, cluster, driver, count, splits, job):
    """One run. Returns its time and the bytes sent, from the driver's report and its network interface."""
    p, rows, filters, counts = job
    out = cluster.directory / "out"
    size = -(-Path(rows).stat().st_size // splits)
    before = driver.bytes_sent()
    with driver.inside():
        done = subprocess.run([glint, "submit", "bloom-test", p, rows, filters, counts, out,
                               "--cluster", cluster.config, "--executors", str(count),
                               "--split-size", str(size), "--json", "-q", "--overwrite"],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"bloom-test on {count} executors: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    stage = next(s for s in report["stages"] if s["name"].endswith("reduceByKey"))
    if stage["tasks"] < splits:
        raise Failure(f"only {stage['tasks']} tasks, {splits} wanted")
    return {"ms": stage["elapsed_ms"], "interface_bytes": driver.bytes_sent() - before,
            "broadcast_bytes": report["counters"]["broadcast bytes sent"]}


def measure(glint, directory, runs, executors, job):
    driver = netns.Node("driver", 10)
    nodes = [netns.Node(f"e{i + 1}", 11 + i) for i in range(executors)]
    for node in [driver, *nodes]:
        node.rate(RATE, BURST)
    found = {1: [], executors: []}
    for turn in range(runs + 1):
        for count in found:
            hosts = [(node.address, node.inside) for node in nodes[:count]]
            shutil.rmtree(directory, ignore_errors=True)
            with Executors(directory, glint, hosts) as cluster:
                sample = run(glint, cluster, driver, count, executors, job)
            if turn > 0:
                found[count].append(sample)
    return found


def main():
    glint, directory, runs, executors, *job = sys.argv[1:]
    try:
        netns.enter()
    except OSError as error:
        print(json.dumps({"skipped": f"no network namespaces: {error}"}))
        return 0
    try:
        print(json.dumps({"runs": measure(glint, Path(directory), int(runs), int(executors), job)}))
    except (Failure, OSError) as failure:
        print(failure, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
