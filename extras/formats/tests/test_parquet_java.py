"""Bloom filters inside Parquet files of parquet-java, with java 17 or later and jars of Maven
Central; for `tests/run --full`."""

import hashlib
import os
import subprocess
import unittest
import urllib.request

from test_filters import COLUMNS, FilterFiles

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(HERE, "..", "..", "..", "build", "parity")
MAVEN = "https://repo1.maven.org/maven2/org/"
PARQUET = "apache/parquet/parquet-%s/1.15.2/parquet-%s-1.15.2.jar"
DIGESTS = {
    "856e759164450d1373e98f761968bd19a6a26899c2f93720770501a1b0e59e4c": "column",
    "a1e57537661f18f259d342a93123db10b5796e30a0585d0652af987ea7c33596": "common",
    "da2b2df9749cce2eee3205a6f4ec07612f985d51aebbd8f5861d8ec344824dc1": "encoding",
    "417175f24f18e50f82873d604f36532c6b1c924611c4357dff5851c631d87a45": "format-structures",
    "a9015cbd8548a43bed459d1ee5cbc2748110f1cf484fdab785e5171e515d810f": "hadoop",
    "0df26fcc7958e155da758676cdcc1028702d1876e62e4f87c406cee42cffcfe4": "jackson",
}
JARS = {PARQUET % (name, name): digest for digest, name in DIGESTS.items()} | {
    "apache/hadoop/hadoop-client-api/3.3.4/hadoop-client-api-3.3.4.jar":
        "e513d71b78086b5caaa439f4402b43e20df01446d56b66084ad419452878701c",
    "slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar":
        "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
}


def jar(path):
    """The jar of Maven Central with its digest; tests/parity/formats keeps its own beside it."""
    file = os.path.join(KEPT, os.path.basename(path))
    if not os.path.exists(file):
        os.makedirs(KEPT, exist_ok=True)
        with urllib.request.urlopen(MAVEN + path, timeout=60) as answer, \
                open(file + ".part", "wb") as out:
            out.write(answer.read())
        os.rename(file + ".part", file)
    with open(file, "rb") as data:
        if hashlib.sha256(data.read()).hexdigest() != JARS[path]:
            raise OSError(f"{file}: another file than expected; remove it")
    return file


class ParquetJava(FilterFiles):
    def check_file(self, kind):
        file = self.path("java.parquet")
        program = os.path.join(HERE, "ParquetFilters.java")
        subprocess.run(["java", "-cp", ":".join(map(jar, JARS)), program, file, kind],
                       check=True, stderr=subprocess.DEVNULL, timeout=120)
        for name in COLUMNS:
            with self.subTest(name=name):
                self.check_column(file, name, True)
                self.check_same_bits(file, name)

    def test_of_a_size_that_is_given(self):
        self.check_file("fixed")

    def test_of_a_size_that_follows_from_the_values(self):
        self.check_file("adaptive")


if __name__ == "__main__":
    unittest.main()
