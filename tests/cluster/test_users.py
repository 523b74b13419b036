"""Two users of one machine: what one of them creates in shared directories does not affect the files of the
other, and no user trusts a file that the other could have written.

Users are numbers: glint runs as OWNER, and OTHER is the attacker. Only root can become both."""
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import unittest

from cluster import DEADLINE_S, GLINT, ClusterTest, Process, make_leftover

OWNER, OTHER = 64001, 64002
LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE, IN_OPEN, IN_ISDIR = -100, 2, 0x20, 0x40000000


def setpriv(user):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]


def give(user, *paths):
    for path in paths:
        os.lchown(path, user, user)


def write(path, text="precious\n", mode=0o644, user=OWNER):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, mode)
    give(user, path)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "two users need root and setpriv")
class UsersTest(ClusterTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        os.chmod(self.tmp, 0o1777)
        self.program = shutil.copy(GLINT, self.path("glint"))  # a build directory may be inaccessible to them
        os.chmod(self.program, 0o755)
        self.home = self.make_directory("home", 0o700)
        self.env.update(HOME=self.home, XDG_STATE_HOME=os.path.join(self.home, "state"))
        self.input = os.path.join(self.home, "in.tsv")
        write(self.input, "a\t1\nb\t2\n")

    def path(self, name):
        return os.path.join(self.directory, name)

    def make_directory(self, name, mode, user=OWNER):
        os.mkdir(self.path(name))
        os.chmod(self.path(name), mode)
        give(user, self.path(name))
        return self.path(name)

    def run_as(self, user, *words, **env):
        done = subprocess.run([*setpriv(user), self.program, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              cwd=self.directory, env={**self.env, **env}, timeout=DEADLINE_S, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def count_keys(self, output, *options):
        code, _, err = self.run_as(OWNER, "submit", "count-keys", self.input, output, *options)
        self.assertEqual(code, 0, err)


class Traps(UsersTest):
    """In a directory that both may write to, like /tmp."""

    def setUp(self):
        super().setUp()
        self.shared = self.make_directory("shared", 0o1777)
        self.target = os.path.join(self.home, "project")
        make_leftover(self.target)
        write(os.path.join(self.target, "authorized_keys"))
        os.makedirs(os.path.join(self.target, "a/b"))
        write(os.path.join(self.target, "a/b/precious"))
        for at, _, names in os.walk(self.target):
            give(OWNER, at, *(os.path.join(at, name) for name in names))
        self.files = self.files_of(self.target)
        self.assertEqual(len(self.files), 4)

    def files_of(self, directory):
        return sorted(os.path.join(at, name) for at, _, names in os.walk(directory) for name in names)

    def entry(self, name):
        return os.path.join(self.shared, name)

    def test_planted_symlink_is_not_followed(self):
        for name, output, options in (
                ("glint-0000000000000000", os.path.join(self.home, "out"), ("--work-dir", self.shared)),
                (".out.glint-0000000000000000", self.entry("out"), ())):
            with self.subTest(name=name):
                dead = self.entry(name[:-1] + "1")  # proves that stale directories are searched
                make_leftover(dead)
                give(OWNER, dead, *(os.path.join(dead, n) for n in os.listdir(dead)))
                os.symlink(self.target, self.entry(name))
                give(OTHER, self.entry(name))
                self.count_keys(output, *options)
                self.assertEqual(self.files_of(self.target), self.files)
                self.assertFalse(os.path.exists(dead))
                self.assertTrue(os.path.islink(self.entry(name)))

    def bait(self, name):
        """A directory of OTHER with a lock file that belongs to OWNER: a hard link to a file that both may write."""
        bait = self.entry(name)
        os.mkdir(bait)
        pub = self.make_directory("public", 0o755)
        write(os.path.join(pub, "file"), f"{socket.gethostname()}\n\n0\n", 0o666)
        for i in range(1000):
            write(os.path.join(bait, f"name-{i}"), "", user=OTHER)
        for name in ("authorized_keys", "precious"):
            write(os.path.join(bait, name), "", user=OTHER)
        os.chmod(bait, 0o777)
        give(OTHER, bait)
        subprocess.run([*setpriv(OTHER), "ln", os.path.join(pub, "file"), os.path.join(bait, ".glint-lock")], check=True)
        return bait

    def test_dir_of_another_user_is_not_removed(self):
        bait = self.bait("glint-00000000000000aa")
        self.count_keys(os.path.join(self.home, "out"), "--work-dir", self.shared)
        self.assertEqual(len(os.listdir(bait)), 1003)

    def exchange_when_opened(self, bait, link):
        """Runs as OTHER, in another process: once the bait is opened, replaces the target by a link."""
        watch = LIBC.inotify_init1(0)
        os.setgroups([])
        os.setgid(OTHER)
        os.setuid(OTHER)
        LIBC.inotify_add_watch(watch, bait.encode(), IN_OPEN)
        os.write(self.ready, b"x")
        while True:
            events, at = os.read(watch, 65536), 0
            while at < len(events):
                _, mask, _, size = struct.unpack_from("iIII", events, at)
                at += 16 + size
                if mask & IN_ISDIR and size == 0:
                    LIBC.renameat2(AT_FDCWD, bait.encode(), AT_FDCWD, link.encode(), RENAME_EXCHANGE)

    def test_dir_swapped_while_opened_is_not_followed(self):
        link = self.entry("link")
        os.symlink(self.target, link)
        give(OTHER, link)
        bait = self.bait("glint-00000000000000aa")
        reads, self.ready = os.pipe()
        attacker = os.fork()
        if attacker == 0:
            try:
                self.exchange_when_opened(bait, link)
            finally:
                os._exit(1)
        try:
            self.assertEqual(os.read(reads, 1), b"x")
            for i in range(5):
                self.count_keys(os.path.join(self.home, f"out-{i}"), "--work-dir", self.shared)
                self.assertEqual(self.files_of(self.target), self.files)
        finally:
            os.kill(attacker, signal.SIGKILL)
            os.waitpid(attacker, 0)
            os.close(reads)
            os.close(self.ready)


DAEMON, GROUP = 64010, 64011


class SharedDaemon(UsersTest):
    """Executors run as a user of their own, as those of the packages' unit; submitters are in the group glint."""

    executors = {"e1": {"slots": 1}}

    def setUp(self):
        super().setUp()
        with open("/etc/group", encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("glint:")]
        with open(self.path("group"), "w", encoding="utf-8") as file:
            file.writelines([*lines, f"glint:x:{GROUP}:\n"])
        self.data = self.make_directory("data", 0o755)
        os.chmod(self.home, 0o755)
        secret = self.path("secret")
        self.assertEqual(self.run_glint("secret", "new", secret)[0], 0)
        os.chown(secret, 0, GROUP)
        os.chmod(secret, 0o640)
        self.write_cluster(secret_file=secret)
        daemon = Process(self, "e1", ("executor", "--cluster", self.config, "--id", "e1"),
                         prefix=self.within(DAEMON, GROUP),
                         env={"HOME": self.make_directory("daemon", 0o700, DAEMON)})
        self.processes.append(daemon)
        daemon.until_says("executor e1 ready on ")

    def within(self, user, *groups):
        """A command: as this user, where /etc/group has the group glint."""
        more = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
        return ["unshare", "-m", "sh", "-ec", 'mount --bind "$0" /etc/group; exec "$@"', self.path("group"),
                "setpriv", f"--reuid={user}", f"--regid={user}", more, "--"]

    def submit_as(self, output, user, *groups, options=()):
        done = subprocess.run([*self.within(user, *groups), self.program, "submit", "count-keys", self.input, output,
                               "--key", "text", "--cluster", self.config, *options], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, cwd=self.data, env=self.env, timeout=DEADLINE_S,
                              check=False)
        return done.returncode, done.stderr

    def test_members_of_the_group_and_root_submit(self):
        for user, groups in ((OWNER, (GROUP,)), (0, (0,))):
            with self.subTest(user=user):
                output = os.path.join(self.data, f"out-{user}")
                for _ in ("new", "replaced"):
                    code, err = self.submit_as(output, user, *groups, options=("--overwrite",))
                    self.assertEqual(code, 0, err)
                self.assertEqual(self.read_output(output), b"1\t1\n2\t1\n")
                for path, owner, mode in ((output, user, 0o755), (os.path.join(output, "part-00000"), DAEMON, 0o644)):
                    found = os.stat(path)
                    self.assertEqual((found.st_uid, found.st_mode & 0o7777), (owner, mode), path)
        self.assertEqual(sorted(os.listdir(self.data)), ["out-0", f"out-{OWNER}"])

    def test_another_user_gets_a_hint(self):
        """One that has the secret, but is not in the group."""
        secret = self.path("copy")
        shutil.copy(self.path("secret"), secret)
        os.chmod(secret, 0o600)
        give(OWNER, secret)
        log = self.path("events")
        os.chmod(self.directory, 0o777)
        code, err = self.submit_as(os.path.join(self.data, "out"), OWNER, options=("--secret-file", secret, "--event-log", log))
        self.assertEqual(code, 74, err)
        self.assertIn("error[E0303]", err)
        self.assertRegex(err, rf"cause: cannot create {self.data}/.*: Permission denied, as user {DAEMON}\n")
        self.assertIn("writing to the output failed on e1 (127.0.0.1), and on every other executor", err)
        self.assertIn("group the submitter must be in", err)
        with open(log, encoding="utf-8") as file:
            self.assertNotIn('"outcome":"done"', file.read(), "it fails before a task is done")
        self.assertEqual(os.listdir(self.data), [])


    def test_executors_that_can_write_are_enough(self):
        """The tasks of the others fail, and run again on them."""
        secret = self.path("copy")
        shutil.copy(self.path("secret"), secret)
        os.chmod(secret, 0o600)
        give(OWNER, secret)
        self.write_cluster({"e1": {"slots": 1}, "e2": {"slots": 1}}, secret_file=self.path("secret"))
        e2 = Process(self, "e2", ("executor", "--cluster", self.config, "--id", "e2", "--secret-file", secret),
                     prefix=self.within(OWNER))
        self.processes.append(e2)
        e2.until_says("executor e2 ready on ")
        code, err = self.submit_as(os.path.join(self.data, "out"), OWNER,
                                   options=("--secret-file", secret, "--executors", "2", "--partitions", "6"))
        self.assertEqual(code, 0, err)
        self.assertEqual(sorted(self.read_output(os.path.join(self.data, "out")).splitlines()), [b"1\t1", b"2\t1"])


class FileOwnership(UsersTest):
    """Files that are trusted, or written to, must not belong to another user."""

    def own(self, user, mode=0o644):
        os.chmod(self.config, mode)
        give(user, self.config)

    def assert_rejected(self, *texts, code=78):
        found, _, err = self.run_as(OWNER, "submit", "empty-tasks", "--tasks", "1", "--cluster", self.config)
        self.assertEqual(found, code, err)
        for text in texts:
            self.assertIn(text, err)

    def test_cluster_file_of_another_user_is_rejected(self):
        """The cluster file names the program that starts executors."""
        ran = os.path.join(self.home, "ran")
        self.write_cluster(launch="ssh", launch_command=["/bin/sh", "-c", f"id > {ran}"], start="500ms")
        self.own(OTHER)
        self.assert_rejected("error[E0901]", "cluster.toml: it belongs to another user")
        self.own(OWNER, 0o666)
        self.assert_rejected("error[E0901]", "cluster.toml: other users may write to it (mode 0666)",
                             f"chmod go-w {self.config}")
        self.own(0, 0o664)
        self.assert_rejected("error[E0901]", "cluster.toml: other users may write to it (mode 0664)")
        link = self.config
        self.config = self.path("real.toml")
        os.rename(link, self.config)
        self.own(OWNER)
        self.config = link
        os.symlink("real.toml", link)
        give(OTHER, link)
        self.assert_rejected("error[E0901]", "the symbolic link cluster.toml in this path belongs to another user")
        self.assertFalse(os.path.exists(ran))
        give(0, link)
        code, out, err = self.run_as(OWNER, "config", "show", "--cluster", link)
        self.assertEqual(code, 0, err)
        self.assertIn("launch_command", out)

    def mount_secret(self):
        """As in Kubernetes: root owns everything, and the file's group is the container's."""
        mount = self.make_directory("mount", 0o755, user=0)
        version = os.path.join(mount, "..2026_11_22_06_11_31.1234567890")
        os.mkdir(version)
        write(os.path.join(version, "secret"), "0123456789abcdef" * 4 + "\n", 0o440, user=0)
        os.chown(os.path.join(version, "secret"), 0, OWNER)
        os.symlink(os.path.basename(version), os.path.join(mount, "..data"))
        os.symlink("..data/secret", os.path.join(mount, "secret"))
        return mount

    def test_kubernetes_secret_mount_is_accepted(self):
        mount = self.mount_secret()
        secret, data = os.path.join(mount, "secret"), os.path.join(mount, "..data")
        self.write_cluster({"e1": {"slots": 1}}, secret_file=secret)
        words = ("executor", "--cluster", self.config, "--id", "e1")
        e1 = Process(self, "e1", words, prefix=setpriv(OWNER))
        self.processes.append(e1)
        e1.until_says("executor e1 ready on ")
        code, out, err = self.run_as(OWNER, "status", "--cluster", self.config)
        self.assertEqual(code, 0, err)
        self.assertIn(" idle ", out)
        for link in (secret, data):
            give(OTHER, link)
            self.assert_rejected("error[E0902]", f"the symbolic link {os.path.basename(link)} in this path belongs to another user")
            give(0, link)
        os.chmod(secret, 0o444)
        self.assert_rejected("error[E0902]", "other users may read or write it (mode 0444)", "chmod 640")
        os.chmod(secret, 0o440)
        self.refused_to_others(secret)

    def refused_to_others(self, secret):
        """The kernel's check of the group."""
        code, _, err = self.run_as(OTHER, "status", "--cluster", self.config)
        self.assertEqual(code, 78, err)
        self.assertIn(f"cannot open {secret}: Permission denied", err)

    def test_log_file_of_another_user_is_rejected(self):
        """Another user was first: with a FIFO without a reader, and with a file."""
        logs = self.make_directory("logs", 0o777)
        log = os.path.join(logs, "e1.log")
        self.write_cluster({"e1": {"slots": 1}}, launch="local", log_dir=logs, start="5s")
        os.mkfifo(log)
        os.chmod(log, 0o666)
        give(OTHER, log)
        self.assert_rejected("error[E0907]", f"{log}: it is a pipe or a device, not a file", "set log_dir", code=69)
        os.unlink(log)
        write(log, mode=0o666, user=OTHER)
        self.assert_rejected("error[E0907]", f"{log}: it belongs to another user", "set log_dir", code=69)
        with open(log, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious\n")

    def test_event_log_of_another_user_is_rejected(self):
        shared = self.make_directory("shared", 0o777)
        log = os.path.join(shared, "events")
        words = ("submit", "count-keys", self.input, os.path.join(self.home, "out"), "--event-log", log)
        self.assertEqual(self.run_as(OTHER, "submit", "empty-tasks", "--tasks", "1", "--event-log", log)[0], 0)
        self.assertEqual(os.stat(log).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(log).st_uid, OTHER)
        os.chmod(log, 0o644)
        code, _, err = self.run_as(OWNER, *words)
        self.assertEqual(code, 73, err)
        self.assertIn(f"{log} exists and belongs to another user", err)
        self.assertEqual(os.stat(log).st_uid, OTHER)
