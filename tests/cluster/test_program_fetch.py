"""Drivers of another build that send anything as their program, and the limits of the daemon's cache."""
import contextlib
import fcntl
import hashlib
import os
import re
import signal
import unittest

import frames
from cluster import GLINT, SLOWDOWN, open_files, until
from programs import FILES_MAX, ProgramTest, read, sha256
from test_auth import AuthTest

BYTES_MAX = 1 << 30  # of the cache
EXIT_0 = b"#!/bin/sh\nexit 0\n"
SLEEP = b"#!/bin/sh\nexec sleep 600\n"
LARGE = EXIT_0 + bytes(2 * frames.PROGRAM_CHUNK_BYTES + 1000)  # three chunks


class FakeDrivers(ProgramTest, AuthTest):
    """Drivers of another build that send anything as their program."""

    def setUp(self):
        super().setUp()
        self.own_build, self.build, self.job = self.build, "0.0.9-aa", 0

    def request(self, hello=None, **fields):
        """The connection of a driver that has requested an executor."""
        self.job += 1
        driver = self.connect(role=frames.DRIVER, node="driver", **(hello or {}))
        values = {"job": self.job, "driver_port": self.silent_port(), **fields}
        driver.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode("REQUEST_EXECUTOR", **values)))
        return driver

    def offer(self, program, size=None, digest=None, **fields):
        """The same, and has sent PROGRAM."""
        driver = self.request(**fields)
        self.assertEqual(driver.wait_frame(frames.PROGRAM_REQUEST, frames.REJECT)[0], frames.PROGRAM_REQUEST)
        self.send_program(driver, program, size, digest)
        return driver

    def send_program(self, driver, program, size=None, digest=None):
        driver.send(frames.frame(frames.PROGRAM, frames.encode(
            "PROGRAM", size=len(program) if size is None else size,
            sha256=digest or hashlib.sha256(program).digest())))

    def get(self, driver):
        """The chunk of the next GET; None: the daemon sent something else, which is in `found`."""
        self.found = driver.wait_frame(frames.GET, frames.EXECUTOR_STARTED, frames.EXECUTOR_EXITED, frames.REJECT)
        if self.found is None or self.found[0] != frames.GET:
            return None
        return frames.decode("GET PROGRAM", self.found[1])["offset"] // frames.PROGRAM_CHUNK_BYTES

    def serve(self, driver, program):
        """Sends the chunks. Returns the daemon's next frame."""
        chunks = []
        while (chunk := self.get(driver)) is not None:
            chunks.append(chunk)
            driver.send(frames.data(frames.program_chunk(program, chunk), driver.request))
        self.assertEqual(chunks, sorted(set(chunks)))
        return self.found

    def run_program(self, program, **fields):
        driver = self.offer(program, **fields)
        self.assertEqual(self.serve(driver, program)[0], frames.EXECUTOR_STARTED, self.found)
        return driver

    def exit_of(self, driver):
        found = driver.wait_frame(frames.EXECUTOR_EXITED)
        self.assertIsNotNone(found, self.e1.err)
        return frames.decode("EXECUTOR_EXITED", found[1])

    def assert_reject(self, driver, code, cause):
        found = driver.wait_frame(frames.EXECUTOR_STARTED, frames.REJECT)
        self.assert_is_reject(driver, found, code, cause)

    def assert_is_reject(self, driver, found, code, cause):
        self.assertEqual(found and found[0], frames.REJECT, self.e1.err)
        got, text, _ = frames.unpack(found[1])[0]
        self.assertRegex(text, cause)
        self.assertEqual(got, code)
        driver.until_closed()
        self.assertRegex(self.e1.err, cause)
        until(lambda: not self.partial(), "no temporary file is left")
        self.assert_served()

    def assert_closed(self, driver, cause):
        driver.until_closed()
        self.e1.until_says(f"E0606 {cause}")
        until(lambda: not self.partial(), "no temporary file is left")
        self.assert_served()


class Programs(FakeDrivers):
    def test_chunks_are_requested_in_order(self):
        for program in (EXIT_0, LARGE, EXIT_0.ljust(frames.PROGRAM_CHUNK_BYTES)):
            driver = self.run_program(program)
            self.assertEqual(self.exit_of(driver)["wait_status"], 0)
            self.assertEqual(read(os.path.join(self.cache, sha256(program))), program)

    def test_bytes_that_are_no_program_are_rejected(self):
        driver = self.offer(b"hello")
        found = self.serve(driver, b"hello")
        self.assert_is_reject(driver, found, -605,
                              f"cannot start {self.cache}/{sha256(b'hello')}: it is no program for this machine")

    def test_program_for_another_architecture_is_rejected(self):
        program = bytearray(read(GLINT)[:4096])
        program[18:20] = (0x1234).to_bytes(2, "little")  # e_machine
        driver = self.offer(bytes(program))
        found = self.serve(driver, bytes(program))
        self.assert_is_reject(driver, found, -605, "it is no program for this machine")

    def test_program_that_exits_is_reported(self):
        program = b"#!/bin/sh\nexit 3\n"
        driver = self.run_program(program)
        exited = self.exit_of(driver)
        self.assertEqual((exited["wait_status"], exited["code"]), (3 << 8, 0))
        self.e1.until_says(r"process \d+ ended with status 3")
        self.assert_served()

    def test_program_that_writes_any_report(self):
        """The text of a process about its end may be anything."""
        program = b"#!/bin/sh\nhead -c 100000 /dev/urandom >&3\nexit 1\n"
        self.assertEqual(self.exit_of(self.run_program(program))["wait_status"], 1 << 8)
        program = b"#!/bin/sh\nprintf 'E9999 a\\033[31m cause\\nits hint\\n' >&3\nkill -9 $$\n"
        self.assertEqual(self.exit_of(self.run_program(program))["wait_status"], signal.SIGKILL)
        self.assertNotIn("\033", self.e1.err)
        self.assert_served()

    def test_program_that_never_connects_is_killed_when_its_driver_leaves(self):
        files = open_files(self.e1.pid)
        driver = self.run_program(SLEEP)
        until(lambda: self.e1.children() and b"sleep" in read(f"/proc/{self.e1.children()[0]}/cmdline"), "it runs")
        driver.close()
        self.e1.until_says(r"process \d+ was killed by signal 9")
        until(lambda: not self.e1.children(), "it has exited")
        until(lambda: open_files(self.e1.pid) <= files, "no descriptor is left")

    def test_file_in_use_is_locked(self):
        driver = self.run_program(SLEEP)
        path = os.path.join(self.cache, sha256(SLEEP))
        with open(path, "rb") as file:
            with self.assertRaises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.kill(self.e1.children()[0], signal.SIGKILL)
            self.assertEqual(self.exit_of(driver)["wait_status"], signal.SIGKILL)

            def unlocked():
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
            until(unlocked, "the lock ends")

    def test_job_key_is_only_on_descriptor_3(self):
        """A program that copies what its process was started with."""
        seen, key, incarnation = os.path.join(self.directory, "seen"), os.urandom(32), os.urandom(16)
        os.mkdir(seen)
        program = (f"#!/bin/sh\ncd {seen}\ncat /proc/$$/cmdline > cmdline\ncat /proc/$$/environ > environ\n"
                   "head -c 48 <&3 > credentials\nexec ls -l /proc/self/fd > descriptors\n").encode()
        driver = self.run_program(program, key=key, incarnation=incarnation)
        self.assertEqual(self.exit_of(driver)["wait_status"], 0)
        found = {name: read(os.path.join(seen, name)) for name in os.listdir(seen)}
        self.assertEqual(found["credentials"], incarnation + key)
        self.assertIn(b"--executor-process", found["cmdline"])
        self.assertIn(b"XDG_STATE_HOME=", found["environ"])
        secret = self.secret()
        for name in ("cmdline", "environ"):
            for value in (key, incarnation, secret):
                for form in (value, value.hex().encode(), value.hex().upper().encode()):
                    self.assertNotIn(form, found[name], name)
        targets = re.findall(r" (\d+) -> (\S+)", found["descriptors"].decode())
        inherited = {int(number): target for number, target in targets if not target.startswith("/proc/")}
        self.assertEqual(sorted(inherited), [0, 1, 2, 3, 4], inherited)
        self.assertEqual(inherited[4], os.path.join(self.cache, sha256(program)))
        self.assertEqual(inherited[0], "/dev/null")
        self.assertTrue(inherited[3].startswith("socket:"), inherited)

    def test_program_is_run_by_descriptor(self):
        """Its path may lead to another file once it is verified."""
        seen = os.path.join(self.directory, "seen")
        program = f"#!/bin/sh\necho $0 > {seen}\n".encode()
        for _ in ("fetched", "found in the cache"):
            self.assertEqual(self.exit_of(self.run_program(program))["wait_status"], 0)
            self.assertEqual(read(seen), b"/proc/self/fd/4\n")
            os.unlink(seen)

    def test_file_that_others_may_write_is_fetched_again(self):
        for mode, found in ((0o500, 1), (0o522, 0)):
            self.exit_of(self.run_program(EXIT_0))
            os.chmod(os.path.join(self.cache, sha256(EXIT_0)), mode)
            logged = len(self.e1.err)
            self.exit_of(self.run_program(EXIT_0))
            self.assertEqual(self.e1.err[logged:].count("found in the cache the driver's program"), found)

    def test_executor_process_has_no_key_in_its_arguments(self):
        self.build = self.own_build
        key, incarnation = os.urandom(32), os.urandom(16)
        driver = self.request(key=key, incarnation=incarnation)
        self.assertIsNotNone(driver.wait_frame(frames.EXECUTOR_STARTED))
        pid = until(self.e1.children, "its process runs")[0]
        found = until(lambda: read(f"/proc/{pid}/cmdline"), "it has been executed")
        self.assertIn(b"--executor-process", found)
        with contextlib.suppress(PermissionError):  # glint protects it from all but root
            found += read(f"/proc/{pid}/environ")
        for value in (key, incarnation, self.secret()):
            for form in (value, value.hex().encode(), value.hex().upper().encode()):
                self.assertNotIn(form, found)


class InvalidPrograms(FakeDrivers):
    def test_wrong_hash_is_rejected(self):
        for program in (EXIT_0, LARGE):
            driver = self.offer(program, digest=bytes(32))
            found = self.serve(driver, program)
            self.assert_is_reject(driver, found, -909, "the program that was received does not match its SHA-256")
        self.assertEqual(self.cached(), [])

    def test_wrong_chunk_is_rejected(self):
        good = frames.program_chunk(LARGE, 1)
        mismatch = "the program that was received does not match its SHA-256"
        wrong = {"bytes": (good[:-1] + b"x", -909, mismatch),
                 "another chunk": (frames.program_chunk(LARGE, 0), -909, mismatch),
                 "shorter": (good[:-1], -606, "response of 262143 bytes, expected 262144"),
                 "empty": (b"", -606, "response of 0 bytes, expected 262144"),
                 "longer": (good + b"x", -606, "response of 262145 bytes, expected 262144")}
        for name, (data, code, cause) in wrong.items():
            with self.subTest(name):
                driver = self.offer(LARGE)
                self.assertEqual(self.get(driver), 0)
                driver.send(frames.data(frames.program_chunk(LARGE, 0), driver.request))
                self.assertEqual(self.get(driver), 1)
                self.assertEqual(len(self.partial()), 1)
                driver.send(frames.data(data, driver.request))
                self.assert_is_reject(driver, self.serve(driver, LARGE), code, cause)
        self.assertEqual(self.cached(), [])

    def test_fetch_error_of_the_driver_is_rejected(self):
        driver = self.offer(LARGE)
        self.assertEqual(self.get(driver), 0)
        error = frames.encode("ERROR", code=-605, cause="cannot read it")
        driver.send(frames.frame(frames.FETCH_ERROR, b"\x91" + error, driver.request))
        self.assert_reject(driver, -605, "cannot read it")

    def test_size_over_the_limit_is_rejected(self):
        for size in (BYTES_MAX + 1, 1 << 62):
            driver = self.offer(EXIT_0, size=size)
            cause = f"the driver's program has {size} bytes, the program cache is for {BYTES_MAX}"
            self.assert_reject(driver, -601, cause)
        self.assertEqual(self.cached(), [])
        for size in (0, 1 << 63, (1 << 64) - 1):
            logged = len(self.e1.err)
            driver = self.offer(EXIT_0, size=size)
            self.assert_closed(driver, "PROGRAM does not parse")
            self.assertIn("PROGRAM does not parse", self.e1.err[logged:])

    def test_largest_size_allocates_one_chunk(self):
        with self.memory_flat(self.e1.pid):
            driver = self.offer(EXIT_0, size=BYTES_MAX)
            self.assertEqual(self.get(driver), 0)
            driver.close()
            until(lambda: not self.partial(), "no temporary file is left")
        self.assert_served()

    def test_duplicate_program_closes_the_connection(self):
        driver = self.offer(LARGE)
        self.send_program(driver, LARGE)
        self.assert_closed(driver, "duplicate PROGRAM")

    def test_program_without_request_closes_the_connection(self):
        driver = self.connect(role=frames.DRIVER, node="driver")
        self.send_program(driver, EXIT_0)
        self.assert_closed(driver, "unexpected PROGRAM frame")
        self.assertEqual(self.cached(), [])

    def test_second_request_while_fetching_closes_the_connection(self):
        driver = self.offer(LARGE)
        driver.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode("REQUEST_EXECUTOR", job=self.job)))
        self.assert_closed(driver, "duplicate or invalid REQUEST_EXECUTOR")

    def test_data_without_a_fetch_closes_the_connection(self):
        """Nor does the daemon read it."""
        build = self.build
        for self.build in (build, self.own_build):
            header = frames.frame(frames.DATA, length=8 << 20, head=0)
            error = frames.frame(frames.FETCH_ERROR, b"\x91" + frames.encode("ERROR"))
            for data, cause in ((header, "unsolicited DATA frame"), (error, "unexpected FETCH_ERROR frame")):
                self.assert_rejected(lambda: self.connect(role=frames.DRIVER, node="driver"), data, cause)

    def test_second_request_of_a_connection_is_rejected(self):
        driver = self.run_program(EXIT_0)
        self.exit_of(driver)
        driver.send(frames.frame(frames.REQUEST_EXECUTOR, frames.encode("REQUEST_EXECUTOR", job=self.job)))
        self.assert_reject(driver, -606, "second REQUEST_EXECUTOR of a driver")

    def test_driver_that_reconnects_while_fetching_starts_again(self):
        me = os.urandom(16)
        first = self.offer(LARGE, hello={"incarnation": me})
        self.assertEqual(self.get(first), 0)
        self.job -= 1
        second = self.offer(LARGE, hello={"incarnation": me})
        first.until_closed()
        self.assertEqual(self.serve(second, LARGE)[0], frames.EXECUTOR_STARTED)
        self.assertEqual(self.exit_of(second)["wait_status"], 0)
        until(lambda: not self.partial(), "no temporary file is left")
        self.assertEqual(self.cached(), [sha256(LARGE)])

    def test_data_of_another_request_is_ignored(self):
        """As of a request that has ended: it is not written to any file."""
        driver = self.offer(EXIT_0)
        self.assertEqual(self.get(driver), 0)
        request = driver.request
        for other in (0, request + 1, 1 << 63):
            driver.send(frames.data(frames.program_chunk(SLEEP, 0), other))
        driver.send(frames.data(frames.program_chunk(EXIT_0, 0), request))
        driver.send(frames.data(frames.program_chunk(SLEEP, 0), request))  # a second response
        self.assertEqual(self.exit_of(driver)["wait_status"], 0)
        self.assertEqual(self.cached(), [sha256(EXIT_0)])


class SilentDrivers(FakeDrivers):
    keys = {**FakeDrivers.keys, "fetch": "5s"}

    def test_silent_driver_is_rejected(self):
        silent = f"the driver did not send the next chunk of its program within {int(5000 * SLOWDOWN)} ms"
        driver = self.request()
        self.assertEqual(driver.wait_frame(frames.PROGRAM_REQUEST, frames.REJECT)[0], frames.PROGRAM_REQUEST)
        self.assert_reject(driver, -909, silent)
        driver = self.offer(LARGE)
        self.assertEqual(self.get(driver), 0)
        self.assertEqual(len(self.partial()), 1)
        self.assert_reject(driver, -909, silent)
        driver = self.offer(LARGE)
        self.assertEqual(self.get(driver), 0)
        driver.send(frames.data(frames.program_chunk(LARGE, 0), driver.request)[:5000])  # and no more
        self.assert_reject(driver, -909, silent)


class Disconnects(FakeDrivers):
    def test_disconnected_driver_leaves_nothing(self):
        driver = self.run_program(EXIT_0)
        self.exit_of(driver)
        driver.close()
        self.assert_served()
        files = open_files(self.e1.pid)
        for chunks, rest in ((0, 0), (1, 0), (1, 5000), (2, 900)):
            for _ in range(5):
                driver = self.offer(LARGE)
                for chunk in range(chunks):
                    self.assertEqual(self.get(driver), chunk)
                    driver.send(frames.data(frames.program_chunk(LARGE, chunk), driver.request))
                self.assertEqual(self.get(driver), chunks)
                self.assertEqual(len(self.partial()), 1)
                driver.send(frames.data(frames.program_chunk(LARGE, chunks), driver.request)[:rest])
                driver.close()
                until(lambda: not self.partial(), "no temporary file is left")
        for last in range(5):  # while it is verified, or after: a complete program is kept
            program = LARGE + bytes([last])
            driver = self.offer(program)
            for chunk in range(3):
                self.assertEqual(self.get(driver), chunk)
                driver.send(frames.data(frames.program_chunk(program, chunk), driver.request))
            driver.close()
            until(lambda: not self.partial(), "no temporary file is left")
        until(lambda: not self.e1.children(), "no process is left")
        until(lambda: open_files(self.e1.pid) <= files, "no descriptor is left")
        self.assert_served()

    def test_daemon_stops_while_it_fetches(self):
        driver = self.offer(LARGE)
        self.assertEqual(self.get(driver), 0)
        self.e1.signal(signal.SIGTERM)
        self.assert_draining(driver)
        self.assertEqual(self.e1.wait(), 0)
        self.assertEqual(self.partial(), [])

    def assert_draining(self, driver):
        found = driver.wait_frame(frames.REJECT)
        self.assertIsNotNone(found, self.e1.err)
        self.assertIn("executor e1 is draining", frames.unpack(found[1])[0][1])


class Room(FakeDrivers):
    """The cache has at most 8 files and 1 GiB."""

    executors = {"e1": {"slots": 2}}
    keys = {**FakeDrivers.keys, "drivers_max": 2}

    def fetch(self, program=EXIT_0):
        driver = self.run_program(program)
        self.assertEqual(self.exit_of(driver)["wait_status"], 0)
        driver.close()

    def test_file_used_longest_ago_is_removed(self):
        names = [f"file-{number}" for number in range(FILES_MAX)]
        self.fill_cache(*names)
        self.fetch()
        self.assertEqual(self.cached(), sorted([*names[1:], sha256(EXIT_0)]))

    def test_use_makes_a_file_younger(self):
        self.fetch()
        names = [f"file-{number}" for number in range(FILES_MAX - 1)]
        own = os.path.join(self.cache, sha256(EXIT_0))
        os.utime(own, (1, 1))
        self.fill_cache(*names)
        self.fetch()  # from the cache
        self.assertEqual(self.e1.err.count("found in the cache the driver's program"), 1)
        self.fetch(EXIT_0 + b"# another\n")
        self.assertEqual(self.cached(), sorted([*names[1:], sha256(EXIT_0), sha256(EXIT_0 + b"# another\n")]))

    def test_file_in_use_is_not_removed(self):
        names = [f"file-{number}" for number in range(FILES_MAX)]
        paths = self.fill_cache(*names)
        locks = [self.lock(path) for path in paths]
        driver = self.offer(EXIT_0)
        self.assert_reject(driver, -601, f"the program cache {self.cache} is full: all programs in it are in use")
        self.assertEqual(self.cached(), names)
        locks[5].close()
        self.fetch()
        self.assertEqual(self.cached(), sorted([*names[:5], *names[6:], sha256(EXIT_0)]))

    def test_bytes_are_limited(self):
        """A file that fits exactly, and one that has a byte more."""
        third = BYTES_MAX // 3
        for size, left in ((BYTES_MAX - 3 * third, ["a", "b", "c"]), (BYTES_MAX - 3 * third + 1, ["b", "c"])):
            with self.subTest(size=size):
                self.fill_cache("a", "b", "c", size=third)
                driver = self.offer(EXIT_0, size=size)
                self.assertEqual(self.get(driver), 0)
                self.assertEqual([name for name in self.cached() if name not in self.partial()], left)
                driver.close()
                until(lambda: not self.partial(), "no temporary file is left")
        paths = self.fill_cache("b", "c", size=third)
        for path in paths:
            self.lock(path)
        driver = self.offer(EXIT_0, size=BYTES_MAX - 2 * third)
        self.assertEqual(self.get(driver), 0)
        driver.close()
        until(lambda: not self.partial(), "no temporary file is left")
        driver = self.offer(EXIT_0, size=BYTES_MAX - 2 * third + 1)
        self.assert_reject(driver, -601, "is full")
        self.assertEqual(self.cached(), ["b", "c"])

    def test_abandoned_temporary_file_is_removed(self):
        _, used = self.fill_cache("0123456789abcdef.part", "fedcba9876543210.part")
        self.lock(used)
        self.fetch()
        self.assertEqual(self.cached(), sorted(["fedcba9876543210.part", sha256(EXIT_0)]))

    def test_same_program_fetched_twice_at_the_same_time(self):
        drivers = [self.offer(LARGE) for _ in range(2)]
        requests = []
        for driver in drivers:
            self.assertEqual(self.get(driver), 0)
            requests.append(driver.request)
        self.assertEqual(len(self.partial()), 2)
        for driver, request in zip(drivers, requests):
            driver.send(frames.data(frames.program_chunk(LARGE, 0), request))
        for driver in drivers:
            self.assertEqual(self.serve(driver, LARGE)[0], frames.EXECUTOR_STARTED)
            self.assertEqual(self.exit_of(driver)["wait_status"], 0)
        self.assertEqual(self.cached(), [sha256(LARGE)])


if __name__ == "__main__":
    unittest.main()
