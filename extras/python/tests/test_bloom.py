"""glint.Bloom with nothing installed but the wheel."""

import array
import contextlib
import copy
import datetime
import decimal
import gc
import itertools
import os
import pathlib
import pickle
import signal
import subprocess
import tempfile
import threading
import unittest
import uuid
import warnings

import glint

IDS = [f"tt{i:07d}" for i in range(20_000)]
OTHERS = [f"nm{i:07d}" for i in range(20_000)]


def filled(**options):
    bloom = glint.Bloom(len(IDS), **options)
    bloom.add_many(IDS)
    return bloom


class FiltersByKey(unittest.TestCase):
    """Filters by key, the intersection of two, and what `glint filter` says of their files."""

    def glint(self, *words):
        done = subprocess.run([glint.program(), "filter", *words], capture_output=True, text=True,
                              check=True)
        return done.stdout

    def test_two_filters_of_a_key(self):
        with tempfile.TemporaryDirectory() as where:
            for part in ("part-00000", "part-00001"):
                glint.save_filters(os.path.join(where, part), {"fr": glint.Bloom(10)})
            with self.assertRaises(glint.Error) as failed:
                glint.load_filters(where)
            self.assertEqual(failed.exception.code, "E0804")

    def test_intersection_of_a_full_filter(self):
        full, empty = glint.Bloom(100), glint.Bloom(100)
        full.add_many([str(i) for i in range(20_000)])
        self.assertEqual(full.intersection_ids(empty), 0)
        self.assertEqual(full.intersection_ids(full), full.estimated_ids())

    def test_intersection(self):
        a, b = glint.Bloom(20_000, 0.001), glint.Bloom(20_000, 0.001)
        a.add_many(IDS[:12_000])
        b.add_many(IDS[8_000:])
        both = a & b
        self.assertTrue(all(both.contains_many(IDS[8_000:12_000])))
        self.assertLess(sum(both.contains_many(OTHERS)), 50)
        self.assertLess(sum(both.contains_many(IDS[:8_000])), 50)
        self.assertAlmostEqual(a.intersection_ids(b), 4_000, delta=200)
        self.assertAlmostEqual(a.intersection_ids(a), 12_000, delta=200)
        kept = a.copy()
        kept &= b
        self.assertEqual(kept, both)
        self.assertEqual(a & a, a)
        with self.assertRaises(glint.Error) as failed:
            a & glint.Bloom(5)
        self.assertEqual(failed.exception.code, "E0804")
        self.assertRaises(TypeError, lambda: a & 5)

    def test_saved_set(self):
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "set.bloom")
            for keys in (["fr", "de", "\u00e9"], [5, -7, 2**63 - 1], [0.5, 1e300], [None]):
                filters = {}
                for i, key in enumerate(keys):
                    filters[key] = glint.Bloom(100)
                    filters[key].add(f"id{i}")
                glint.save_filters(path, filters)
                self.assertEqual(glint.load_filters(path), filters)
                found = self.glint("query", path, "id0").rstrip("\n").split("\t")[1].split(",")
                name = "set" if keys == [None] else str(keys[0])
                self.assertIn(name.replace("\u00e9", "%"), found)
                self.assertEqual(len(self.glint("info", path).splitlines()), len(keys) + 1)
            self.assertRaises(ValueError, glint.save_filters, path, {2**63: filters[None]})
            one = filters[None]
            self.assertRaises(glint.Error, glint.save_filters, path, {None: one, "a": one})

    def test_export(self):
        with tempfile.TemporaryDirectory() as where:
            filters = {}
            for key in ("fr", "de"):
                filters[key] = glint.Bloom(1000, layout="classic", scheme="spark-bloom-v2")
                filters[key].add_many(IDS[:1000])
            files = os.path.join(where, "files")
            glint.export_filters(files, filters, "spark-v2")
            self.assertEqual(sorted(os.listdir(files)), ["de.spark-v2", "fr.spark-v2"])
            again = os.path.join(where, "again")
            self.glint("import", "--output", again, "--n", "1000", files)
            self.assertEqual(glint.load_filters(again), filters)
            with self.assertRaises(glint.Error) as failed:
                glint.export_filters(files, filters, "spark-v2")
            self.assertEqual(failed.exception.code, "E0301")
            with self.assertRaises(glint.Error) as failed:
                glint.export_filters(os.path.join(where, "other"), filters, "guava")
            self.assertEqual(failed.exception.code, "E0804")


class TypedIds(unittest.TestCase):
    VALUES = {
        "i32": ([0, -1, 2**31 - 1], 5, [2**31, -(2**31) - 1]),
        "i64": ([0, -1, 1234567890123], 5, [2**63]),
        "u64": ([0, 2**64 - 1], 5, [-1, 2**64]),
        "f64": ([0.0, -0.5, 1e300], 5.5, []),
        "date": ([datetime.date(1970, 1, 1), datetime.date(1, 1, 1)],
                 datetime.date(2026, 11, 29), []),
        "timestamp": ([datetime.datetime(2026, 11, 29, 16, 0, 0, 1)],
                      datetime.datetime(2026, 11, 29, 16), []),
        "uuid": ([uuid.UUID(int=5)], uuid.UUID(int=6), []),
        "decimal(9,2)": ([decimal.Decimal("1.5"), 7], decimal.Decimal("1.51"),
                         [decimal.Decimal("1.505"), 10**7]),
        "bytes": ([b"a", b""], b"b", []),
    }

    def test_values(self):
        for kind, (values, other, wrong) in self.VALUES.items():
            with self.subTest(kind=kind):
                bloom = glint.Bloom(1000, 1e-4, id_type=kind)
                self.assertEqual(bloom.id_type, kind)
                bloom.add(values[0])
                bloom.add_many(values[1:])
                hits = bloom.contains_many([*values, other])
                self.assertEqual(hits, [True] * len(values) + [False])
                self.assertTrue(all(value in bloom for value in values))
                self.assertNotIn(other, bloom)
                for value in wrong:
                    self.assertRaises(ValueError, bloom.add, value)
                for value in ("5", None, True):
                    self.assertRaises(TypeError, bloom.add, value)

    def test_files_keep_the_type(self):
        bloom = glint.Bloom(10, scheme="spark-bloom-v2", layout="classic", id_type="i64")
        bloom.add_many([5, -7])
        again = pickle.loads(pickle.dumps(bloom))
        self.assertEqual((again.id_type, again), ("i64", bloom))
        self.assertIn(-7, again)
        self.assertIn("i64", repr(again))
        self.assertRaises(glint.Error, lambda: again | glint.Bloom(10, scheme="spark-bloom-v2",
                                                                   layout="classic"))

    def test_types_without_a_rule(self):
        for options in ({"id_type": "i16"},
                        {"id_type": "f64", "scheme": "guava", "layout": "classic"}):
            with self.assertRaises(glint.Error) as caught:
                glint.Bloom(10, **options)
            self.assertEqual(caught.exception.code, "E0104")

    def test_bits_of_guava(self):
        """The bits of BloomFilter.create(Funnels.longFunnel(), 3, 0.01), Guava 33.4.8."""
        bloom = glint.Bloom(3, scheme="guava", layout="classic", id_type="i64")
        bloom.add_many([0, -1, 1234567890123])
        self.assertEqual(bloom.to_bytes()[-8:][::-1].hex(), "02a88024615a2803")


class Ids(unittest.TestCase):
    def test_add_and_in(self):
        bloom = glint.Bloom(100)
        self.assertNotIn("a", bloom)
        for value in ("a", b"b", bytearray(b"c"), memoryview(b"d"), "", "\u00e9\U0001f600"):
            bloom.add(value)
            self.assertIn(value, bloom)
        for value in (b"a", "b", "c", "d", b"", "\u00e9\U0001f600".encode()):
            self.assertIn(value, bloom)
        self.assertNotIn("e", bloom)
        self.assertNotIn(b"a\0", bloom)

    def test_remove(self):
        bloom, other = (glint.Bloom(1000, layout="counting") for _ in range(2))
        bloom.add_many(f"a{i}" for i in range(500))
        other.add_many(f"b{i}" for i in range(500))
        both = bloom | other
        for i in range(500):
            both.remove(f"b{i}")
        self.assertEqual(both, bloom)
        self.assertIn("a7", both & bloom)
        absent = next(i for i in range(10**6) if f"c{i}" not in both)
        with self.assertRaises(KeyError):
            both.remove(f"c{absent}")
        both.add("a7")
        both.remove("a7")
        self.assertIn("a7", both)
        for _ in range(20):
            both.add("full")
        for _ in range(30):
            both.remove("full")
        self.assertIn("full", both)
        for layout in ("classic", "block512", "split-block"):
            with self.assertRaises(glint.Error) as raised:
                glint.Bloom(10, layout=layout).remove("a")
            self.assertEqual(raised.exception.code, "E0804")

    def test_no_id_is_lost_and_the_rate_is_as_promised(self):
        for layout, p in itertools.product(("classic", "block512", "split-block"), (0.1, 0.01)):
            with self.subTest(layout=layout, p=p):
                bloom = filled(p=p, layout=layout)
                self.assertTrue(all(bloom.contains_many(IDS)))
                hits = sum(bloom.contains_many(OTHERS))
                self.assertLess(hits, 1.3 * p * len(OTHERS))
                self.assertGreater(hits, 0.7 * p * len(OTHERS))
                self.assertAlmostEqual(bloom.p, p, delta=0.1 * p)
                self.assertAlmostEqual(bloom.rate(), p, delta=0.2 * p)
                self.assertAlmostEqual(bloom.estimated_ids(), len(IDS), delta=0.02 * len(IDS))

    def test_many_equals_one_by_one(self):
        mixed = ["", "a", b"b", bytearray(b"c"), "\u00fc" * 40, "x" * 5000, *IDS[:3000]]
        many, single = glint.Bloom(4000), glint.Bloom(4000)
        many.add_many(mixed)
        for value in mixed:
            single.add(value)
        self.assertEqual(many, single)
        asked = mixed + OTHERS
        self.assertEqual(many.contains_many(asked), [value in many for value in asked])

    def test_ids_with_nul(self):
        for ids in (["a\0b", "c"], ["a", "b\0"], ["\0"], ["\0", "", "\0\0"], [b"\0", "x"],
                    ["", ""]):
            bloom, single = glint.Bloom(10), glint.Bloom(10)
            bloom.add_many(ids)
            for value in ids:
                single.add(value)
            self.assertEqual(bloom, single)
            self.assertEqual(bloom.contains_many(ids), [True] * len(ids))

    def test_text_that_is_not_ascii(self):
        ids = [f"\u043a\u043b\u044e\u0447-{i}" for i in range(1000)]
        bloom = glint.Bloom(1000)
        bloom.add_many(ids)
        self.assertTrue(all(value in bloom for value in ids))
        self.assertTrue(all(bloom.contains_many([value.encode() for value in ids])))

    def test_any_iterable(self):
        bloom = glint.Bloom(200_000)
        many = [str(i) for i in range(150_000)]
        bloom.add_many(iter(many))
        self.assertEqual(bloom.contains_many(value for value in many), [True] * len(many))
        self.assertEqual(bloom.contains_many(tuple(many[:3])), [True] * 3)
        self.assertEqual(bloom.contains_many(dict.fromkeys(many[:3])), [True] * 3)
        for none in ([], (), iter([]), set()):
            bloom.add_many(none)
            self.assertEqual(bloom.contains_many(none), [])

    def test_integers(self):
        """An integer is its decimal text, of any size."""
        numbers = [0, -1, 5, 1 << 64, -(10**30)]
        one, many = glint.Bloom(100), glint.Bloom(100)
        for number in numbers:
            one.add(number)
        many.add_many(numbers)
        self.assertEqual(one, many)
        self.assertIn("5", one)
        self.assertNotIn("05", one)
        self.assertEqual(many.contains_many(iter(["0", b"-1", 5, 6])), [True, True, True, False])
        self.assertEqual(many.contains_many(range(-2, 1)), [False, True, True])
        self.assertEqual(many.contains_many(array.array("b", [5, 6])), [True, False])

    def test_types_that_are_no_ids(self):
        bloom = glint.Bloom(10)
        for value in (None, True, 1.5, ["a"], object()):
            for call in (bloom.add, bloom.__contains__):
                with self.assertRaisesRegex(TypeError, "an id is str, bytes or int, not"):
                    call(value)
        for ids in ("abc", b"abc", 5, None, [1.5], ["a", None], [b"a", 2.5], {"a": 1, None: 1}):
            for call in (bloom.add_many, bloom.contains_many):
                with self.assertRaisesRegex(TypeError, "str, bytes or int, not"):
                    call(ids)
        with self.assertRaisesRegex(TypeError, "byte strings"):
            bloom.add_many(memoryview(b"abc"))
        with self.assertRaises(UnicodeEncodeError):
            bloom.add("\ud800")
        bloom.add_many(["still", "works"])
        self.assertIn("works", bloom)


class Parameters(unittest.TestCase):
    def test_defaults(self):
        bloom = glint.Bloom(1000)
        self.assertEqual((bloom.n, bloom.k), (1000, 8))
        self.assertEqual((bloom.layout, bloom.scheme), ("split-block", "xxh64"))
        self.assertEqual((bloom.bits_set(), bloom.read_only), (0, False))
        self.assertIn("split-block", repr(bloom))
        self.assertEqual(glint.Bloom(1000, layout="classic").scheme, "wide")

    def test_bits_per_id(self):
        bloom = glint.Bloom(1000, bits_per_id=16, layout="classic", scheme="spark")
        self.assertEqual((bloom.m, bloom.scheme), (16_000, "spark"))

    def test_absurd_ones(self):
        wrong = [
            dict(n=0), dict(n=-1), dict(n=1 << 64), dict(n=1 << 62),
            dict(n=10, p=0), dict(n=10, p=1), dict(n=10, p=-0.5), dict(n=10, p=float("nan")),
            dict(n=10, p=1e-300),
            dict(n=10, bits_per_id=0), dict(n=10, layout="square"), dict(n=10, scheme="md6"),
            dict(n=10, layout="classic", scheme="xxh64"),
        ]
        for options in wrong:
            with self.subTest(**options), self.assertRaises(glint.Error) as raised:
                glint.Bloom(**options)
            self.assertEqual(raised.exception.code, "E0805")
            self.assertEqual(raised.exception.exit_status, 64)
        for options in (dict(n="10"), dict(n=1.5), dict(n=10, p="0.1")):
            with self.subTest(**options), self.assertRaises(TypeError):
                glint.Bloom(**options)

    def test_more_memory_than_there_is(self):
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, before[1]))
        try:
            with self.assertRaises(glint.Error) as raised:
                glint.Bloom(2_000_000_000, 0.01)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        self.assertEqual(raised.exception.code, "E0501")


class Sets(unittest.TestCase):
    def test_union(self):
        a, b = glint.Bloom(1000), glint.Bloom(1000)
        a.add("a")
        b.add("b")
        both = a | b
        self.assertTrue("a" in both and "b" in both and "b" not in a and "a" not in b)
        self.assertEqual(a.union(b), both)
        a |= b
        self.assertEqual(a, both)

    def test_union_of_others(self):
        a = glint.Bloom(1000)
        for other in (glint.Bloom(5000), glint.Bloom(1000, layout="block512")):
            with self.assertRaises(glint.Error) as raised:
                a | other
            self.assertEqual(raised.exception.code, "E0804")
            self.assertIn("m=", str(raised.exception))
        with self.assertRaises(TypeError):
            a | {"a"}
        with self.assertRaises(TypeError):
            a |= {"a"}

    def test_copies(self):
        bloom = filled()
        for other in (bloom.copy(), copy.copy(bloom), pickle.loads(pickle.dumps(bloom)),
                      glint.Bloom.from_bytes(bloom.to_bytes())):
            self.assertEqual(other, bloom)
            other.clear()
            self.assertNotEqual(other, bloom)
            self.assertEqual(other.bits_set(), 0)
        self.assertIn(IDS[0], bloom)
        self.assertNotEqual(bloom, "bloom")
        with self.assertRaises(TypeError):
            hash(bloom)


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / "filter"

    def test_save_load_mmap(self):
        for layout in ("classic", "block512", "split-block"):
            bloom = filled(layout=layout)
            bloom.save(self.path)
            loaded = glint.Bloom.load(str(self.path))
            mapped = glint.Bloom.mmap(os.fsencode(self.path))
            self.assertTrue(loaded == bloom == mapped)
            self.assertEqual((loaded.read_only, mapped.read_only), (False, True))
            self.assertEqual(mapped.contains_many(IDS + OTHERS), bloom.contains_many(IDS + OTHERS))
            loaded.add("more")
            for change in (lambda: mapped.add("a"), lambda: mapped.add_many(["a"]), mapped.clear,
                           lambda: mapped.__ior__(bloom)):
                with self.assertRaisesRegex(ValueError, "read-only"):
                    change()
            writable = mapped | bloom
            writable.add("more")
            self.assertNotIn("more", mapped)

    def test_a_mapping_outlives_its_file_and_variable(self):
        filled().save(self.path)
        mapped = glint.Bloom.mmap(self.path)
        self.path.unlink()
        gc.collect()
        self.assertTrue(all(mapped.contains_many(IDS)))

    def test_damaged_files(self):
        data = filled().to_bytes()
        middle = len(data) // 2
        wrong = [b"", b"x", data[:-1], data + b"x", data[:20], b"\xc1" + data[1:],
                 data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]]
        for number, damaged in enumerate(wrong):
            self.path.write_bytes(damaged)
            for read in (glint.Bloom.load, glint.Bloom.mmap):
                with self.subTest(number), self.assertRaises(glint.Error) as raised:
                    read(self.path)
                self.assertEqual(raised.exception.code, "E0803")
                self.assertIn(str(self.path), raised.exception.cause)
            with self.subTest(number), self.assertRaises(glint.Error):
                glint.Bloom.from_bytes(damaged)
        self.path.write_bytes(data)
        self.assertEqual(glint.Bloom.load(self.path), filled())

    def test_paths_that_cannot_be_used(self):
        missing = self.path / "x"
        for read in (glint.Bloom.load, glint.Bloom.mmap, glint.load_filters):
            with self.assertRaises(glint.Error) as raised:
                read(missing)
            self.assertEqual((raised.exception.code, raised.exception.name),
                             ("E0201", "INPUT_NOT_FOUND"))
        with self.assertRaises(glint.Error) as raised:
            glint.Bloom(10).save(missing)
        self.assertEqual(raised.exception.code, "E0302")
        self.assertIn("No such file or directory", str(raised.exception))
        self.assertEqual(list(self.path.parent.iterdir()), [])


class Lifetime(unittest.TestCase):
    def test_closed(self):
        bloom = glint.Bloom(10)
        with bloom:
            bloom.add("a")
        bloom.close()
        for use in (lambda: bloom.add("a"), lambda: "a" in bloom, bloom.to_bytes, bloom.rate,
                    lambda: bloom.contains_many(["a"]), lambda: bloom | bloom, bloom.copy,
                    lambda: bloom.save("/nowhere/x")):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()
        self.assertEqual(bloom.n, 10)

    def test_memory_is_given_back(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def churn(times):
            for _ in range(times):
                bloom = glint.Bloom(1_000_000)
                bloom.add_many(IDS)
                bloom.copy().contains_many(IDS)

        churn(5)
        before = resident()
        churn(50)
        self.assertLess(resident() - before, 20 << 20)

    def test_writers_and_readers_at_once(self):
        bloom = glint.Bloom(80_000)
        lost = []

        def work(number):
            own = [f"{number}-{i}" for i in range(10_000)]
            for first in range(0, len(own), 100):
                part = own[first : first + 100]
                bloom.add_many(part[1:])
                bloom.add(part[0])
                if not all(bloom.contains_many(part)):
                    lost.append(part)
            if not all(bloom.contains_many(own)):
                lost.append(own)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(lost, [])

    def test_fork_while_a_thread_adds(self):
        """The child has no thread that would release the filter's lock."""
        bloom = glint.Bloom(100)
        with bloom._writing, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fork with threads
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                bloom.add("a")
                bloom.add_many(["b"])
                os._exit(7 if "a" in bloom and "b" in bloom.copy() else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertNotIn("a", bloom)

    def test_close_during_a_query(self):
        for _ in range(20):
            bloom = glint.Bloom(2_000_000)
            bloom.add_many(IDS)
            results = []
            began = threading.Event()

            def query(bloom=bloom, results=results, began=began):
                with contextlib.suppress(ValueError):  # it began after close
                    while True:
                        results.append(bloom.contains_many(IDS))
                        began.set()

            thread = threading.Thread(target=query)
            thread.start()
            self.assertTrue(began.wait(300))
            bloom.close()
            thread.join()
            self.assertTrue(all(map(all, results)))
