"""The rows of `run --cluster`: the overhead of a cluster, on the two CPUs that this process may use."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import workloads
from executors import Executors
from harness import HERE, Failure, parts, remove, say
from workloads import EMPTY_TASKS, MIB, Four

LARGE_LIMIT = 1.3       # the four jobs, cluster over local[2]
EMPTY_LIMIT_S = 0.050
SMALL_TIMES = 5         # times as many runs of short jobs: a median of 5 varies by 3 %
SPEED_LIMIT = 0.5       # plain: of a bare libuv copy; TLS: of plain
BROADCAST_TIME_LIMIT = 1.5
BROADCAST_SENT_LIMIT = 1.2
BROADCAST_TO = 8
BROADCAST_P = "1e-18"   # few rows make large filters, half of whose bits are set
BROADCAST_BITS = 86.27  # per row at that rate
IDLE_ANONYMOUS_MIB, IDLE_RESIDENT_MIB = 4, 12
IDLE_SETTLE_S = 2       # timers of the last job may still fire
SCHED_EXECUTORS, SCHED_TASKS = 10_000, 1_000_000

ALL = []
work = workloads.adding_to(ALL)


def program(bench, name):
    """Builds a program of tests/bench/*.c in the build directory of glint."""
    directory = bench.glint.parent
    say(f"building bench_{name} in {directory}")
    done = subprocess.run(["cmake", "--build", directory, "--target", f"bench_{name}"],
                          capture_output=True, text=True, check=False)
    path = directory / "tests" / f"bench_{name}"
    if done.returncode != 0 or not path.exists():
        raise Failure(f"{path} cannot be built: glint must be in its build directory, configured "
                      f"with -DGLINT_TESTS=ON\n{done.stdout[-2000:]}")
    return path


def json_of(command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n"
                      f"{done.stderr.strip()}")
    return json.loads(done.stdout)


def empty_job(bench, cluster):
    """Returns a function that runs the job once."""
    empty, out = bench.directory / "empty.tsv", bench.out("empty")
    empty.write_bytes(b"")
    command = bench.submit("count-keys", empty, out, cluster=cluster.config)
    return lambda: bench.one(command, out, cpus="-")


def executors(bench):
    directory = bench.directory / "executors"
    remove(directory)
    return Executors(directory, bench.glint)


# ---- jobs ----

@work("empty-job", "count-keys on an empty file, whole submit process", "< 50 ms")
def empty(row, bench):
    with executors(bench) as cluster:
        samples = bench.alternate({"cluster": empty_job(bench, cluster)}, SMALL_TIMES)
    seconds = samples["cluster"].seconds
    return row.result("ms", glint=seconds * 1e3, met=seconds < EMPTY_LIMIT_S, samples=samples)


def four_jobs(row, bench, size, times, limit_s):
    """Alternates the cluster, local[2], and the empty job, which the limit depends on.
    limit_s(seconds of local[2], of the empty job)"""
    table = bench.headed(size)
    with executors(bench) as cluster:
        local = Four(bench, table, "local", master="local[2]")
        remote = Four(bench, table, "cluster", cluster=cluster.config)
        local.run()
        remote.run()
        for name, out in local.outs.items():
            if parts(out) != parts(remote.outs[name]):
                raise Failure(f"{name}: the outputs of the cluster and of local[2] differ")
        samples = bench.alternate({"local": local.run, "cluster": remote.run,
                                   "empty": empty_job(bench, cluster)}, times)
    bench.drop([table])
    for out in [*local.outs.values(), *remote.outs.values()]:
        remove(out)
    seconds = {side: s.seconds for side, s in samples.items()}
    limit = limit_s(seconds["local"], seconds["empty"])
    jobs = "; ".join(f"{name} {remote.milliseconds(name):.0f} ms to {local.milliseconds(name):.0f}"
                     for name in remote.names)
    return row.result("ms", glint=seconds["cluster"] * 1e3, hand=seconds["local"] * 1e3,
                      ratio=seconds["cluster"] / seconds["local"], samples=samples,
                      met=seconds["cluster"] <= limit, note=f"limit {limit * 1e3:.0f} ms; {jobs}")


@work("four-small", "the four jobs, small, 2 executors x 1 slot; local[2]",
      "<= local[2] + 4 empty jobs")
def four_small(row, bench):
    return four_jobs(row, bench, "small", SMALL_TIMES, lambda local, empty_s: local + 4 * empty_s)


@work("four-large", "the four jobs, large, 2 executors x 1 slot; local[2]",
      f"<= {LARGE_LIMIT}x local[2]")
def four_large(row, bench):
    return four_jobs(row, bench, "large", 1, lambda local, _: local * LARGE_LIMIT)


@work("empty-tasks", f"{EMPTY_TASKS} empty tasks, per task", "< 150 us")
def empty_tasks(row, bench):
    with executors(bench) as cluster:
        command = bench.submit("empty-tasks", "--tasks", EMPTY_TASKS, cluster=cluster.config)
        samples = bench.alternate({"cluster": lambda: bench.measure(command, cpus=["-"])[0]})
    micros = samples["cluster"].seconds / EMPTY_TASKS * 1e6
    return row.result("us/task", glint=micros, met=micros < 150, samples=samples)


# ---- shuffle ----

@functools.cache
def fetched(bench):
    """The result of bench_fetch, whose map outputs are in bench's directory."""
    needed = int(bench.sizes.fetch_gib * (1 << 30) * 1.05)
    free = shutil.disk_usage(bench.directory).free
    if free < needed:
        raise Failure(f"{bench.directory}: {needed} bytes needed, {free} free; "
                      "give --fetch-gib or --work")
    return json_of([program(bench, "fetch"), bench.sizes.fetch_gib, 1, bench.runs],
                   env={**os.environ, "TMPDIR": str(bench.directory)})


def fetch(row, bench, mine, other, *notes):
    found = fetched(bench)
    speeds = [found[f"{side}_gb_per_s"] for side in (mine, other)]
    ratio = speeds[0] / speeds[1]
    note = f"{found['bytes'] / 1e9:.2f} GB, best of {found['rounds']}"
    return row.result("GB/s", glint=speeds[0], hand=speeds[1], ratio=ratio,
                      met=ratio >= SPEED_LIMIT, note="; ".join([note, *notes]))


@work("fetch-plain", "shuffle fetch from page cache into a sink, plain; bare libuv",
      f">= {SPEED_LIMIT} of bare libuv")
def fetch_plain(row, bench):
    return fetch(row, bench, "plain", "bare")


def openssl_speed():
    """The speed of OpenSSL's cipher with 16 KiB records on one core, as a note."""
    command = ["openssl", "speed", "-mr", "-seconds", "1", "-bytes", "16384", "-evp", "aes-128-gcm"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return f"openssl speed {float(printed.split(':')[-1]) / 1e9:.2f} GB/s"
    except (OSError, subprocess.CalledProcessError, ValueError) as why:
        return f"no openssl speed: {why}"


@work("fetch-tls", "shuffle fetch, TLS; plain", f">= {SPEED_LIMIT} of plain")
def fetch_tls(row, bench):
    return fetch(row, bench, "tls", "plain", openssl_speed())


# ---- broadcast ----

@functools.cache
def broadcast(bench):
    """The result of broadcast.py: the runs for each number of executors, or why it was skipped."""
    p, size = BROADCAST_P, bench.sizes.broadcast_mb * 1e6
    rows = max(1, round(size * 8 / BROADCAST_BITS))
    table = bench.rows_from("broadcast", 0, rows)
    counts, filters = bench.out("broadcast-counts"), bench.out("broadcast-filters")
    bench.one(bench.submit("count-keys", table, counts, master="local[2]"), counts, cpus="-")
    bench.one(bench.submit("bloom-build", p, table, counts, filters, master="local[2]"), filters,
              cpus="-")
    bench.drop([table])
    rows_to_test = bench.rows_from("broadcast-test", rows, 2000)
    made = json_of([sys.executable, HERE / "broadcast.py", bench.glint, bench.directory / "network",
                    str(bench.runs), str(BROADCAST_TO), p, rows_to_test, filters, counts])
    made["bytes"] = sum(map(len, parts(filters)))
    return made


def broadcast_result(row, bench, finish):
    made = broadcast(bench)
    if "skipped" in made:
        return row.result("", note=made["skipped"])
    one, many = (made["runs"][str(n)] for n in (1, BROADCAST_TO))
    return finish(made["bytes"], one, many)


def middle(runs, name):
    return sorted(run[name] for run in runs)[len(runs) // 2]


@work("broadcast-time", f"broadcast at 100 MB/s to {BROADCAST_TO} executors; to one",
      f"<= {BROADCAST_TIME_LIMIT}x to one")
def broadcast_time(row, bench):
    def finish(size, one, many):
        times = [middle(runs, "ms") for runs in (many, one)]
        ratio = times[0] / times[1]
        return row.result("ms", glint=times[0], hand=times[1], ratio=ratio,
                          met=ratio <= BROADCAST_TIME_LIMIT,
                          note=f"{size / 1e6:.1f} MB, {size / 1e3 / times[1]:.0f} MB/s to one")
    return broadcast_result(row, bench, finish)


@work("broadcast-sent", f"the driver's interface sends, broadcast to {BROADCAST_TO}; the size",
      f"<= {BROADCAST_SENT_LIMIT}x the size")
def broadcast_sent(row, bench):
    def finish(size, _, many):
        sent = max(run["interface_bytes"] for run in many)
        counted = max(run["broadcast_bytes"] for run in many)
        return row.result("MB", glint=sent / 1e6, hand=size / 1e6, ratio=sent / size,
                          met=sent <= size * BROADCAST_SENT_LIMIT,
                          note=f"the most of {len(many)} runs; as values {counted / 1e6:.1f} MB")
    return broadcast_result(row, bench, finish)


# ---- idle executors ----

def status_sum(pid, name):
    """The sum of a number in the status of all threads of a process."""
    found = [re.search(rf"^{name}:\s+(\d+)", file.read_text(), re.MULTILINE)
             for file in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(match[1]) for match in found)


@functools.cache
def idle(bench):
    """The larger value of both executors, after they have served a job."""
    with executors(bench) as cluster:
        empty_job(bench, cluster)()
        deadline = time.monotonic() + 30
        while any((Path(f"/proc/{pid}/task/{pid}/children")).read_text() for pid in cluster.pids()):
            if time.monotonic() > deadline:
                raise Failure("an executor process still runs 30 s after its job")
            time.sleep(0.05)
        time.sleep(IDLE_SETTLE_S)
        before = [status_sum(pid, "voluntary_ctxt_switches") for pid in cluster.pids()]
        time.sleep(bench.sizes.idle_seconds)
        after = [status_sum(pid, "voluntary_ctxt_switches") for pid in cluster.pids()]

        def most(name):
            sizes = [re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(),
                               re.MULTILINE) for pid in cluster.pids()]
            return max(int(match[1]) for match in sizes) * 1024 / MIB

        return {"anonymous": most("RssAnon"), "resident": most("VmRSS"),
                "wakeups": max(b - a for a, b in zip(before, after))}


@work("idle-anonymous", "anonymous memory of an idle executor", f"< {IDLE_ANONYMOUS_MIB} MiB")
def idle_anonymous(row, bench):
    mib = idle(bench)["anonymous"]
    return row.result("MiB", glint=mib, met=mib < IDLE_ANONYMOUS_MIB)


@work("idle-resident", "resident memory of an idle executor", f"< {IDLE_RESIDENT_MIB} MiB")
def idle_resident(row, bench):
    mib = idle(bench)["resident"]
    return row.result("MiB", glint=mib, met=mib < IDLE_RESIDENT_MIB)


@work("idle-wakeups", "wake-ups of an executor without a driver", "none")
def idle_wakeups(row, bench):
    count = idle(bench)["wakeups"]
    return row.result("", glint=count, met=count == 0, note=f"in {bench.sizes.idle_seconds:g} s")


# ---- the scheduler alone ----

@functools.cache
def scheduled(bench):
    found = [json_of([program(bench, "sched"), SCHED_EXECUTORS, SCHED_TASKS])
             for _ in range(bench.runs)]
    return sorted(found, key=lambda run: run["tasks_per_second"])[len(found) // 2]


@work("sched-speed", f"scheduler, {SCHED_EXECUTORS} simulated executors, {SCHED_TASKS} tasks",
      ">= 100,000 tasks/s")
def sched_speed(row, bench):
    speed = scheduled(bench)["tasks_per_second"]
    return row.result("tasks/s", glint=speed, met=speed >= 100_000)


@work("sched-memory", "scheduler, memory per task", "< 200 bytes")
def sched_memory(row, bench):
    size = scheduled(bench)["bytes_per_task"]
    return row.result("bytes", glint=size, met=size < 200)
