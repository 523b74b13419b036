"""A test that must fail: it checks that the suite can fail."""
from remote import HttpTest


class Canary(HttpTest):
    def test_that_fails(self):
        self.same_everywhere(self.local("rows.tsv"), self.nginx.url("other.tsv"))
