"""A test that must fail: it checks that the suite can fail."""
from cluster import ClusterTest


class Canary(ClusterTest):
    def test_that_fails(self):
        self.executor("e1")
        self.assertEqual(self.status()["executors"][0]["state"], "busy")
