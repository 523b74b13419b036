"""Files of nginx over http and https: certificates, redirects, passwords, and what servers do wrong."""
import os
import re
import shutil

import servers
from remote import HttpTest, RemoteTest


class Http(HttpTest):
    def test_files_in_parts(self):
        for name in ("rows.tsv", "rows.tsv.zst", "rows.tsv.gz"):
            self.same_everywhere(self.local(name), self.nginx.url(name))
        ranges = {re.search("range=(.*)", line)[1] for line in self.nginx.requests("/rows.tsv ")}
        self.assertGreater(len(ranges), 8, "it was not read in parts")
        self.assertFalse([line for line in self.nginx.requests() if " 206 GET " not in line])

    def test_filters(self):
        """Commands read them as those of this machine; each object is asked for once, and changed ones are errors."""
        filters = self.local("filters")
        for words in (("count-keys", self.local("rows.tsv"), "counts"),
                      ("bloom-build", "0.01", self.local("rows.tsv"), "counts", "filters")):
            status, _, err = self.run_glint("submit", "-q", "--partitions", "1", *words)
            self.assertEqual(status, 0, err)
        shutil.copytree(os.path.join(self.directory, "filters"), filters)
        self.addCleanup(shutil.rmtree, filters)
        (part,) = (name for name in os.listdir(filters) if name.startswith("part"))
        here, there = os.path.join(filters, part), self.nginx.url(f"filters/{part}")
        for words in (("info",), ("info", "--json"), ("query", "tt0000007", "other")):
            same = [self.run_glint("filter", words[0], path, *words[1:]) for path in (here, there)]
            self.assertEqual(same[0][0], 0, same[0])
            self.assertEqual(same[0][:2], same[1][:2], same)
        self.assertEqual(self.run_glint("filter", "merge", there, here, "--output", "united")[0], 0)
        self.assertEqual(self.run_glint("filter", "info", "united")[1], self.run_glint("filter", "info", here)[1])
        status, _, err = self.run_glint("submit", "-q", "bloom-build", "--add-to", there, self.local("other.tsv"), "added")
        self.assertEqual(status, 0, err)
        status, _, err = self.run_glint("filter", "info", self.nginx.url("rows.tsv.gz"))
        self.assertEqual((status, "is compressed, as no file of filters is" in err), (65, True), err)
        status, _, err = self.run_glint("filter", "info", self.nginx.url("none"))
        self.assertEqual((status, "E0201" in err), (66, True), err)

    def test_what_is_not_there(self):
        self.fails_everywhere(self.nginx.url("none.tsv"), "E0201", "none.tsv: the server answered 404")
        self.fails_everywhere(self.nginx.url("several/"), "E0202", "the server answered 403")


CERTIFICATES = (("good", ["127.0.0.1", "localhost"], (-1, 30)), ("elsewhere", ["other.example"], (-1, 30)),
                ("expired", ["127.0.0.1"], (-30, -1)), ("future", ["127.0.0.1"], (1, 30)))


class Https(RemoteTest):
    """A server per certificate; `authority` is the file of the authority that signed most of them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        authority = servers.write_certificate(cls.data, "authority", [])
        cls.authority = cls.local(cls, "authority.pem")
        for name, hosts, days in CERTIFICATES:
            servers.write_certificate(cls.data, name, hosts, days, authority)
        servers.write_certificate(cls.data, "self-signed", ["127.0.0.1"])
        cls.names = [name for name, _, _ in CERTIFICATES] + ["self-signed"]
        cls.nginx = servers.Nginx("".join(
            f"server {{ listen 127.0.0.1:PORT{i} ssl; root {cls.data}; ssl_certificate {cls.data}/{name}.pem; "
            f"ssl_certificate_key {cls.data}/{name}.key; location /to-http/ {{ return 302 http://127.0.0.1:PORT6/; }} }}\n"
            for i, name in enumerate(cls.names, 1)) +
            f"server {{ listen 127.0.0.1:PORT6; root {cls.data}; "
            "location /to-https/ { return 302 https://127.0.0.1:PORT1/rows.tsv; } }")
        cls.addClassCleanup(cls.nginx.stop)

    def setUp(self):
        super().setUp()
        self.env["CURL_CA_BUNDLE"] = self.authority

    def url(self, name, path="rows.tsv"):
        return self.nginx.url(path, "https", 1 + self.names.index(name))

    def test_trusted(self):
        self.same_everywhere(self.local("rows.tsv"), self.url("good"))
        self.same_everywhere(self.local("rows.tsv.zst"), self.url("good", "rows.tsv.zst").replace("127.0.0.1", "localhost"))

    def test_trusted_by_the_other_variable(self):
        self.env["SSL_CERT_FILE"] = self.env.pop("CURL_CA_BUNDLE")
        self.same_everywhere(self.local("rows.tsv"), self.url("good"))

    def test_not_trusted(self):
        for name in self.names[1:]:
            self.fails_everywhere(self.url(name), "E0214", "rows.tsv: SSL", "CURL_CA_BUNDLE=FILE")
        for port in self.nginx.ports[1:5]:
            self.assertEqual(self.nginx.requests(f" {port} "), [], "a server without a valid certificate got a request")

    def test_unknown_authority(self):
        del self.env["CURL_CA_BUNDLE"]
        self.fails_everywhere(self.url("good"), "E0214", "SSL certificate problem", "CURL_CA_BUNDLE=FILE")
        self.env["CURL_CA_BUNDLE"] = self.local("none.pem")
        self.fails_everywhere(self.url("good"), "E0214", "none.pem", where=[("--master", "local[3]")])

    def test_authority_of_each_process(self):
        del self.env["CURL_CA_BUNDLE"]
        self.start_executors()
        where = [("--cluster", self.config, "--executors", "2")]
        self.env["CURL_CA_BUNDLE"] = self.authority  # of the driver alone
        self.fails_everywhere(self.url("good"), "E0214", "SSL certificate problem", where=where)

    def test_redirects_between_schemes(self):
        self.same_everywhere(self.local("rows.tsv"), self.nginx.url("to-https/", port=6))
        self.fails_everywhere(self.url("good", "to-http/"), "E0214", "from https to https only")
        self.assertFalse([line for line in self.nginx.requests(f" {self.nginx.ports[5]} ") if "GET / " in line])


class Redirects(RemoteTest):
    """A server with a password redirects to another one."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nginx = servers.Nginx(f"""
            server {{ listen 127.0.0.1:PORT1; root {cls.data}; auth_basic x; auth_basic_user_file DIRECTORY/users;
                location /away/ {{ rewrite ^ /moved last; }}
                location /moved {{ try_files /none @moved; }}
                location @moved {{ return 307 http://127.0.0.2:PORT2/rows.tsv; }}
                location /here/ {{ try_files /none @here; }}
                location @here {{ return 302 /rows.tsv; }}
                location /file/ {{ auth_basic off; return 302 file:///etc/passwd; }}
                location /ftp/ {{ auth_basic off; return 302 ftp://127.0.0.1/rows.tsv; }}
                location /loop/ {{ auth_basic off; return 302 /loop/; }} }}
            server {{ listen 127.0.0.2:PORT2; root {cls.data}; }}""", [("users", "me:{PLAIN}hidden-word\n")])
        cls.addClassCleanup(cls.nginx.stop)

    def setUp(self):
        super().setUp()
        with open(os.path.join(self.directory, ".netrc"), "w", encoding="ascii") as file:
            file.write("machine 127.0.0.1 login me password hidden-word\n")

    def test_password_stays_with_its_host(self):
        said = self.same_everywhere(self.local("rows.tsv"), self.nginx.url("rows.tsv"))
        said += self.same_everywhere(self.local("rows.tsv"), self.nginx.url("here/"))
        said += self.same_everywhere(self.local("rows.tsv"), self.nginx.url("away/"))
        self.assertNotIn("hidden-word", said)
        first, second = (self.nginx.requests(f" {port} ") for port in self.nginx.ports)
        self.assertTrue([line for line in first if " 307 GET " in line and "auth=Basic bWU6aGlkZGVuLXdvcmQ=" in line])
        self.assertTrue(second)
        self.assertEqual([line for line in second if "auth=- " not in line], [])

    def test_wrong_password(self):
        with open(os.path.join(self.directory, ".netrc"), "w", encoding="ascii") as file:
            file.write("machine 127.0.0.1 login me password wrong-word\n")
        said = self.fails_everywhere(self.nginx.url("rows.tsv"), "E0202", "the server answered 401", "~/.netrc")
        self.assertNotIn("wrong-word", said)

    def test_refused(self):
        self.fails_everywhere(self.nginx.url("file/"), "E0214", "file", "to http and https only")
        self.fails_everywhere(self.nginx.url("ftp/"), "E0214", "ftp", "to http and https only")
        self.fails_everywhere(self.nginx.url("loop/"), "E0214", "Maximum (5) redirects")


class Wrong(RemoteTest):
    """nginx in front of a server with faults (servers.Faults)."""

    # In seconds; a job gives up after four times that without a byte. The first request is not repeated after it: on a
    # busy machine nginx and this server need more than 2 s for one.
    variables = {"GLINT_HTTP_TIMEOUT": "4"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.faulty = servers.FaultyServer(cls.data)
        cls.addClassCleanup(cls.faulty.stop)
        cls.nginx = servers.Nginx(f"""server {{ listen 127.0.0.1:PORT1; location / {{
            proxy_pass http://127.0.0.1:{cls.faulty.server_port}; proxy_http_version 1.1; proxy_buffering off;
            proxy_read_timeout 600s; proxy_next_upstream off; }} }}""")
        cls.addClassCleanup(cls.nginx.stop)

    def where(self):
        """Each run begins with the same faults."""
        for place in super().where():
            self.faulty.reset(*self.always)
            yield place
            self.early, self.refused = self.early + self.faulty.early, self.refused + self.faulty.refused

    always, early, refused = (), 0, 0

    def test_passing_faults(self):
        for fault in ("stall", "cut", "long", "short", "more", "none"):
            with self.subTest(fault):
                self.same_everywhere(self.local("rows.tsv"), self.nginx.url(f"{fault}/rows.tsv"))

    def test_lasting_faults(self):
        for fault, code, *words in (("stall", "E0205", " seconds"),
                                    ("other", "E0214", "the server sent other bytes than it was asked for"),
                                    ("grows", "E0204", "its size has changed")):
            with self.subTest(fault):
                self.always = (fault,)
                self.split_size = "1M" if fault == "stall" else "50K"  # one task: each of its attempts waits
                self.fails_everywhere(self.nginx.url(f"{fault}/rows.tsv"), code, *words)

    def test_a_busy_server_is_given_the_time_that_it_asks_for(self):
        self.same_everywhere(self.local("rows.tsv"), self.nginx.url("busy/rows.tsv"))
        self.assertGreaterEqual(self.refused, 6)
        self.assertEqual(self.early, 0)

    def test_a_server_that_is_busy_for_an_hour(self):
        self.always = ("late",)
        self.fails_everywhere(self.nginx.url("late/rows.tsv"), "E0205", "the server answered 503", "3600 s")
