"""The page of real jobs: `glint submit --ui` while they run, and `glint history --serve` of their event logs."""
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

from browser import PageTest

GLINT = os.environ.get("GLINT", "build/release/glint")
MARKUP = "<script>document.title='owned'</script>"
# Each task waits until the test writes to the FIFO.
HOLD = "#!/bin/sh\nhead -c 1 fifo >/dev/null\nexec cat\n"


class GlintTest(PageTest):
    """Every class has a directory with the logs of its jobs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    @classmethod
    def run_glint(cls, *words, status=0):
        done = subprocess.run([GLINT, *words], cwd=cls.directory, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done.stdout

    @contextlib.contextmanager
    def serving(self, *words):
        """The process, and the address of its page, which has the token."""
        process = subprocess.Popen([GLINT, *words], cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        lines = []
        try:
            while not (found := re.match(r"page: (http://\S+)$", line := process.stderr.readline())):
                lines.append(line)
                self.assertNotEqual(line, "", lines)
            yield process, found[1]
        finally:
            process.kill()
            process.communicate()

    def values(self, page, selector):
        return page.eval_on_selector_all(selector, "all => all.map((e) => Number(e.dataset.value))")

    def history(self, log):
        return json.loads(self.run_glint("history", "--json", log))


class Running(GlintTest):
    # After its end the server is gone.
    expected_errors = ("net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_EMPTY_RESPONSE",
                       "net::ERR_CONNECTION_RESET")

    def release(self):
        """Lets one task go on."""
        with open(self.path("fifo"), "wb", buffering=0) as fifo:
            fifo.write(b"x")

    def test_a_running_job_moves(self):
        os.mkfifo(self.path("fifo"))
        with open(self.path("hold"), "w", encoding="utf-8") as file:
            file.write(HOLD)
        os.chmod(self.path("hold"), 0o755)
        with open(self.path("in.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{number:05}\n" for number in range(4096)))
        job = ("submit", "--ui=127.0.0.1:0", "stream", "in.txt", "out", "--map", "./hold", "--split-size", "4096", "--master", "local[1]")
        with self.serving(*job, "--event-log", "log") as (process, url):
            page = self.open(url)
            self.wait_text(page, "#live", "live")
            self.assertEqual(self.text(page, "#state"), "running")
            page.evaluate("window.same = true")
            tasks = int(page.get_attribute("[data-tasks]", "data-tasks"))
            self.assertEqual(tasks, 6)
            for done in range(1, tasks):
                self.release()
                page.wait_for_function("(n) => Number(document.querySelector('#tile-tasks dd').dataset.value) === n", arg=done)
                page.wait_for_function("(n) => document.querySelector('#stage-0 [data-done]').dataset.done === String(n)", arg=done)
                page.wait_for_function("() => document.querySelector('#tile-running dd').dataset.value === '1'")
            self.assertTrue(page.evaluate("window.same"), "the page was not loaded again")
            self.assertIn("● live", self.text(page, "#live"))
            self.release()
            self.assertEqual(process.wait(timeout=60), 0)
            page.wait_for_function("""() => document.getElementById("state").textContent === "succeeded" ||
                /^Disconnected|has ended/.test(document.getElementById("live").textContent)""")
        with self.serving("history", "--serve=127.0.0.1:0", "log") as (_, url):
            page = self.open(url)
            self.assertEqual(self.text(page, "#state"), "succeeded")
            self.assertEqual(self.value(page, "#tile-tasks dd"), tasks)
            self.assertEqual(self.text(page, "#live"), "")


class Executor(GlintTest):
    def test_an_executor_and_its_job(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(self.path("cluster.toml"), "w", encoding="utf-8") as file:
            file.write(f'[[executor]]\nid = "e1"\nport = {port}\nslots = 2\nmemory = "100M"\n')
        os.mkfifo(self.path("fifo"))
        with open(self.path("hold"), "w", encoding="utf-8") as file:
            file.write(HOLD)
        os.chmod(self.path("hold"), 0o755)
        with open(self.path("in.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{number:05}\n" for number in range(4096)))
        with self.serving("executor", "--cluster", "cluster.toml", "--id", "e1", "--ui=127.0.0.1:0") as (process, url):
            page = self.open(url)
            self.wait_text(page, "#name", "Executor e1")
            self.assertEqual((self.text(page, "#state"), self.value(page, "#tile-slots dd")), ("idle", 2))
            job = subprocess.Popen([GLINT, "submit", "-q", "--cluster", "cluster.toml", "stream", "in.txt", "out", "--map", "./hold",
                                    "--split-size", "4096"], cwd=self.directory)
            page.wait_for_function("() => document.querySelector('#tile-tasks dd').dataset.value === '2'")
            self.assertIn("stream", self.text(page, "#executor-jobs tbody"))
            self.assertEqual(self.text(page, "#state"), "busy")
            while job.poll() is None:
                with contextlib.suppress(OSError):
                    os.write(file := os.open(self.path("fifo"), os.O_WRONLY | os.O_NONBLOCK), b"x")
                    os.close(file)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.wait(0.01)
            self.assertEqual(job.returncode, 0)
            page.wait_for_function("() => document.querySelector('#tile-jobs dd').dataset.value === '0'")
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 0)
            self.wait_text(page, "#live", "Disconnected")

    expected_errors = ("net::ERR_CONNECTION_REFUSED", "net::ERR_EMPTY_RESPONSE", "net::ERR_CONNECTION_RESET")


class Finished(GlintTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.path("ratings.tsv"), "w", encoding="utf-8") as file:
            file.write(cls.run_glint("generate", "ratings", "--rows", "50000"))
        cls.run_glint("params", "--header", "-q", "ratings.tsv", "params")
        cls.run_glint("bloom-build", "--header", "-q", "--params", "params", "ratings.tsv", "filters", "--event-log", "build.log",
                      "--split-size", "64K", "--partitions", "3", "--master", "local[3]")
        with open(cls.path("bad.tsv"), "w", encoding="utf-8") as file:
            file.write("tt1\t7.1\t5\ntt2\tx\t5\n")
        cls.run_glint("count-keys", "-q", "bad.tsv", "bad", "--event-log", "failed.log", status=65)

    def test_agrees_with_history(self):
        history = self.history("build.log")
        with self.serving("history", "--serve=127.0.0.1:0", "build.log") as (_, url):
            page = self.open(url)
            self.wait_text(page, "#timeline-readout", "attempt")
            for tile, value in (("tasks", history["tasks"]), ("stages", history["stage_count"]), ("failed", 0), ("running", 0),
                                ("executors", len(history["executors"]))):
                self.assertEqual(self.value(page, f"#tile-{tile} dd"), value, tile)
            self.assertIn(f"{history['attempts']} attempts of tasks", self.text(page, "#timeline-readout"))
            for stage in history["stages"]:
                row = f"#stage-{stage['stage']}"
                self.assertEqual(page.get_attribute(f"{row} [data-done]", "data-done"), str(stage["done"]))
                self.assertEqual(page.get_attribute(f"{row} [data-done]", "data-tasks"), str(stage["tasks"]))
                wanted = [stage[name] for name in ("median_ms", "min_ms", "max_ms")]
                wanted = wanted if wanted[1] < wanted[2] else wanted[:1]
                self.assertEqual(self.values(page, f"{row} [data-metric=time] [data-value]"), wanted)
                self.assertEqual(self.counters(page, f"{row} dd"), stage["counters"])
                title = page.text_content(f'#dag [data-stage="{stage["stage"]}"] title')
                self.assertEqual(title.split("\n")[1:], stage["operators"])
                self.assertGreater(len(stage["operators"]), 0)
            self.assertEqual(self.counters(page, "#counters [data-counter]"), history["end"]["counters"])
            self.assertEqual(page.locator("#dag .node").count(), len(history["stages"]))
            self.assertEqual(page.locator("#dag .edge").count(), sum(len(s["parents"]) for s in history["stages"]))
            self.assertEqual(page.get_attribute("[data-slots]", "data-slots"), str(history["executors"][0]["slots"]))
            self.assertIn(history["job"]["id"], self.text(page, "#version"))

    def counters(self, page, selector):
        return dict(page.eval_on_selector_all(
            selector, "all => all.map((e) => [e.dataset.counter, Number(e.querySelector('[data-value]').dataset.value)])"))

    def test_filters(self):
        info = json.loads(self.run_glint("filter", "info", "--json", "filters"))["filters"]
        with self.serving("history", "--serve=127.0.0.1:0", "build.log") as (_, url):
            page = self.open(url)
            keys = page.eval_on_selector_all("#filters tbody th", "all => all.map((e) => e.textContent)")
            self.assertEqual(sorted(keys), sorted(f["key"] for f in info))
            by_key = {f["key"]: f for f in info}
            shown = self.values(page, "#filters tbody [data-value]")
            for key, fill, rate in zip(keys, shown[0::2], shown[1::2]):
                self.assertAlmostEqual(fill, by_key[key]["fill"], 9)
                self.assertAlmostEqual(rate, by_key[key]["expected_rate"], 9)

    def test_failed(self):
        error = self.history("failed.log")["end"]["error"]
        with self.serving("history", "--serve=127.0.0.1:0", "failed.log") as (_, url):
            page = self.open(url)
            self.assertEqual(self.text(page, "#state"), "failed")
            for part in ("code", "text", "cause", "hint"):
                self.assertIn(error[part], self.text(page, "#error"))
            self.assertIn("bad.tsv:2", self.text(page, "#failures tbody"))
            self.assertEqual(page.locator("#dag .node.failed").count(), 1)

    def test_directory_of_logs(self):
        with self.serving("history", "--serve=127.0.0.1:0", ".") as (_, url):
            page = self.open(url)
            page.click("#jobs tbody a >> text=count-keys")
            self.wait_text(page, "#state", "failed")
            page.click("#brand")
            page.click("#jobs tbody a >> text=bloom-build")
            self.wait_text(page, "#state", "succeeded")

    def test_texts_of_users_are_text(self):
        with open(self.path("build.log"), encoding="utf-8") as log:
            lines = [json.loads(line) for line in log]
        for line in lines:
            for name in ("name", "path", "output"):
                if isinstance(line.get(name), str) and line["event"] != "report":
                    line[name] = MARKUP
        os.mkdir(self.path("hostile"))
        with open(self.path("hostile/log"), "w", encoding="utf-8") as log:
            log.writelines(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
        with self.serving("history", "--serve=127.0.0.1:0", "hostile/log") as (_, url):
            page = self.open(url)
            self.assertEqual(self.text(page, "#name"), MARKUP)
            self.assertEqual(page.evaluate("document.scripts.length"), 1)
            self.assertIn(MARKUP, page.title())
            self.assertIn(MARKUP, self.text(page, "#executors tbody"))

    def test_token_is_not_shown(self):
        with self.serving("history", "--serve=127.0.0.1:0", "build.log") as (_, url):
            token = url.partition("token=")[2]
            self.assertGreater(len(token), 15)
            page = self.open(url)
            self.assertNotIn(token, page.url)
            self.assertNotIn(token, page.content())
            self.assertEqual(page.evaluate("document.cookie"), "", "scripts cannot read the cookie")


class NotAllowed(GlintTest):
    expected_errors = ("401", "403")

    def test_without_the_token(self):
        self.run_glint("empty-tasks", "-q", "--tasks", "10", "--event-log", "log")
        with self.serving("history", "--serve=127.0.0.1:0", "log") as (_, url):
            page = self.load(url.partition("?")[0])
            self.assertNotIn("empty-tasks", page.content())


class Many(GlintTest):
    def test_ten_thousand_tasks(self):
        self.run_glint("empty-tasks", "-q", "--tasks", "10000", "--event-log", "log")
        with self.serving("history", "--serve=127.0.0.1:0", "log") as (_, url):
            page = self.open(url)
            page.wait_for_function("() => performance.getEntriesByName('shown').length > 0")
            paint, shown = page.evaluate("""() => [performance.getEntriesByName("first-contentful-paint")[0].startTime,
                performance.getEntriesByName("shown")[0].startTime]""")
            self.assertIn("10,000 attempts", self.text(page, "#timeline-readout"))
            self.assertEqual(self.value(page, "#tile-tasks dd"), 10000)
            print(f"10,000 tasks of glint: first paint {paint:.0f} ms, all of it {shown:.0f} ms")
