"""A cluster whose nodes have separate network namespaces, to inject network faults.

The test process enters a new user and network namespace, so nothing outside is affected and no other
privileges are needed. A node is a namespace and a cable (veth) to a bridge; its processes run in the
namespace. The test itself is at the bridge, which has no faults. Faults are rules for what a node
accepts (nft), and rates of cables (tc tbf)."""
import contextlib
import ctypes
import json
import os
import subprocess
import unittest

from cluster import SLOWDOWN, ClusterTest, until

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PREFIX = "10.77.0."
ROWS = 200000
COUNT = ("count-keys", "--split-size", "8K", "--partitions", "4")  # 464 and 4 tasks, few shuffle bytes
COUNT_IDS = ("count-keys", "--key", "text", "--key-column", "1", "--split-size", "256K", "--partitions",
             "4")  # a megabyte of shuffle bytes
LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def namespace():
    """A descriptor of this thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def command(*words, stdin=None):
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # which not every user has
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter():
    """Moves this process, which must have one thread, to namespaces in which it is root."""
    uid, gid = os.geteuid(), os.getegid()
    checked(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"0 {uid} 1")
    write("/proc/self/gid_map", f"0 {gid} 1")
    add_bridge()


def add_bridge():
    """For a new network namespace: what nodes are connected to."""
    command("ip", "link", "set", "lo", "up")
    command("ip", "link", "add", "bridge", "type", "bridge", "stp_state", "0")
    command("ip", "address", "add", f"{PREFIX}1/24", "dev", "bridge")
    command("ip", "link", "set", "bridge", "up")


def enter_once():
    """For setUpClass: its tests run in such namespaces, or are skipped."""
    if not hasattr(enter_once, "why"):
        try:
            enter()
            probe = Node("probe", 250)
            probe.rate("1gbit")
            probe.reset()
            probe.close()
            enter_once.why = None
        except OSError as error:
            enter_once.why = f"no network namespaces: {error}"
    if enter_once.why:
        raise unittest.SkipTest(enter_once.why)


class Node:
    """One host: a name, an address, a cable."""

    def __init__(self, name, number):
        self.name, self.address, self.port = name, f"{PREFIX}{number}", f"cable{number}"
        home = namespace()
        try:
            checked(LIBC.unshare(CLONE_NEWNET), "unshare")
            self.fd = namespace()
        finally:
            checked(LIBC.setns(home, CLONE_NEWNET), "setns")
            os.close(home)
        command("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0",
                "netns", f"/proc/{os.getpid()}/fd/{self.fd}")
        command("ip", "link", "set", self.port, "master", "bridge", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("nft", "-f", "-", stdin="table inet faults { chain input { "
                 "type filter hook input priority 0; policy accept; }; }")

    @contextlib.contextmanager
    def inside(self):
        """Processes started within it run on this node."""
        home = namespace()
        checked(LIBC.setns(self.fd, CLONE_NEWNET), "setns")
        try:
            yield
        finally:
            checked(LIBC.setns(home, CLONE_NEWNET), "setns")
            os.close(home)

    def run(self, *words, stdin=None):
        with self.inside():
            return command(*words, stdin=stdin)

    def deaf_to(self, *others):
        """Silently drops everything from these nodes."""
        for other in others:
            self.run("nft", "add", "rule", "inet", "faults", "input", "ip", "saddr", other.address, "drop")

    def heal(self):
        self.run("nft", "flush", "chain", "inet", "faults", "input")

    def reset(self, other=None):
        """Resets all connections of this node, or only those with the other, at both ends."""
        which = ("src", self.address) if other is None else ("dst", other.address)
        self.run("ss", "--no-header", "--kill", "--tcp", "state", "connected", *which)

    def rate(self, rate, burst="32k"):
        """The rate of its cable, both ways: "1mbit", "100mbps" (which are megabytes)."""
        words = ("root", "tbf", "rate", rate, "burst", burst, "limit", "64m")
        command("tc", "qdisc", "replace", "dev", self.port, *words)
        self.run("tc", "qdisc", "replace", "dev", "eth0", *words)

    def bytes_sent(self):
        """Bytes sent over its cable since it was created."""
        with self.inside(), open("/proc/net/dev", encoding="ascii") as file:
            line = next(line for line in file if line.strip().startswith("eth0:"))
        return int(line.split(":")[1].split()[8])

    def close(self):
        command("ip", "link", "delete", self.port)
        os.close(self.fd)


def cut(*nodes):
    """None of them receives packets from another of them."""
    for node in nodes:
        node.deaf_to(*(n for n in nodes if n is not node))


class NetworkTest(ClusterTest):
    """Executors and the driver on separate nodes. Skipped if the system does not permit namespaces."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        enter_once()

    def setUp(self):
        self.nodes = {}
        super().setUp()

    def node(self, name):
        if name not in self.nodes:
            self.nodes[name] = Node(name, len(self.nodes) + 10)
            self.addCleanup(self.nodes[name].close)
        return self.nodes[name]

    def write_cluster(self, executors=None, **keys):
        secret = os.path.join(self.directory, "secret")
        if not os.path.exists(secret):
            code, _, err = self.run_glint("secret", "new", secret)
            self.assertEqual(code, 0, err)
        placed = {name: {"host": self.node(name).address, **values}
                  for name, values in (executors or self.executors).items()}
        super().write_cluster(placed, **{"secret_file": secret, **keys})

    def start(self, name, *words, env=None):
        """Executors on the node of their name, all other processes on the driver's node."""
        with self.node(name if name in self.nodes else "driver").inside():
            return super().start(name, *words, env=env)


class CountingTest(NetworkTest):
    """Jobs that count, paused by a slow cable of the driver until they are released."""

    words = COUNT

    def hold(self, executors=2):
        """Tasks are sent so slowly that a job cannot finish before the test has injected its fault.

        Executors connect and send heartbeats over the same cable."""
        self.node("driver").rate(f"{48 * executors / SLOWDOWN:.0f}kbit", "1600")

    def let_go(self):
        self.node("driver").rate("1gbit", "1m")

    def start_all(self, count=2):
        """Executors, and a paused job that runs on all of them."""
        names = [f"e{i + 1}" for i in range(count)]
        executors = [self.executor(name) for name in names]
        self.hold(count)
        job = self.job("--executors", str(count))
        for name in names:
            self.until_working(name)
        self.assertIsNone(job.popen.poll(), job.err)
        return (job, *executors)

    def job(self, *options, out="out"):
        return self.submit("job", *self.words, self.ratings(ROWS), out, "--event-log", f"{out}.log", *options)

    def until_working(self, name):
        until(lambda: any(j["running"] and j["stage"] for j in self.executor_status(name)["jobs"]), f"{name} works")

    def until_serves_again(self, executor):
        until(lambda: executor.err.count("serving driver") == 2, f"{executor.name} serves again")

    def assert_done(self, job, out="out"):
        self.assertEqual(job.wait(), 0, job.err)
        code, _, err = self.run_glint("submit", *self.words, self.ratings(ROWS), "wanted", "--overwrite",
                                      "--master", "local[2]")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.read_output(out), self.read_output("wanted"))

    def events(self, event, out="out"):
        with open(os.path.join(self.directory, f"{out}.log"), encoding="utf-8") as file:
            return [e for e in map(json.loads, file) if e["event"] == event]
