"""The page with answers that the tests choose: hostile names, many tasks, a job halfway, a server that goes away."""
import copy
import os
import re

import logs
from answers import Answers
from browser import CONTROLS, FOCUSED, PageTest
from server import PAGE, Server

CONTRAST = """([front, back]) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const light = (name) => {
        canvas.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const [a, b] = [light(front), light(back)];
    return Math.max(a, b) / Math.min(a, b);
}"""
DRAWN = """() => { const c = document.querySelector("canvas"), g = c.getContext("2d");
    const colors = new Set(), data = g.getImageData(0, 0, c.width, c.height).data;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255)
        colors.add("#" + [0, 1, 2].map((k) => data[i + k].toString(16).padStart(2, "0")).join(""));
    const style = getComputedStyle(c);
    return ["done", "done-2", "running", "bad", "idle"].filter((n) => colors.has(style.getPropertyValue("--" + n).trim())); }"""


def busy():
    events, running = logs.busy()
    return Answers(events, live=True, running=running)


class Texts(PageTest):
    def test_texts_of_users_are_text(self):
        with Server(Answers(logs.hostile())) as server:
            page = self.open(server.url)
            self.assertEqual(self.text(page, "#name"), logs.HOSTILE)
            self.assertNotIn("owned", page.title().replace(logs.HOSTILE, ""))
            self.assertEqual(page.evaluate("document.scripts.length"), 1)
            self.assertEqual(page.evaluate("document.images.length"), 0)
            for place in ("#error", "#failures tbody", "#executors tbody", "#actions tbody", "#counters tbody", "#filters tbody", "#storage tbody", "#accumulators tbody",
                          "#stages tbody", "#dag .operator", "#configuration tbody", "#arguments", "#note-list"):
                shown = self.text(page, place)
                self.assertIn("<script>document.title=", shown, place)

    def test_page_has_no_markup_in_strings(self):
        """What the Content-Security-Policy cannot see: functions that parse strings as HTML, or run them."""
        for name in os.listdir(PAGE):
            with open(os.path.join(PAGE, name), encoding="utf-8") as file:
                text = file.read()
            self.assertNotRegex(text, r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", name)
            if name.endswith(".html"):
                self.assertNotRegex(text, r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", name)
            self.assertNotRegex(re.sub(r"http://www\.w3\.org/2000/svg", "", text), r"https?://|//[a-z]+\.[a-z]", name)

    def test_list_of_jobs(self):
        first, second = Answers(logs.many(5)), Answers(logs.hostile())
        second.job["id"] = "a/b?c#d"
        with Server(first, second) as server:
            page = self.open(server.url)
            self.assertEqual(page.locator("#jobs tbody tr").count(), 2)
            page.get_by_text("many-tasks").click()
            self.wait_text(page, "#name", "many-tasks")
            page.click("#brand")
            page.wait_for_selector("#jobs tbody tr")

    def test_sizes(self):
        """A text of digits above 2^53 is shown as it is."""
        events = logs.many(5)
        events[-1]["counters"] = {"bytes read": "9223372036854775807", "rows read": 1}
        with Server(Answers(events)) as server:
            page = self.open(server.url)
            self.assertIn("9,223,372,036,854,775,807 (8.0 EiB)", self.text(page, "#counters tbody"))


class Shows(PageTest):
    def test_a_job_halfway(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            self.wait_text(page, "#live", "live")
            self.assertEqual(self.text(page, "#state"), "running")
            self.assertEqual(page.locator("#dag .node").count(), 4)
            self.assertEqual(page.locator("#dag .edge").count(), 2)
            self.assertEqual(page.locator("#dag .node.running .state").text_content(), "running")
            self.assertIn("skew", self.text(page, "#stage-2"))
            self.assertNotIn("skew", self.text(page, "#stage-1"))
            self.assertIn("No space left on device", self.text(page, "#failures tbody"))
            self.assertIn("killed by signal 9", self.text(page, "#failures tbody"))
            self.assertIn("lost", self.text(page, "#executors tbody"))
            self.assertIn("313 ms ago", self.text(page, "#executors tbody"))
            self.assertEqual(set(page.evaluate(DRAWN)), {"done", "done-2", "running", "bad"})

    def test_numbers_of_stages(self):
        answers = busy()
        with Server(answers) as server:
            page = self.open(server.url)
            for stage in answers.stages():
                times = stage["taskMetricsDistributions"]["executorRunTime"]
                shown = page.eval_on_selector_all(f"#stage-{stage['stageId']} [data-metric=time] [data-value]",
                                                  "all => all.map((e) => Number(e.dataset.value))")
                low, median, high = times
                self.assertEqual(shown, [median] if low == high else [median, low, high])

    def test_cached_rdds_and_accumulators(self):
        events = logs.many(5)
        with Server(Answers(events)) as server:
            page = self.open(server.url)
            self.assertFalse(page.locator("#storage, #accumulators").first.is_visible())
        events.insert(-1, {**events[-1], "event": "storage", "rdds": [
            {"id": 3, "name": "words", "numPartitions": 12, "numCachedPartitions": 11, "storageLevel": "memory and disk",
             "memoryUsed": 3 << 20, "diskUsed": "18446744073709551615"}]})
        events[-1]["accumulators"] = {"least": -3, "tenths": 0.5, "longest": "abc", "exact": "9007199254740993"}
        with Server(Answers(events)) as server:
            page = self.open(server.url)
            shown = self.text(page, "#storage tbody")
            for part in ("words", "memory and disk", "11 / 12", "3.0 MiB", "16.0 EiB"):
                self.assertIn(part, shown)
            self.assertEqual(page.eval_on_selector_all("[data-accumulator]", "all => all.map((e) => e.textContent)"),
                             ["-3", "0.5", "abc", "9007199254740993"])
            self.assertEqual(page.locator("#nav a:visible", has_text="Cached RDDs").count(), 1)

    def test_fetch_wait(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            shown = page.eval_on_selector_all("#stage-3 [data-metric=fetch_wait] [data-value]",
                                              "all => all.map((e) => Number(e.dataset.value))")
            self.assertEqual(shown, [1.506, 1.5, 1.512])
            self.assertEqual(page.locator("#stage-1 [data-metric=fetch_wait]").count(), 0)
            self.assertIn("20 ms", self.text(page, "#stage-3 [data-counter='fetch wait us']"))

    def test_operators_of_stages(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            shown = "all => all.map((e) => e.textContent)"
            self.assertEqual(page.eval_on_selector_all('#dag [data-stage="1"] .operator', shown),
                             ["textFile", "map bloom.parse", "reduceByKey (write) glint.sum_i64"])
            self.assertEqual(page.eval_on_selector_all('#dag [data-stage="3"] .operator', shown),
                             ["join (read) from stage 1", "map step.0", "map step.1", "… 4 more", "saveAsMsgpackFile"])
            self.assertEqual(page.locator('#dag [data-stage="2"] .operator').count(), 0)
            self.assertIn("\nmap step.5\nsaveAsMsgpackFile", page.locator("#stage-3 pre").text_content())

    def test_filters(self):
        events = logs.many(5)
        events.insert(-1, {**events[-1], "event": "filter", "key": "7", "n": 70, "m": 671, "k": 7, "scheme": "spark", "layout": "classic",
                           "bitsSet": 358, "fill": 0.533532, "expectedRate": 0.010036})
        with Server(Answers(events)) as server:
            shown = self.text(self.open(server.url), "#filters tbody")
            self.assertIn("53.35 %", shown)
            self.assertIn("0.01004", shown)

    def test_stages_are_sorted_by_their_buttons(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            order = "all => all.map((e) => e.id)"
            self.assertEqual(page.eval_on_selector_all("#stages tbody tr", order)[0], "stage-0")
            button = page.locator("#stages thead button", has_text="Time")
            button.click()
            self.assertEqual(page.eval_on_selector_all("#stages tbody tr", order), ["stage-2", "stage-1", "stage-3", "stage-0"])
            self.assertEqual(page.locator("#stages th[aria-sort=descending]").count(), 1)
            button.press("Enter")
            self.assertEqual(page.eval_on_selector_all("#stages tbody tr", order)[0], "stage-0")

    def test_a_job_without_an_end(self):
        with Server(Answers(logs.busy()[0])) as server:
            page = self.open(server.url)
            self.assertEqual(self.text(page, "#state"), "incomplete")
            self.assertIn("has no end", self.text(page, "#problem"))

    def test_many_stages(self):
        log = logs.Log("many-stages")
        log.action(0, "count")
        for stage in range(1000):
            log.stage(stage, f"map {stage}", 1, [stage - 1] if stage else [])
        log.finish()
        with Server(Answers(log.events)) as server:
            page = self.open(server.url)
            self.assertEqual(page.locator("#stages tbody tr").count(), 200)
            self.assertIn("The first 300 of 1,000", self.text(page, "#dag"))
            page.click("#stages .more")
            self.assertEqual(page.locator("#stages tbody tr").count(), 1000)


class Live(PageTest):
    expected_errors = ("net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_EMPTY_RESPONSE",
                       "net::ERR_CONNECTION_RESET", "404")

    def test_moves_without_a_reload(self):
        events, running = logs.busy()
        cut = [e for e in events if e["ms"] < 500]
        with Server(Answers(cut, live=True)) as server:
            page = self.open(server.url)
            before = self.value(page, "#tile-tasks dd")
            page.evaluate("window.same = true")
            page.locator("#stage-1 summary").click()
            server.set(Answers(events, live=True, running=running))
            page.wait_for_function("(n) => Number(document.querySelector('#tile-tasks dd').dataset.value) > n", arg=before)
            self.assertTrue(page.evaluate("window.same"))
            self.assertTrue(page.evaluate("document.querySelector('#stage-1 details').open"), "it was opened before")

    def test_disconnected_and_back(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            self.wait_text(page, "#live", "live")
            server.stop()
            self.wait_text(page, "#live", "Disconnected")
            server.start()
            self.wait_text(page, "#live", "● live")

    def test_stops_at_the_end(self):
        answers = busy()
        with Server(answers) as server:
            page = self.open(server.url)
            self.wait_text(page, "#live", "live")
            events = copy.deepcopy(answers.events)
            events.append({**events[0], "event": "job_end", "ms": events[-1]["ms"] + 1, "events_left_out": 0, "error": None,
                           "elapsed_ms": 5, "stages": 4, "stages_skipped": 0, "tasks": 121, "retries": 3, "counters": {}})
            server.set(Answers(events), "end")
            self.wait_text(page, "#state", "succeeded")
            page.wait_for_function("() => document.getElementById('live').textContent === ''")
            self.assertEqual(len(server.subscribers), 1, "it did not connect again")

    def test_the_server_ends_with_the_job(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            self.wait_text(page, "#live", "live")
            page.route("**/api/v1/**", lambda route: route.abort("connectionrefused"))
            server.tell("end")
            self.wait_text(page, "#live", "The job has ended")

    def test_a_job_that_is_not_there(self):
        with Server(busy()) as server:
            page = self.load(server.url + "?job=absent")
            self.wait_text(page, "#problem", "There is no such job here.")


class Many(PageTest):
    def test_ten_thousand_tasks(self):
        with Server(Answers(logs.many(10000))) as server:
            page = self.open(server.url)
            page.wait_for_function("() => performance.getEntriesByName('shown').length > 0")
            paint, shown = page.evaluate("""() => [performance.getEntriesByName("first-contentful-paint")[0].startTime,
                performance.getEntriesByName("shown")[0].startTime]""")
            self.assertIn("10,000 attempts", self.text(page, "#timeline-readout"))
            self.assertEqual(page.evaluate(DRAWN), ["done"])
            page.focus("canvas")
            took = page.evaluate("""async () => { const begin = performance.now(), canvas = document.querySelector("canvas");
                for (let i = 0; i < 50; i++) { canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
                    await new Promise(requestAnimationFrame); } return (performance.now() - begin) / 50; }""")
            self.assertRegex(self.text(page, "#timeline-readout"), r"^Task \d+ of stage 0, attempt 0: done")
            print(f"10,000 tasks: first paint {paint:.0f} ms, all of it {shown:.0f} ms, an arrow key {took:.0f} ms")


class Looks(PageTest):
    def test_400_pixels(self):
        for answers in (busy(), Answers(logs.many(500)), Answers(logs.hostile())):
            with self.subTest(answers.job["name"]), Server(answers) as server:
                page = self.open(server.url, width=400)
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 400)
                out = page.evaluate("""() => [...document.querySelectorAll("section")].filter((e) =>
                    e.getBoundingClientRect().right > 400).map((e) => e.id)""")
                self.assertEqual(out, [])
                page.close()  # before its server

    def test_1400_pixels(self):
        """No table has columns beyond the edge of its card. One that has at a smaller width shows a shadow there."""
        for answers in (Answers(logs.many(500)), busy()):
            with self.subTest(answers.job["name"]), Server(answers) as server:
                page = self.open(server.url, width=1400)
                cut = page.evaluate("""() => [...document.querySelectorAll(".scroll")].filter((e) =>
                    e.scrollWidth > e.clientWidth).map((e) => e.getAttribute("aria-label"))""")
                self.assertEqual(cut, [])
                self.assertIn("gradient", page.evaluate("getComputedStyle(document.querySelector('#stages .scroll')).backgroundImage"))

    def test_columns_without_values(self):
        """They are left out until a stage has one."""
        heads = "all => all.map((e) => e.textContent)"
        with Server(Answers(logs.many(5))) as server:
            page = self.open(server.url)
            self.assertFalse({"Spilled", "Fetch wait"} & set(page.eval_on_selector_all("#stages thead th", heads)))
        with Server(busy()) as server:
            page = self.open(server.url)
            shown = page.eval_on_selector_all("#stages thead th", heads)
            self.assertLess({"Spilled", "Fetch wait"}, set(shown))
            self.assertEqual({page.locator(f"#stage-{n} > *").count() for n in range(4)}, {len(shown)})

    def test_colours_have_contrast(self):
        backs = {}
        with Server(busy()) as server:
            for scheme in ("light", "dark"):
                page = self.open(server.url, scheme=scheme)
                backs[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
                for front, back in (("--text", "--card"), ("--soft", "--card"), ("--soft", "--shade"), ("--bad", "--card"),
                                    ("--link", "--card"), ("--good", "--card"), ("--text", "--bad-back"), ("--bad", "--bad-back")):
                    self.assertGreaterEqual(page.evaluate(CONTRAST, [front, back]), 4.5, f"{scheme}: {front} on {back}")
                for front, back in (("--running", "--card"), ("--done", "--card"), ("--on-done", "--done"),
                                    ("--on-done-2", "--done-2"), ("--on-bad", "--bad")):
                    self.assertGreaterEqual(page.evaluate(CONTRAST, [front, back]), 3, f"{scheme}: {front} on {back}")
        self.assertNotEqual(backs["light"], backs["dark"])

    def test_keyboard_reaches_all_controls(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            wanted, reached = page.evaluate(CONTROLS), []
            page.keyboard.press("Tab")
            while (at := page.evaluate(FOCUSED)) is not None and len(reached) <= len(wanted) + 10:
                reached.append(at)
                page.keyboard.press("Tab")
            self.assertEqual([c for c in wanted if c not in reached], [])
            self.assertGreater(len(wanted), 40)

    def test_focus_is_visible(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            for _ in range(25):
                page.keyboard.press("Tab")
                seen = page.evaluate("""() => { const e = document.activeElement, s = getComputedStyle(e);
                    const box = e.matches(".node") && e.querySelector(".box"); return box ? getComputedStyle(box).strokeWidth === "3px"
                        : s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2; }""")
                self.assertTrue(seen, page.evaluate(FOCUSED))

    def test_tables_and_names_for_screen_readers(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            self.assertEqual(page.evaluate("""() => [...document.querySelectorAll("table")].filter((t) =>
                !t.caption || !t.tHead.querySelector("th[scope=col]") || (t.tBodies[0].rows.length > 0 &&
                !t.tBodies[0].querySelector("th[scope=row]"))).length"""), 0)
            self.assertEqual(page.evaluate("""() => [...document.querySelectorAll("section")].filter((s) =>
                !document.getElementById(s.getAttribute("aria-labelledby"))).length"""), 0)
            self.assertEqual(page.evaluate("document.documentElement.lang"), "en")
            ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
            self.assertEqual(len(ids), len(set(ids)), "ids are unique")
            self.assertRegex(page.get_attribute("canvas", "aria-label"), r"Timeline: \d+ attempts of tasks on 4 executors")
            self.assertRegex(page.get_attribute("#dag .node >> nth=3", "aria-label"), "Stage 3, .*: running; 13 of 32 tasks; 1 failed")

    def test_timeline_keys(self):
        with Server(busy()) as server:
            page = self.open(server.url)
            page.focus("canvas")
            page.keyboard.press("ArrowRight")
            first = self.text(page, "#timeline-readout")
            self.assertIn("Task 0 of stage 0", first)
            page.keyboard.press("ArrowRight")
            self.assertNotEqual(self.text(page, "#timeline-readout"), first)
            before = page.evaluate("document.querySelector('canvas').toDataURL()")
            page.keyboard.press("+")
            page.wait_for_function("(old) => document.querySelector('canvas').toDataURL() !== old", arg=before)
