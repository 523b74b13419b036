"""A cluster of running executors, as a context manager. Processes and ports come from tests/cluster."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

from harness import ROOT, Failure, checked

sys.path.append(str(ROOT / "tests/cluster"))
import cluster as processes

READY_S = 30


class Executors:
    """`hosts`: for each executor its address, and the context (a network namespace) to start its
    process in, or None. One slot each. TLS with a new secret, as users have it."""

    def __init__(self, directory, glint, hosts=(("127.0.0.1", None),) * 2):
        processes.GLINT = self.program = str(glint)
        self.directory, self.env, self.running = Path(directory), {}, []
        self.hosts = {f"e{i + 1}": host for i, host in enumerate(hosts)}
        self.config = self.directory / "cluster.toml"

    def __enter__(self):
        self.directory.mkdir(parents=True)
        secret = self.directory / "secret"
        checked([processes.GLINT, "secret", "new", secret], stdout=subprocess.DEVNULL)
        lines = ['cluster = "bench"', f"secret_file = {json.dumps(str(secret))}"]
        for name, (address, _) in self.hosts.items():
            lines += ["[[executor]]", f'id = "{name}"', f'host = "{address}"', "slots = 1",
                      f"port = {processes.free_port()}",
                      f"work_dir = {json.dumps(str(self.directory))}"]
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            for name, (_, inside) in self.hosts.items():
                with inside() if inside else contextlib.nullcontext():
                    self.running.append(processes.Process(
                        self, name, ["executor", "--cluster", str(self.config), "--id", name]))
            for process in self.running:
                process.until_says("ready on ")
        except AssertionError as late:
            self.__exit__()
            raise Failure(f"an executor does not start: {late}") from None
        return self

    def __exit__(self, *_):
        """Also if some of them never became ready."""
        for process in self.running:
            process.popen.terminate()
        for process in self.running:
            try:
                process.wait(READY_S)
            except AssertionError:
                process.popen.kill()
                process.popen.wait()

    def pids(self):
        return [process.pid for process in self.running]
