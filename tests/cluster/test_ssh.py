"""launch = "ssh", with a real sshd on loopback: as the current user, with generated keys."""
import getpass
import os
import shutil
import subprocess
import unittest

from cluster import GLINT, ClusterTest, Process, free_port, until

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])
SEPARATION = "/run/sshd"  # root's sshd needs it, and systems without an init have not created it


class Ssh(ClusterTest):
    def setUp(self):
        super().setUp()
        if SSHD is None or shutil.which("ssh") is None:
            self.skipTest("no sshd")
        self.port = free_port()
        for name in ("host_key", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)], check=True)
        shutil.copy(self.path("key.pub"), self.path("authorized_keys"))
        with open(self.path("host_key.pub"), encoding="ascii") as key:
            self.write("known_hosts", f"[127.0.0.1]:{self.port} {key.read()}")
        self.code, _, err = self.run_glint("secret", "new", self.path("secret"))
        self.assertEqual(self.code, 0, err)
        self.start_sshd()
        self.write_ssh_cluster()

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def start_sshd(self):
        self.write("sshd_config", "\n".join([
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.path('host_key')}",
            f"AuthorizedKeysFile {self.path('authorized_keys')}", "PidFile none", "UsePAM no",
            "StrictModes no", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
            "LogLevel INFO", f"SetEnv TMPDIR={self.tmp}", ""]))
        if os.geteuid() == 0 and not os.path.isdir(SEPARATION):
            os.mkdir(SEPARATION, 0o755)
            self.addCleanup(os.rmdir, SEPARATION)
        with open(self.path("sshd.err"), "wb") as err:
            self.sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", self.path("sshd_config")],
                                         stdin=subprocess.DEVNULL, stdout=err, stderr=err, cwd="/")
        self.addCleanup(self.sshd.wait)
        self.addCleanup(self.sshd.kill)
        until(lambda: "Server listening" in self.sshd_said(), "sshd listens")

    def sshd_said(self):
        with open(self.path("sshd.err"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        self.assertIsNone(self.sshd.poll(), text)
        return text

    def write_ssh_cluster(self, **keys):
        """The template of docs/cluster.md, with this sshd's port and keys."""
        command = ["ssh", "-F", "none", "-o", "BatchMode=yes", "-p", str(self.port), "-i", self.path("key"),
                   "-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile={self.path('known_hosts')}",
                   f"{getpass.getuser()}@{{host}}", os.path.abspath(GLINT), "executor", "--cluster",
                   "{config}", "--id", "{id}", "--launched"]
        self.write_cluster(**{"launch": "ssh", "launch_command": command, "secret_file": "secret",
                              "log_dir": self.path("log"), **keys})

    def left_processes(self):
        return [pid for pid in super().left_processes() if pid != self.sshd.pid]

    def log(self, name):
        with open(self.path(f"log/{name}.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def test_job_equals_local_and_leaves_nothing(self):
        job = self.submit("job", "count-keys", self.ratings(), "out", "--executors", "2")
        self.assertEqual(job.wait(), 0, job.err + self.sshd_said())
        self.assertEqual(self.read_output("out"), self.expected())
        self.assertIn("executor e1 ready on", self.log("e1"))
        self.assertEqual(self.sshd_said().count("Accepted publickey"), 2)
        self.assert_nothing_left()

    def test_executors_are_reused_by_the_next_job(self):
        self.write_ssh_cluster(suspect="5s", dead="8s")
        for out in ("out", "again"):
            job = self.submit(out, "count-keys", self.ratings(), out, "--executors", "2")
            self.assertEqual(job.wait(), 0, job.err)
            self.assertEqual(self.read_output(out), self.expected())
        self.assertEqual(self.sshd_said().count("Accepted publickey"), 2)

    def test_path_with_shell_characters_is_rejected(self):
        for name in ("a b", "$(touch ran)", "a;touch ran", "a`touch ran`", "a'b", "a\nb"):
            with self.subTest(name):
                directory = self.path(name)
                os.mkdir(directory)
                shutil.copy(self.config, directory)
                code, _, err = self.run_glint("submit", "empty-tasks", "--tasks", "1", "--cluster",
                                              os.path.join(directory, "cluster.toml"))
                self.assertEqual(code, 78, err)
                self.assertIn("error[E0901]", err)
                self.assertIn("with launch = \"ssh\" a shell on each host parses the path of this file", err)
                self.assertFalse(os.path.exists(self.path("ran")))
        job = self.submit("job", "count-keys", self.ratings(), "out", "--executors", "2")
        self.assertEqual(job.wait(), 0, job.err)

    def test_failed_login_is_reported(self):
        self.write("authorized_keys", "")
        self.write_ssh_cluster(start="5s")
        job = self.submit("job", "count-keys", self.ratings(), "out")
        self.assertEqual(job.wait(), 69, job.err)
        self.assertIn("error[E0907]", job.err)
        self.assertIn("e1", job.err)
        self.assertIn("Permission denied", self.log("e1"))


if __name__ == "__main__":
    unittest.main()
