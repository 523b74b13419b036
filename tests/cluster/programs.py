"""Programs of another build, and the cache of daemons."""
import fcntl
import hashlib
import os
import re
import subprocess

from cluster import GLINT, ClusterTest

FILES_MAX = 8  # of the cache


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def other_build(path):
    """A glint of another build: a copy with another build id."""
    notes = subprocess.run(["readelf", "-n", GLINT], stdout=subprocess.PIPE, check=True).stdout.decode()
    build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes)[1])
    data = read(GLINT)
    assert data.count(build_id) == 1, "the note only"
    with open(path, "wb") as file:
        file.write(data.replace(build_id, bytes([build_id[0] ^ 1]) + build_id[1:]))
    os.chmod(path, 0o755)


class ProgramTest(ClusterTest):
    """Programs are cached in the directory of the test."""

    def setUp(self):
        super().setUp()
        self.cache_home = os.path.join(self.directory, ".cache")
        self.cache = os.path.join(self.cache_home, "glint", "programs")

    def cached(self):
        return sorted(os.listdir(self.cache)) if os.path.exists(self.cache) else []

    def partial(self):
        return [name for name in self.cached() if name.endswith(".part")]

    def fill_cache(self, *names, size=1):
        """Files of these names; the first one was used longest ago. Returns their paths."""
        os.makedirs(self.cache, mode=0o700, exist_ok=True)
        paths = [os.path.join(self.cache, name) for name in names]
        for age, path in enumerate(reversed(paths), 1):
            with open(path, "wb") as file:
                file.truncate(size)
            os.utime(path, (10 ** 9 - age, 10 ** 9 - age))
        return paths

    def lock(self, path):
        """What a daemon does with a file that it uses."""
        file = open(path, "rb")
        self.addCleanup(file.close)
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return file
