"""Files of HDFS over HTTP (WebHDFS): reads are redirected to data nodes."""
import glob
import os

import servers
from remote import RemoteTest


class WebHdfs(RemoteTest):
    variables = {"HADOOP_USER_NAME": "me"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hdfs = servers.Hdfs()
        cls.addClassCleanup(cls.hdfs.stop)
        cls.hdfs.superuser = os.environ.get("USER", "root")
        cls.hdfs.put("/data", user=cls.hdfs.superuser, op="MKDIRS", permission="777")
        for path in glob.glob(f"{cls.data}/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    cls.hdfs.put("/data/" + os.path.relpath(path, cls.data), file.read())
        cls.hdfs.put("/data/several/_SUCCESS", b"")
        cls.hdfs.put("/data/secret.tsv", b"a\t1\t1\n")
        cls.hdfs.put("/data/secret.tsv", op="SETPERMISSION", permission="600")

    def url(self, path):
        return f"webhdfs://127.0.0.1:{self.hdfs.port}/data/{path}"

    def test_files_of_many_blocks(self):
        for name in ("rows.tsv", "rows.tsv.gz", "rows.tsv.zst"):
            self.same_everywhere(self.local(name), self.url(name))

    def test_lists(self):
        self.same_everywhere(self.local("several/p*"), self.url("several/p*"))
        self.same_everywhere(self.local("several/deep"), self.url("several/deep"))
        self.same_everywhere(self.local("several/deep"), self.url("several/deep/a b+c&d=e%20.tsv"))
        self.fails_everywhere(self.url("several"), "E0203", "data/several/deep: a nested directory")
        self.same_everywhere(self.local("several/**"), self.url("several/**"))
        self.fails_everywhere(self.url("*.none"), "E0201", "data/*.none")
        self.fails_everywhere(self.url("none"), "E0201", "data/none: the server answered 404")

    def test_permissions(self):
        self.same_everywhere(self.local("rows.tsv"), self.url("rows.tsv"))
        self.env["HADOOP_USER_NAME"] = "other"
        self.fails_everywhere(self.url("secret.tsv"), "E0202", "the server answered 403", "HADOOP_USER_NAME")

    def test_a_server_that_is_none(self):
        self.nginx = servers.Nginx("server { listen 127.0.0.1:PORT1; return 200 '{\"a\": 1}'; }")
        self.addCleanup(self.nginx.stop)
        self.fails_everywhere(self.nginx.url("data/rows.tsv", "webhdfs"), "E0214", "no status of a file")
