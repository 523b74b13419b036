"""A browser for each class of tests, and what the tests ask about a page."""
import os
import unittest

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("GLINT_CHROMIUM", "/usr/bin/chromium")
DEADLINE_MS = 15000 * float(os.environ.get("GLINT_SLOWDOWN", "1"))

# The controls that the Tab key must reach: all that can be used, and are shown.
CONTROLS = """() => [...document.querySelectorAll("a[href], button, summary, canvas, [tabindex='0']")]
    .filter((e) => e.getClientRects().length > 0).map((e) => e.id || e.getAttribute("aria-label") || e.textContent)"""
FOCUSED = """() => { const e = document.activeElement;
    return e === document.body ? null : e.id || e.getAttribute("aria-label") || e.textContent; }"""


class PageTest(unittest.TestCase):
    """Every test has a new page. A message of the browser about an error, or about the Content-Security-Policy, fails it,
    and so does a request to another host."""

    expected_errors = ()  # parts of messages that the test causes

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.chromium = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        cls.addClassCleanup(cls.chromium.close)

    def setUp(self):
        self.messages, self.hosts, self.opened = [], set(), set()

    def open(self, url, width=1280, height=900, scheme="light"):
        """Returns the page of `url` once it shows a job, or a list of jobs."""
        page = self.load(url, width, height, scheme)
        page.wait_for_selector("#tile-spilled, #tile-slots, #jobs tbody tr")
        return page

    def load(self, url, width=1280, height=900, scheme="light"):
        context = self.chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.set_default_timeout(DEADLINE_MS)
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(error.stack or str(error)))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        self.opened.add(url.split("/")[2])
        page.goto(url)
        return page

    def tearDown(self):
        unexpected = [m for m in self.messages if not any(part in m for part in self.expected_errors)]
        self.assertEqual(unexpected, [], "messages of the browser")
        self.assertLessEqual(self.hosts, self.opened, "requests to other hosts")

    def text(self, page, selector):
        return page.text_content(selector)

    def wait_text(self, page, selector, part):
        page.wait_for_function("([s, part]) => (document.querySelector(s) || {textContent: ''}).textContent.includes(part)",
                               arg=[selector, part])

    def value(self, page, selector):
        """The exact number that `selector` shows."""
        value = page.get_attribute(selector, "data-value")
        return float(value) if "." in value or "e" in value else int(value)
