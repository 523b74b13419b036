"""What waits for its input ends with Ctrl-C and with the context's timeout."""

import errno
import os
import signal
import subprocess
import sys

from test_context import Base, context


class Waits(Base):
    def test_waiting_for_a_pipe_ends(self):
        pipe = self.work / "pipe"
        os.mkfifo(pipe)
        with context(timeout="1s") as sc:
            self.fails("E0701", lambda: sc.textFile(pipe))
        code = f"""
import glint, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with glint.Context("local[1]") as sc:
        sc.textFile({str(pipe)!r})
except KeyboardInterrupt:
    print("interrupted")
"""
        python = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        writer = -1
        while writer < 0 and python.poll() is None:
            try:
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:  # until it has a reader
                self.assertEqual(error.errno, errno.ENXIO)
        self.addCleanup(os.close, writer)
        python.send_signal(signal.SIGINT)
        printed, _ = python.communicate(timeout=300)
        self.assertEqual((printed.split(), python.returncode), (["interrupted"], 0))
