"""How a test waits for a process: until it has written to a named pipe."""

import os
import select


class Fifo:
    def __init__(self, test, path):
        self.path = path
        os.mkfifo(path)
        self.file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        test.addCleanup(os.close, self.file)

    def read(self):
        """The first line that a process writes."""
        ready, _, _ = select.select([self.file], [], [], 300)
        if not ready:
            raise TimeoutError(f"no process has written to {self.path}")
        return os.read(self.file, 4096).decode()
