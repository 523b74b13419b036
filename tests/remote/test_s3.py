"""Objects of moto, a store like S3 that checks signatures, behind nginx, which logs what was sent."""
import glob
import os
import re

import boto3
import servers
from botocore.config import Config
from cluster import until
from remote import RemoteTest

POLICY = """{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"""
TRUST = """{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
            "Principal": {"AWS": "*"}}]}"""


def client(endpoint, user="setup", password="setup", name="s3"):
    """S3Proxy knows no checksums of bodies."""
    config = Config(request_checksum_calculation="when_required",
                    response_checksum_validation="when_required", s3={"addressing_style": "path"})
    return boto3.client(name, endpoint_url=endpoint, region_name="eu-north-1", config=config,
                        aws_access_key_id=user, aws_secret_access_key=password)


class Outputs:
    """Tests of outputs in the bucket `rows` of a store."""

    def objects(self, prefix):
        """Of the bucket: their bytes by name."""
        s3 = client(self.endpoint, self.env["AWS_ACCESS_KEY_ID"], self.env["AWS_SECRET_ACCESS_KEY"])
        found = s3.list_objects_v2(Bucket="rows", Prefix=prefix).get("Contents", [])
        self.assertEqual(s3.list_multipart_uploads(Bucket="rows").get("Uploads", []), [])
        return {o["Key"][len(prefix):]: s3.get_object(Bucket="rows", Key=o["Key"])["Body"].read()
                for o in found}

    def save(self, job, source, out, where, *options):
        status, _, err = self.run_glint("submit", "-q", job, *options, *where, source, out)
        self.assertEqual(status, 0, err)

    def test_outputs(self):
        rows = self.local("rows.tsv")
        for job, options in (("count-keys", ("--partitions", "3")),
                             ("sort", ("--partitions", "2", "--compress", "gzip"))):
            self.save(job, rows, "here", ("--master", "local[2]"), *options, "--overwrite")
            here = self.parts_of("here")
            here.pop("_SUCCESS")
            for where in self.where():
                self.save(job, rows, "s3://rows/out", where, *options, "--overwrite")
                there = self.objects("out/")
                self.assertIn(b"glint job", there.pop("_SUCCESS"))
                names = {re.sub("-[0-9a-f]{16}", "", name): name for name in there}
                self.assertEqual({short: there[name] for short, name in names.items()}, here, where)
            status, _, err = self.run_glint("submit", job, rows, "s3://rows/out")
            self.assertIn("E0301", err)
            self.assertEqual(status, 73)

    def test_an_output_of_several_parts_of_an_upload(self):
        with open(self.local("large.tsv"), "wb") as file:
            for number in range(1_500_000):
                file.write(b"tt%08d\t%d.0\n" % (number, number % 10))
        self.save("grep", self.local("large.tsv"), "s3://rows/large", ("--master", "local[1]"),
                  "--split-size", "1G", "tt")
        there = self.objects("large/")
        self.assertEqual(len(there), 2, there.keys())
        with open(self.local("large.tsv"), "rb") as file:
            self.assertTrue(file.read() in there.values())
        os.remove(self.local("large.tsv"))

    def parts_of(self, name):
        found = {}
        for path in glob.glob(os.path.join(self.directory, name, "*")):
            with open(path, "rb") as file:
                found[os.path.basename(path)] = file.read()
        return found


class OutputsOfS3Proxy(Outputs, RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = servers.S3Proxy()
        cls.addClassCleanup(cls.proxy.stop)
        cls.endpoint = f"http://127.0.0.1:{cls.proxy.port}"
        client(cls.endpoint, "AKID", "se+cret/key").create_bucket(Bucket="rows")

    def setUp(self):
        super().setUp()
        self.env.update(AWS_ENDPOINT_URL=self.endpoint, AWS_REGION="eu-north-1",
                        AWS_ACCESS_KEY_ID="AKID", AWS_SECRET_ACCESS_KEY="se+cret/key")


class S3(Outputs, RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.moto = servers.Moto()
        cls.addClassCleanup(cls.moto.stop)
        cls.nginx = servers.Nginx(f"""server {{ listen 127.0.0.1:PORT1; location / {{
            proxy_pass http://127.0.0.1:{cls.moto.port}; proxy_set_header Host $http_host; proxy_read_timeout 60s; }} }}
            server {{ listen 127.0.0.1:PORT2; location / {{ return 302 http://127.0.0.1:PORT1$request_uri; }} }}""")
        cls.addClassCleanup(cls.nginx.stop)
        cls.endpoint = cls.nginx.url("")
        iam, sts, s3 = (boto3.client(name, endpoint_url=f"http://127.0.0.1:{cls.moto.port}", region_name="eu-north-1",
                                     aws_access_key_id="setup", aws_secret_access_key="setup") for name in ("iam", "sts", "s3"))
        iam.create_user(UserName="me")
        iam.put_user_policy(UserName="me", PolicyName="all", PolicyDocument=POLICY)
        cls.key = iam.create_access_key(UserName="me")["AccessKey"]
        role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=TRUST)["Role"]
        iam.put_role_policy(RoleName="reader", PolicyName="all", PolicyDocument=POLICY)
        cls.session = sts.assume_role(RoleArn=role["Arn"], RoleSessionName="test")["Credentials"]
        s3.create_bucket(Bucket="rows", CreateBucketConfiguration={"LocationConstraint": "eu-north-1"})
        for path in glob.glob(f"{cls.data}/**", recursive=True):
            if os.path.isfile(path):
                s3.upload_file(path, "rows", "data/" + os.path.relpath(path, cls.data))
        s3.put_object(Bucket="rows", Key="data/several/_SUCCESS", Body=b"")
        for number in range(1010):  # more than a page of a list
            row = b"tt%d\t1.0\t1\n" % number
            cls.write(f"many/{number}", row)
            s3.put_object(Bucket="rows", Key=f"many/{number}", Body=row)
        cls.moto.check_signatures()

    def setUp(self):
        super().setUp()
        self.env.update(AWS_ENDPOINT_URL=self.endpoint, AWS_REGION="eu-north-1", AWS_ACCESS_KEY_ID=self.key["AccessKeyId"],
                        AWS_SECRET_ACCESS_KEY=self.key["SecretAccessKey"])

    def test_objects(self):
        before = len(self.nginx.requests())
        for name in ("rows.tsv", "rows.tsv.gz", "rows.tsv.zst"):
            self.same_everywhere(self.local(name), f"s3://rows/data/{name}")
        requests = self.nginx.requests()[before:]
        self.assertGreater(len([r for r in requests if "/rows/data/rows.tsv " in r]), 8, "it was not read in parts")
        self.assertFalse([r for r in requests if "auth=- " in r])

    def test_lists(self):
        self.same_everywhere(self.local("several/p*"), "s3://rows/data/several/p*")
        self.same_everywhere(self.local("several/**"), "s3a://rows/data/several/**")
        self.same_everywhere(self.local("several/deep"), "s3://rows/data/several/deep/")
        self.same_everywhere(self.local("*.tsv"), "s3://rows/data/*.tsv")
        self.same_everywhere(self.local("several/deep") + "," + self.local("rows.tsv"),
                             "s3://rows/data/several/deep/a b+c&d=e%20.tsv,s3://rows/data/rows.tsv")
        self.fails_everywhere("s3://rows/data/several", "E0203", "data/several/deep: a nested directory")
        self.fails_everywhere("s3://rows/data/*.none", "E0201", "s3://rows/data/*.none")
        self.fails_everywhere("s3://rows/none", "E0201", "no object has this name")

    def test_a_list_of_several_pages(self):
        self.LOCAL = ("local[3]",)
        self.same_everywhere(self.local("many"), "s3://rows/many/")
        self.assertTrue(self.nginx.requests("continuation-token="))

    def test_credentials_of_a_session(self):
        self.env.update(AWS_ACCESS_KEY_ID=self.session["AccessKeyId"], AWS_SESSION_TOKEN=self.session["SessionToken"],
                        AWS_SECRET_ACCESS_KEY=self.session["SecretAccessKey"])
        said = self.same_everywhere(self.local("rows.tsv"), "s3://rows/data/rows.tsv")
        self.assertNotIn(self.session["SessionToken"], said)
        self.assertTrue(self.nginx.requests(f"token={self.session['SessionToken']}"))

    def test_credentials_of_a_file(self):
        os.mkdir(os.path.join(self.directory, ".aws"))
        for name, text in (("credentials", "[default]\naws_access_key_id = x\naws_secret_access_key = x\n[mine]\n"
                            f"aws_access_key_id = {self.env.pop('AWS_ACCESS_KEY_ID')}\n"
                            f"aws_secret_access_key = {self.env.pop('AWS_SECRET_ACCESS_KEY')}\n"),
                           ("config", "[profile mine]\nregion = eu-north-1\n")):
            with open(os.path.join(self.directory, ".aws", name), "w", encoding="ascii") as file:
                file.write(text)
        del self.env["AWS_REGION"]
        self.env["AWS_PROFILE"] = "mine"
        self.same_everywhere(self.local("rows.tsv"), "s3://rows/data/rows.tsv")
        self.assertTrue(self.nginx.requests(f"Credential={self.key['AccessKeyId']}/"))

    def test_wrong_credentials(self):
        url = "s3://rows/data/rows.tsv"
        hint = "AWS_SECRET_ACCESS_KEY"
        self.env["AWS_SECRET_ACCESS_KEY"] = "wrong-word"
        said = self.fails_everywhere(url, "E0202", "data/rows.tsv: the server answered 403", hint)
        said += self.fails_everywhere("s3://rows/data/several/p*", "E0202", "the server answered 403", hint)
        self.assertNotIn("wrong-word", said)
        for process in self.processes:  # start others
            self.stop(process)
        self.env["AWS_ACCESS_KEY_ID"] = "AKIAUNKNOWN"
        self.fails_everywhere(url, "E0202", "the server answered 403", hint)
        del self.env["AWS_ACCESS_KEY_ID"]
        self.fails_everywhere(url, "E0202", "the server answered 403", hint, where=[("--master", "local[2]")])

    def test_executors_need_credentials_of_their_own(self):
        secret = self.env.pop("AWS_SECRET_ACCESS_KEY")
        self.start_executors()
        self.env["AWS_SECRET_ACCESS_KEY"] = secret  # of the driver alone
        self.fails_everywhere("s3://rows/data/rows.tsv", "E0202", "the server answered 403", "each process needs",
                              where=[("--cluster", self.config, "--executors", "2")])

    def test_requests_are_not_redirected(self):
        self.env["AWS_ENDPOINT_URL"] = self.nginx.url("", port=2)
        before = len(self.nginx.requests(f" {self.nginx.ports[0]} "))
        self.fails_everywhere("s3://rows/data/rows.tsv", "E0214", "the server answered 302")
        self.assertEqual(len(self.nginx.requests(f" {self.nginx.ports[0]} ")), before)

    def test_secrets_are_nowhere(self):
        """In no argument of a process, message, log, or request, while a job runs and after it."""
        token = "token-that-is-secret"
        self.env.update(AWS_SESSION_TOKEN=token)
        self.env["AWS_SECRET_ACCESS_KEY"] = secret = "key-that-is-secret"
        held = servers.HeldServer()
        self.addCleanup(held.stop)
        self.env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{held.port}"
        self.start_executors()
        job = self.submit("job", "count-keys", "--event-log", os.path.join(self.directory, "events"), "s3://rows/data/x", "out")
        until(lambda: held.requests, "a request came")
        arguments = b"".join(open(f"/proc/{pid}/cmdline", "rb").read() for pid in self.all_processes())
        self.assertIn(b"s3://rows/data/x", arguments)  # those of the driver
        held.release()
        job.wait()
        said = arguments.decode() + "".join(p.err + p.out for p in self.processes) + repr(self.status())
        for directory, _, names in os.walk(self.directory):
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    said += file.read().decode(errors="replace")
        self.assertIn("E0202", said)
        for word in (secret, token):
            self.assertNotIn(word, said)
        requests = "".join(held.requests)
        self.assertNotIn(secret, requests)
        self.assertIn(f"x-amz-security-token: {token}", requests.lower())

    def all_processes(self):
        """Those that this test started, and theirs."""
        found = [p.pid for p in self.processes]
        for pid in found:
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
            except OSError:
                continue
        return found
