"""Progress bars of stages, by tqdm if it is installed: on a terminal and in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

from ._engine import engine

DELAY_S = 0.5  # shorter actions show no bar


def is_shown() -> bool:
    """Whether a user watches: standard error is a terminal, or the program a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


class Bars:
    """Those of the running action. Called between its tasks, in the thread that runs it."""

    def __init__(self) -> None:
        self._bars: dict[int, Any] = {}
        self._began: Optional[float] = None  # the action
        self._make: Any = None

    def report(self, progress: Any) -> None:
        """With a struct glint_progress."""
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        if progress.action_ended:
            self.close()
        elif progress.stage in self._bars or now - self._began >= DELAY_S:
            self._draw(progress)

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars, self._began = {}, None

    def _draw(self, progress: Any) -> None:
        bar = self._bars.get(progress.stage)
        if bar is None and (progress.stage_ended or not self._has_tqdm()):
            return
        if bar is None:
            name = engine()[0].string(progress.name).decode("utf-8", "replace")
            bar = self._bars[progress.stage] = self._make(
                total=progress.tasks, desc=name, unit="task", leave=False, file=sys.stderr)
        bar.update(progress.tasks_done - bar.n)
        bar.refresh()
        if progress.stage_ended:
            self._bars.pop(progress.stage).close()

    def _has_tqdm(self) -> bool:
        if self._make is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._make = False
            else:
                self._make = tqdm
        return self._make is not False
