"""Ctrl-C during a call that blocks. Python runs a signal's handler only when the call has returned,
but writes the signal's number to a pipe at once; a thread that reads the pipe interrupts the call.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any, Optional


class Interrupts:
    """`with interrupts:` around a call in the main thread: Ctrl-C calls `interrupt`, in another
    thread, and raises KeyboardInterrupt at the end. Does nothing in other threads, or when the
    program has a handler of its own for SIGINT."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._active = self._noted = False
        self._lock = threading.Lock()
        self._inside = False  # changed with the lock: the thread may call `interrupt`
        self._before = -1
        self._pipe: Optional[tuple[int, int]] = None
        self._thread: Optional[threading.Thread] = None

    def __enter__(self) -> None:
        self._active = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if not self._active:
            return
        if self._pipe is None:
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[1], False)
            self._thread = threading.Thread(target=self._watch, args=self._pipe[:1], daemon=True)
            self._thread.start()
        with self._lock:
            self._inside = True
        # Until the end nothing raises KeyboardInterrupt, so the handler is sure to be restored.
        self._noted = False
        signal.signal(signal.SIGINT, self._note)
        self._before = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        if self._noted:
            self._interrupt()

    def __exit__(self, *_: object) -> None:
        if not self._active:
            return
        signal.set_wakeup_fd(self._before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with self._lock:
            self._inside = False
        if self._noted:
            raise KeyboardInterrupt

    def close(self) -> None:
        """After this `interrupt` is not called any more."""
        if self._pipe is None or self._thread is None:
            return
        os.close(self._pipe[1])
        self._thread.join()
        os.close(self._pipe[0])
        self._pipe = None

    def _note(self, *_: Any) -> None:
        self._noted = True

    def _watch(self, pipe: int) -> None:
        while True:
            numbers = os.read(pipe, 64)
            if not numbers:
                return
            if self._before >= 0:  # of another package, as asyncio
                try:
                    os.write(self._before, numbers)
                except OSError:
                    pass
            with self._lock:
                if signal.SIGINT in numbers and self._inside:
                    self._interrupt()
