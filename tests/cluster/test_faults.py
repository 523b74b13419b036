"""Faults of processes, disks and connections while a job runs: it gives the bytes of local mode, or a clear error,
and leaves no files or processes."""
import os
import re
import shutil
import signal
import unittest

from cluster import SLOWDOWN, until
from faults import Disk, FaultTest

CLOSE_WAIT = "08"  # the state of a connection in /proc/net/tcp


def send(pid, number):
    """The process may have exited."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def is_pending(pid, number):
    """Was a signal sent to the process that is still pending?"""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        sets = re.findall(r"(?m)^(?:SigPnd|ShdPnd):\s+(\w+)", file.read())
    return any(int(pending, 16) >> (number - 1) & 1 for pending in sets)


def is_given_up(port):
    """Did a peer close a connection to this port that the process there has not closed yet?"""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [row.split() for row in file.readlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == CLOSE_WAIT for row in rows)


class KilledDuringMap(FaultTest):
    """One of two executors dies while it runs a map task."""

    def held(self):
        hook = self.in_map()
        e1, e2 = self.executor("e1", hooks=[hook]), self.executor("e2")
        job = self.begin()
        hook.until_hit()
        return job, e1, e2

    def test_task_of_killed_executor_is_rerun(self):
        job, e1, _ = self.held()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGKILL)
        self.until_gone(pid)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost: killed by signal 9", job.err)
        self.assertIn(e1.err_path, job.err)
        self.assertRegex(job.err, r"; it ran task \d+ \(attempt \d+\)")
        self.assertGreater(self.retries(), 0)
        self.serves_the_next()

    def test_crashed_executor_is_reported(self):
        job, e1, _ = self.held()
        os.kill(self.executor_pid(e1), signal.SIGSEGV)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost: executor crashed: signal 11 (Segmentation fault)", job.err)
        self.serves_the_next()

    def test_task_of_killed_daemon_is_rerun(self):
        job, e1, _ = self.held()
        pid = self.executor_pid(e1)
        e1.signal(signal.SIGKILL)
        e1.wait()
        self.until_gone(pid)
        self.ends_well(job)
        self.assertIn("executor e1 (127.0.0.1) lost", job.err)
        self.executor("e1")
        self.serves_the_next()

    def test_task_of_killed_daemon_and_executor_is_rerun(self):
        job, e1, _ = self.held()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGKILL)
        e1.signal(signal.SIGKILL)
        e1.wait()
        self.ends_well(job)

    def test_crash_is_retried_on_the_other_executor(self):
        """The attempt counts as a failure of the task, which then runs on the other node."""
        segv = self.hook("read", "tt0000777", 0, "segv")
        self.executor("e1", hooks=[segv])
        self.executor("e2", hooks=[segv])
        job = self.begin()
        self.ends_well(job)
        self.assertTrue(segv.hit)
        self.assertIn("killed by signal 11", job.err)


class KilledAfterMap(FaultTest):
    """All map tasks of e1 are done, and the last one is paused at e2: no reducer has started."""

    executors = {"e1": {"slots": 1}, "e2": {"slots": 1}}

    def until_maps_are_done(self):
        hook = self.in_map()
        e1, e2 = self.executor("e1"), self.executor("e2", hooks=[hook])
        job = self.begin()
        hook.until_hit()
        self.until_maps_done(self.maps - 1)
        return job, hook, e1, e2

    def only_what_was_lost_is_made_again(self):
        """Before the loss of e1 all tasks but one were done there, and that one does not run again."""
        first = self.executor_numbers("e1")
        numbers = sorted(first)
        done = self.map_attempts("done")
        lost = {e.task for e in done if e.executor == numbers[0]}
        self.assertEqual(len(lost), self.maps - 1)
        for task in range(self.maps):
            times = sum(e.task == task for e in done)
            self.assertEqual(times, 2 if task in lost else 1, f"map task {task}")

    def test_only_map_outputs_of_killed_executor_are_recomputed(self):
        job, hook, e1, _ = self.until_maps_are_done()
        os.kill(self.executor_pid(e1), signal.SIGKILL)
        job.until_says(r"executor e1 .* lost: killed by signal 9.*; its last task was \d+ "
                       r"\(attempt \d+\); 0 running tasks and 7 map outputs")
        hook.go()
        self.ends_well(job)
        self.only_what_was_lost_is_made_again()
        self.serves_the_next()

    def test_only_map_outputs_of_killed_daemon_are_recomputed(self):
        job, hook, e1, _ = self.until_maps_are_done()
        e1.signal(signal.SIGKILL)
        e1.wait()
        job.until_says("executor e1 .* lost: .* 0 running tasks and 7 map outputs")
        hook.go()
        self.ends_well(job)
        self.only_what_was_lost_is_made_again()


class FaultDuringFetch(FaultTest):
    """The process that sends a map output exits during the transfer, or its connection is closed."""

    def run_with(self, action, number, **keys):
        """All map outputs but one are at e1, and e2 fetches them."""
        self.write_cluster(**keys)
        hook, held = self.hook("send", "-", number, action), self.in_map()
        self.executor("e1", hooks=[hook])
        self.executor("e2", hooks=[held])
        job = self.begin()
        held.until_hit()
        self.until_maps_done(self.maps - 1)
        self.assertFalse(hook.hit)
        held.go()
        self.ends_well(job)
        self.assertTrue(hook.hit, "nothing has happened")
        return job

    def test_early_kill_of_sender_is_survived(self):
        job = self.run_with("kill", 100000)
        self.assertIn("killed by signal 9", job.err)

    def test_late_kill_of_sender_is_survived(self):
        job = self.run_with("kill", 700000)
        self.assertIn("killed by signal 9", job.err)
        self.serves_the_next()

    def test_cut_connection_is_survived(self):
        self.run_with("cut", 700000)
        self.serves_the_next()

    def test_cut_plaintext_connection_is_survived(self):
        self.run_with("cut", 300001, insecure_plaintext=True)

    def test_flipped_byte_is_survived(self):
        self.run_with("flip", 700000)
        self.serves_the_next()

    def test_flipped_plaintext_byte_is_fetched_again(self):
        job = self.run_with("flip", 700000, insecure_plaintext=True)
        self.assertEqual(self.retries(), 0, job.err)  # it was fetched again, and nothing else
        self.serves_the_next()


class SilentDuringFetch(FaultTest):
    """The process that sends a map output stops during the transfer, with all connections open."""

    def test_readers_do_not_wait_for_a_paused_sender(self):
        """They are released without a fetch timeout and without the exit of that process."""
        self.write_cluster(fetch="1h", drain="1h")
        hook, held = self.hook("send", "-", 200000, "stop"), self.in_map()
        e1 = self.executor("e1", hooks=[hook])
        self.executor("e2", hooks=[held])
        job = self.begin()
        held.until_hit()
        self.until_maps_done(self.maps - 1)
        held.go()
        hook.until_hit()
        pid = self.executor_pid(e1)
        self.ends_well(job)
        self.assertRegex(job.err, "executor e1 .* lost: no heartbeat")
        self.assertTrue(any(e.executor not in self.executor_numbers("e1")
                            for e in self.events("task") if e.outcome == "killed"))
        send(pid, signal.SIGCONT)
        self.until_gone(pid)
        self.serves_the_next()


class DriverConnection(FaultTest):
    """A connection of the driver, while it assigns tasks."""

    def run_with(self, action, number, **keys):
        self.write_cluster(**keys)
        hook = self.hook("send", "-", number, action)
        for name in ("e1", "e2"):
            self.executor(name)
        self.split = "50K"  # many tasks
        job = self.begin(env=self.hooked(hook))
        self.ends_well(job)
        self.assertTrue(hook.hit, "nothing has happened")
        self.assertIn(" lost: ", job.err)
        self.serves_the_next()

    def test_cut_connection_is_survived(self):
        self.run_with("cut", 9000)

    def test_cut_plaintext_connection_is_survived(self):
        self.run_with("cut", 7000, insecure_plaintext=True)

    def test_flipped_byte_is_survived(self):
        self.run_with("flip", 9000)

    def test_flipped_plaintext_byte_is_survived(self):
        self.run_with("flip", 7000, insecure_plaintext=True)


class FaultDuringOutput(FaultTest):
    def test_partial_file_of_killed_executor_is_not_published(self):
        """Nothing that it started is in any output."""
        hook = self.hook("change", "part-", 1, "kill")
        self.executor("e1", hooks=[hook])
        self.executor("e2")
        job = self.begin()
        self.ends_well(job)
        self.assertTrue(hook.hit)
        self.assertEqual(sorted(os.listdir(os.path.join(self.directory, "out"))),
                         sorted(os.listdir(os.path.join(self.directory, "expected"))))

    def test_paused_attempt_adds_nothing_to_the_output(self):
        """Its attempt stops when the output is published, and adds nothing to it."""
        hook = self.hook("change", "part-", 1, "hold")
        e1 = self.executor("e1", hooks=[hook])
        self.executor("e2")
        job = self.begin()
        hook.until_hit()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGSTOP)
        self.ends_well(job)
        hook.go()
        send(pid, signal.SIGCONT)
        self.until_gone(pid)
        self.assertEqual(sorted(os.listdir(os.path.join(self.directory, "out"))),
                         sorted(os.listdir(os.path.join(self.directory, "expected"))))
        self.serves_the_next()


class FaultDuringTwoOutputs(FaultTest):
    """Two outputs that are written in one pass."""

    def words(self, out):
        return "split-dataset", "--no-header", "--split-size", self.split, self.ratings(self.rows), out, out + "-2"

    def killed_at(self, number):
        """An executor dies when it creates its n-th file; the first two belong to its first task."""
        hook = self.hook("change", "part-", number, "kill")
        self.executor("e1", hooks=[hook])
        self.executor("e2")
        job = self.begin()
        self.ends_well(job)
        self.assertTrue(hook.hit)
        self.assertGreater(self.retries(), 0)
        self.assertEqual(self.read_output("out-2"), self.read_output("expected-2"))
        for name in ("out", "out-2"):
            self.assertEqual(sorted(os.listdir(os.path.join(self.directory, name))),
                             ["_SUCCESS", *(f"part-{i:05}" for i in range(self.maps))])

    def test_kill_before_the_first_file_is_survived(self):
        self.killed_at(1)

    def test_kill_between_two_files_is_survived(self):
        self.killed_at(2)


class FaultInChainedSteps(FaultTest):
    """Steps of one job, each of which reads the output of the previous one."""

    def words(self, out):
        return ("join-steps", "--header", "--split-size", self.split, self.ratings(self.rows), self.ratings(5000),
                out + "-filter", out + "-kept", out)

    def test_kill_while_reading_saved_output_is_survived(self):
        hook = self.hook("open", "output/part-", 2, "kill")
        self.executor("e1", hooks=[hook])
        self.executor("e2", hooks=[hook])
        job = self.begin()
        self.ends_well(job)
        self.assertTrue(hook.hit)
        for name in ("filter", "kept"):
            self.assertEqual(self.read_output(f"out-{name}"), self.read_output(f"expected-{name}"))

    def test_interrupt_between_steps_publishes_nothing(self):
        """Nothing is published, and no files are left."""
        hook = self.hook("open", "output/part-", 1, "hold")
        self.executor("e1", hooks=[hook])
        self.executor("e2", hooks=[hook])
        job = self.begin()
        hook.until_hit()
        job.signal(signal.SIGINT)
        hook.go()
        self.ends_badly(job, 130, "error[E0702]", "no output was published")
        self.assertEqual([n for n in os.listdir(self.directory) if n.startswith("out-")], [])


class AllExecutors(FaultTest):
    def test_job_fails_when_all_daemons_are_killed(self):
        self.write_cluster(start="5s")
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        for e in executors:
            e.signal(signal.SIGKILL)
            e.wait()
        self.ends_badly(job, 69, "error[E0907]", "hint:")

    def test_killed_executors_are_replaced(self):
        """Each gets a new one."""
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        for e in executors:
            os.kill(self.executor_pid(e), signal.SIGKILL)
        self.ends_well(job)


class PausedProcess(FaultTest):
    """A process that is stopped and continued."""

    def held(self):
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin()
        for hook in hooks:
            hook.until_hit()
        return (job, *executors, *hooks)

    def test_long_executor_pause_reruns_its_task(self):
        """What it reports afterwards belongs to a superseded attempt."""
        job, e1, _, first, second = self.held()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGSTOP)
        job.until_says("executor e1 .* lost: no heartbeat for")
        first.go()
        os.kill(pid, signal.SIGCONT)
        self.until_gone(pid)
        second.go()
        self.ends_well(job)
        self.assertEqual([e.executor for e in self.map_attempts("executor lost")],
                         [min(self.executor_numbers("e1"))])
        self.serves_the_next()

    def test_executor_resumed_after_the_job_exits(self):
        job, e1, _, first, second = self.held()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGSTOP)
        second.go()
        self.ends_well(job)
        first.go()
        os.kill(pid, signal.SIGCONT)
        self.until_gone(pid)
        self.serves_the_next()

    def test_short_executor_pause_reruns_nothing(self):
        """Shorter than `suspect`: nothing runs again."""
        job, e1, _, first, second = self.held()
        pid = self.executor_pid(e1)
        os.kill(pid, signal.SIGSTOP)
        self.until_passed(500 * SLOWDOWN, "e1")
        os.kill(pid, signal.SIGCONT)
        first.go()
        second.go()
        self.ends_well(job)
        self.assertEqual(self.retries(), 0)
        self.assertEqual(len(self.map_attempts()), self.maps)
        self.assertEqual({e.state for e in self.events("executor")}, {"joined"})

    def test_long_daemon_pause_is_survived(self):
        """Its executor process continues, or is replaced; the job succeeds."""
        job, e1, _, first, second = self.held()
        e1.signal(signal.SIGSTOP)
        until(lambda: is_given_up(e1.port), "the driver has closed its connection to it")
        e1.signal(signal.SIGCONT)
        first.go()
        second.go()
        self.ends_well(job)
        self.serves_the_next()

    def test_alternating_executor_pauses_are_survived(self):
        job, e1, e2, first, second = self.held()
        for e, hook in ((e1, first), (e2, second)):
            pid = self.executor_pid(e)
            os.kill(pid, signal.SIGSTOP)
            job.until_says(f"executor {e.name} .* lost: no heartbeat for")
            os.kill(pid, signal.SIGCONT)
            hook.go()
        self.ends_well(job)
        self.serves_the_next()


class DiskFaults(FaultTest):
    """A disk that is full, and one that changes a byte."""

    def full(self, *names, hooks=()):
        """The work directories are on disks that are smaller than the output of a map task. `hooks`: of e2."""
        self.write_cluster({name: {**self.spilling, "work_dir": f"work-{name}"} for name in ("e1", "e2")})
        for name in ("e1", "e2"):
            disk = Disk(self, f"work-{name}", "256k") if name in names else None
            if not disk:
                os.mkdir(os.path.join(self.directory, f"work-{name}"))
            self.executor(name, disk=disk, hooks=hooks if name == "e2" else ())
        return self.begin()

    def test_executor_without_spill_space_is_excluded(self):
        """Its tasks run elsewhere, and it gets no more."""
        self.split, self.maps = "100K", 38
        held = self.in_map()  # so that e1 gets as many tasks as it can fail
        job = self.full("e1", hooks=[held])
        job.until_says("executor e1 .* excluded: the last")
        held.until_hit()
        held.go()
        self.ends_well(job)
        self.assertIn("No space left", job.err)
        self.assertEqual({e.error["code"] for e in self.map_attempts("failed")}, {"E0603"})

    def test_no_spill_space_anywhere_fails_the_job(self):
        job = self.full("e1", "e2")
        self.ends_badly(job, 74, "error[E0603]", "/work-e", "No space left", "more are needed", "hint:")

    def test_missing_shared_storage_is_reported(self):
        """As if it is not mounted there: the error has the node, the path, and what to do."""
        disk = Disk(self, "shared", "1m")
        shutil.copy(self.ratings(1000), os.path.join(self.directory, "shared", "r.tsv"))
        self.executor("e1", disk=disk)
        for status, code, path, words in ((66, "E0201", "shared/r.tsv", ("shared/r.tsv", "out")),
                                          (74, "E0303", "shared/.out.glint-", (self.ratings(1000), "shared/out"))):
            with self.subTest(code):
                job = self.submit(code, "count-keys", *words)
                self.ends_badly(job, status, f"error[{code}]", path, "failed on e1 (127.0.0.1)",
                                "storage that all nodes share")
                self.assertEqual(os.listdir(os.path.join(self.directory, "shared")), ["r.tsv"])

    def test_no_space_for_output_fails_the_job(self):
        self.expected()
        os.mkdir(os.path.join(self.directory, "warm"))
        disk = Disk(self, "results", "64k")
        for name in ("e1", "e2"):
            self.executor(name, disk=disk)
        job = self.begin(disk=disk, out="results/out")
        self.ends_badly(job, 74, "error[E0304]", "results/.out.glint-", "No space left", "more are needed")
        self.assertEqual(os.listdir(disk.seen), [])

    def files_of_runs(self, minimum):
        found = []
        for directory, _, names in os.walk(self.tmp):
            paths = [os.path.join(directory, name) for name in names]
            found += [path for path in paths if os.path.getsize(path) >= minimum]
        return found

    def flip_while_held(self, name):
        """Corrupts all map outputs of an executor, when 7 of 8 are complete and no reducer runs."""
        self.write_cluster({name: dict(self.spilling) for name in ("e1", "e2")})
        held = self.in_map()
        other = "e2" if name == "e1" else "e1"
        self.executor(name)
        self.executor(other, hooks=[held])
        job = self.begin()
        held.until_hit()
        self.until_maps_done(self.maps - 1)
        paths = self.files_of_runs(1000)
        self.assertGreater(len(paths), 2)
        for path in paths[:1]:
            with open(path, "r+b") as file:
                file.seek(os.path.getsize(path) // 2)
                byte = file.read(1)[0]
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte ^ 1]))
        held.go()
        return job

    def test_damaged_map_output_is_recomputed(self):
        job = self.flip_while_held("e1")
        self.ends_well(job)
        causes = [e.error["cause"] for e in self.events("retry")]
        self.assertTrue(any("the second read failed too" in cause or "on the disk" in cause for cause in causes),
                        causes)
        again = [e.task for e in self.map_attempts("done")]
        self.assertEqual(len(again) - len(set(again)), 1, "just the damaged output is recomputed")
        self.serves_the_next()

    def test_truncated_map_output_is_recomputed(self):
        self.write_cluster({name: dict(self.spilling) for name in ("e1", "e2")})
        held = self.in_map()
        self.executor("e1")
        self.executor("e2", hooks=[held])
        job = self.begin()
        held.until_hit()
        self.until_maps_done(self.maps - 1)
        os.truncate(self.files_of_runs(1000)[0], 500)
        held.go()
        self.ends_well(job)
        self.assertGreater(self.retries(), 0)

    def test_removed_map_outputs_are_recomputed(self):
        self.write_cluster({name: dict(self.spilling) for name in ("e1", "e2")})
        held = self.in_map()
        self.executor("e1")
        self.executor("e2", hooks=[held])
        job = self.begin()
        held.until_hit()
        self.until_maps_done(self.maps - 1)
        removed = self.files_of_runs(1000)
        self.assertGreater(len(removed), 4, "more than a stage has attempts")
        for path in removed:
            os.unlink(path)
        held.go()
        self.ends_well(job)
        self.assertGreater(self.retries(), 0)


class DriverExit(FaultTest):
    """A process that a user started exits before its job."""

    def held(self, *options, **how):
        self.write_cluster({name: dict(self.spilling) for name in ("e1", "e2")})
        hooks = [self.in_map(), self.in_map()]
        executors = [self.executor(name, hooks=[hook]) for name, hook in zip(("e1", "e2"), hooks)]
        job = self.begin(*options, **how)
        for hook in hooks:
            hook.until_hit()
        return (job, *executors, *hooks)

    def clean_and_serving(self, *hooks):
        for hook in hooks:
            hook.go()
        until(lambda: os.listdir(self.tmp) == [], "the executors have removed their data")
        self.serves_the_next()
        self.assertEqual([n for n in os.listdir(self.directory) if n == "out"], [])

    def test_killed_driver_leaves_no_executor_data(self):
        """Its data is removed even if tasks hang, and the next job removes what it left."""
        job, e1, e2, first, second = self.held()
        pids = self.executor_pid(e1), self.executor_pid(e2)
        first.go()
        self.until_maps_done(4)
        job.signal(signal.SIGKILL)
        job.wait()
        for pid in pids:
            self.until_gone(pid)
        until(lambda: os.listdir(self.tmp) == [], "the executors have removed their data")
        left = [n for n in os.listdir(self.directory) if n.startswith(".out.glint-")]
        self.assertEqual(len(left), 1)
        self.clean_and_serving(first, second)
        self.ends_well(self.begin(name="again"))

    def test_interrupt_cleans_up(self):
        job, *_, first, second = self.held()
        job.signal(signal.SIGINT)
        first.go()
        second.go()
        self.ends_badly(job, 130, "error[E0702]")
        self.clean_and_serving()

    def test_second_interrupt_ends_the_job_at_once(self):
        """It does not wait for tasks that hang."""
        job, *_, first, second = self.held()
        job.signal(signal.SIGINT)
        until(lambda: not is_pending(job.pid, signal.SIGINT), "it was taken: two at a time would be one")
        job.signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)
        self.assertIn("stopped at once: a second signal", job.err)
        self.clean_and_serving(first, second)

    def test_sigterm_cleans_up(self):
        job, *_, first, second = self.held()
        job.signal(signal.SIGTERM)
        first.go()
        second.go()
        self.ends_badly(job, 143, "error[E0703]")
        self.clean_and_serving()

    def test_interrupt_with_paused_executors_cleans_up(self):
        job, e1, e2, first, second = self.held()
        pids = self.executor_pid(e1), self.executor_pid(e2)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        job.signal(signal.SIGINT)
        self.ends_badly(job, 130, "error[E0702]")
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        self.clean_and_serving(first, second)

    def test_closed_stdout_keeps_the_output(self):
        """The output is complete, and that its summary has no reader is no error, as with
        `| head`."""
        for name in ("e1", "e2"):
            self.executor(name)
        job = self.begin("--json", closed=True)
        self.assertEqual(job.wait(), 0, job.err)
        self.assertNotIn("error", job.err)
        self.assertEqual(self.read_output("out"), self.expected())
        self.serves_the_next()


class PoisonRow(FaultTest):
    """A row that kills every process that reads it."""

    executors = {name: {"slots": 1} for name in ("e1", "e2", "e3")}

    def test_crashing_row_fails_only_its_job(self):
        for name in self.executors:
            self.executor(name, hooks=["read tt0000777 0 segv -"])
        job = self.begin()
        self.ends_badly(job, 1, "killed by signal 11", "hint:")
        self.assertRegex(job.err, rf"4 attempts of task 0 of stage {self.map_stage()} .* failed this way; "
                                  r"its input starts at .*/ratings-\d+\.tsv:0;")
        crashed = [e for e in self.events("executor") if e.state == "lost"]
        self.assertEqual(len(crashed), 4, "each attempt has cost one process")
        stage = self.map_stage()
        lost = [e for e in self.events("task") if e.stage == stage and e.outcome == "executor lost"]
        self.assertEqual({e.task for e in lost}, {0})
        for name in self.executors:
            self.until_state(name, "idle")
        self.rows = 700  # without that row
        shutil.rmtree(self.counts())
        self.serves_the_next()


class KilledDuringCommit(FaultTest):
    """The driver dies at each of its changes to the file system."""

    executors = {"e1": {"slots": 2}}
    moments = 64

    def listing(self, name):
        directory = os.path.join(self.directory, name)
        if not os.path.isdir(directory):
            return None
        return {n: open(os.path.join(directory, n), "rb").read() for n in sorted(os.listdir(directory))}

    def each_moment(self, old):
        new = None
        options = ["--overwrite"] if old is not None else []
        self.executor("e1")
        for moment in range(1, self.moments):
            shutil.rmtree(os.path.join(self.directory, "out"), ignore_errors=True)
            if old is not None:
                shutil.copytree(os.path.join(self.directory, "old"), os.path.join(self.directory, "out"))
            hook = self.hook("change", "out", moment, "kill")
            job = self.begin(*options, env=self.hooked(hook))
            code = job.wait()
            if not hook.hit:
                self.assertEqual(code, 0, job.err)
                self.assertEqual(self.listing("out"), self.listing("next-out"))
                return moment
            self.assertEqual(code, -signal.SIGKILL)
            again = self.begin("--overwrite", out="next-out", name="again")
            self.assertEqual(again.wait(), 0, again.err)
            new = new or self.listing("next-out")
            found = self.listing("out")
            self.assertIn(found, (old, new), f"moment {moment}: neither the old nor the new output")
            again = self.begin("--overwrite", name="again")
            self.assertEqual(again.wait(), 0, again.err)
            self.assertEqual(self.listing("out"), new)
            self.assertEqual([n for n in os.listdir(self.directory) if n.startswith(".")], [])
        raise AssertionError("the job does not end")

    def test_new_output_is_whole_or_absent(self):
        self.assertGreater(self.each_moment(None), 8)

    def test_replaced_output_is_old_or_whole_new(self):
        os.mkdir(os.path.join(self.directory, "old"))
        for name, text in (("_SUCCESS", ""), ("part-00000", "old"), ("part-00099", "old")):
            with open(os.path.join(self.directory, "old", name), "w", encoding="ascii") as file:
                file.write(text)
        self.assertGreater(self.each_moment(self.listing("old")), 8)


if __name__ == "__main__":
    unittest.main()
