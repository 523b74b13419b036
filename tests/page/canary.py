"""Must fail: shows that the tests notice a page that does not show what it should."""
import logs
from answers import Answers
from browser import PageTest
from server import Server


class Canary(PageTest):
    def test_another_name(self):
        with Server(Answers(logs.many(10))) as server:
            page = self.open(server.url)
            self.assertEqual(self.text(page, "#name"), "another job")
