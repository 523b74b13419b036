"""A power loss, as an ext4 sees it: the image under it is copied while a job runs, and the copy is
mounted. An output in it is complete, the old or the new one, and the new one once the job has exited with 0."""
import os
import shutil
import signal
import subprocess
import unittest

from cluster import DEADLINE_S, ClusterTest

IMAGE_BYTES = 8 << 20
PARTS = 8
COPIES_MAX = 20
OPTIONS = "loop,commit=300"  # during the test only a sync writes to the image


def command(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stderr.decode("utf-8", "backslashreplace")


def whole_tree(path):
    """{name: content} of a directory; None: it does not exist."""
    if not os.path.isdir(path):
        return None
    names = sorted(os.listdir(path))
    return {name: open(os.path.join(path, name), "rb").read() for name in names}


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("mkfs.ext4"), "an ext4 of one's own needs root and mkfs.ext4")
class PowerLoss(ClusterTest):
    def setUp(self):
        super().setUp()
        self.image, self.mounted = os.path.join(self.directory, "image"), os.path.join(self.directory, "mounted")
        with open(self.image, "wb") as file:
            file.truncate(IMAGE_BYTES)
        self.assertEqual(command("mkfs.ext4", "-q", "-b", "1024", self.image)[0], 0)
        os.mkdir(self.mounted)
        code, err = self.mount(self.image, self.mounted)
        if code != 0:
            self.skipTest(f"no ext4 can be mounted here: {err.strip()}")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.addCleanup(command, "umount", self.mounted)
        self.output = os.path.join(self.mounted, "out")

    def mount(self, image, directory):
        return command("mount", "-t", "ext4", "-o", OPTIONS, image, directory)

    def copy(self):
        """The content of the disk at one moment: two reads are equal. The job is stopped, or has exited."""
        last = None
        while True:
            with open(self.image, "rb") as file:
                data = file.read()
            if data == last:
                return data
            last = data

    def after_loss(self, data):
        """The output that exists after a reboot."""
        image, directory = os.path.join(self.directory, "copy"), os.path.join(self.directory, "restarted")
        os.makedirs(directory, exist_ok=True)
        with open(image, "wb") as file:
            file.write(data)
        code, err = self.mount(image, directory)
        self.assertEqual(code, 0, err)
        try:
            return whole_tree(os.path.join(directory, "out"))
        finally:
            self.assertEqual(command("umount", directory)[0], 0)
            os.remove(image)

    def test_only_what_stays_is_synced(self):
        """An output that is printed is removed afterwards."""
        rows = self.ratings(2000)
        before = self.copy()
        code, out, err = self.run_glint("submit", "count-keys", rows, "-", "--work-dir", self.mounted)
        self.assertEqual((code, len(out.splitlines()) > 5), (0, True), err)
        self.assertEqual(self.copy() == before, True, "the disk was written to")
        self.assertEqual(self.run_glint("submit", "count-keys", rows, self.output)[0], 0)
        self.assertEqual(self.copy() == before, False, "the test does not see writes")

    def begin(self, name, rows, *options):
        return self.start(name, "submit", "count-keys", self.ratings(rows), self.output, "--partitions", str(PARTS),
                          "--master", "local[2]", *options)

    def copies_while(self, job):
        """Copies of the disk while the job runs, without duplicates."""
        found = set()
        while job.popen.poll() is None and len(found) < COPIES_MAX:
            job.signal(signal.SIGSTOP)
            found.add(self.copy())
            job.signal(signal.SIGCONT)
            try:
                job.popen.wait(0.002)
            except subprocess.TimeoutExpired:
                continue
        return found

    def lose_power_during(self, job, before):
        """Each copy has the old output or the new one; the copy after the end has the new one."""
        during = self.copies_while(job)
        self.assertEqual(job.wait(), 0, job.err)
        at_end = self.copy()
        new = whole_tree(self.output)
        self.assertEqual(len([name for name in new if name.startswith("part-")]), PARTS)
        self.assertNotEqual(new, before)
        for image in during:
            self.assertIn(self.after_loss(image), (before, new))
        self.assertEqual(self.after_loss(at_end), new)
        return new

    def test_new_output_is_whole_or_absent(self):
        self.lose_power_during(self.begin("first", 200000), None)

    def test_old_output_stays_until_the_new_one_is_whole(self):
        first = self.lose_power_during(self.begin("first", 100000), None)
        self.lose_power_during(self.begin("second", 200000, "--overwrite"), first)

    def test_no_sync_may_lose_the_output(self):
        """Validates the other tests: the test's file system keeps only what was synced."""
        job = self.begin("job", 200000, "--no-sync")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertNotEqual(self.after_loss(self.copy()), whole_tree(self.output))
