"""glint.Bloom with NumPy's and Arrow's arrays, which must be installed."""

import array
import unittest

import numpy
import pyarrow
import pyarrow.compute

import glint

# The long one first: pyarrow 21 crashes when it exports views that are all short.
IDS = ["x" * 40, "", "a", "\u00e9"] + [f"tt{i:07d}" for i in range(4996)]
OTHERS = [f"nm{i:07d}" for i in range(5000)]
ASKED = [value for pair in zip(OTHERS, IDS) for value in pair]
EXACT = glint.Bloom(10_000_000, layout="classic")  # so large that nothing is a false positive
EXACT.add_many(IDS)
WANTED = [value in set(IDS) for value in ASKED]

TYPES = [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(),
         pyarrow.large_binary(), pyarrow.binary_view()]


class Arrow(unittest.TestCase):
    def test_equals_single_calls(self):
        single = glint.Bloom(5000)
        for value in IDS:
            single.add(value)
        for kind in TYPES:
            with self.subTest(kind):
                many = glint.Bloom(5000)
                many.add_many(pyarrow.array(IDS).cast(pyarrow.binary()).cast(kind))
                self.assertEqual(many, single)
                hits = EXACT.contains_many(pyarrow.array(ASKED).cast(kind))
                self.assertEqual(hits.tolist(), WANTED)
                self.assertEqual(numpy.asarray(hits).dtype, numpy.bool_)

    def test_slices(self):
        for kind in TYPES:
            whole = pyarrow.array(ASKED).cast(kind)
            for first, count in ((0, 0), (1, 1), (3, 1500), (9000, 1000), (9999, 1), (10000, 0)):
                hits = EXACT.contains_many(whole.slice(first, count))
                self.assertEqual(hits.tolist(), WANTED[first : first + count], (kind, first))

    def test_nulls(self):
        some = [None if i % 3 == 1 else value for i, value in enumerate(IDS)]
        for kind in TYPES:
            array = pyarrow.array(some).cast(kind)
            many, single = glint.Bloom(5000), glint.Bloom(5000)
            many.add_many(array[5:4000])
            single.add_many([value for value in some[5:4000] if value is not None])
            self.assertEqual(many, single)
            self.assertEqual(EXACT.contains_many(array[2:]).tolist(),
                             [value is not None for value in some[2:]])
            none = pyarrow.array(["x" * 40] + [None] * 10, kind)[1:]
            self.assertEqual(EXACT.contains_many(none).tolist(), [False] * 10)

    def test_chunks(self):
        chunks = pyarrow.chunked_array([ASKED[:1], [], ASKED[1:3000], ASKED[3000:]])
        self.assertEqual(EXACT.contains_many(chunks).tolist(), WANTED)
        many = glint.Bloom(10_000)
        many.add_many(chunks[2:])
        self.assertTrue(all(many.contains_many(ASKED[2:])))
        empty = pyarrow.chunked_array([], pyarrow.string())
        self.assertEqual(many.contains_many(empty).tolist(), [])

    def test_fixed_size(self):
        ids = [i.to_bytes(16, "little") for i in range(3000)]
        array = pyarrow.array(ids, pyarrow.binary(16))
        bloom = glint.Bloom(1_000_000)
        bloom.add_many(array[:1000])
        self.assertTrue(all(value in bloom for value in ids[:1000]))
        hits = bloom.contains_many(array[990:2000]).tolist()
        self.assertEqual(hits, [True] * 10 + [False] * 1000)

    def check(self, arrays, ids, wanted):
        """Arrays of the same ids: what they add, and what is found in them."""
        single = glint.Bloom(5000)
        single.add_many([value for value in ids if value is not None])
        exact = glint.Bloom(10_000_000, layout="classic")
        exact.add_many([value for value, known in zip(ids, wanted) if known])
        for array in arrays:
            with self.subTest(type(array)):
                many = glint.Bloom(5000)
                many.add_many(array)
                self.assertEqual(many, single)
                self.assertEqual(list(exact.contains_many(array)), wanted)

    def test_tables_and_encoded_columns(self):
        ids = [value for value in IDS[:700] for _ in range(3)]
        plain = pyarrow.array(ids)
        runs = pyarrow.compute.run_end_encode(plain)
        wanted = [i % 2 == 0 for i in range(700) for _ in range(3)]
        batch = pyarrow.record_batch({"id": plain})
        parts = [runs.slice(first, 500) for first in range(0, 2100, 500)]
        self.check([pyarrow.table({"id": plain}), batch, runs, plain.dictionary_encode(),
                    plain.cast(pyarrow.binary_view()).dictionary_encode(),
                    pyarrow.chunked_array(parts)], ids, wanted)
        tail = pyarrow.record_batch({"id": pyarrow.array(["x", *ids])}).slice(1)
        self.check([tail, pyarrow.array(["x", *ids]).dictionary_encode()[1:]], ids, wanted)

    def test_encoded_nulls(self):
        ids = [None if i % 5 == 2 else value for i, value in enumerate(IDS[:900])]
        wanted = [value is not None and i % 2 == 0 for i, value in enumerate(ids)]
        plain = pyarrow.array(ids)
        self.check([plain.dictionary_encode(), plain.dictionary_encode("encode"),
                    pyarrow.compute.run_end_encode(plain)], ids, wanted)
        nulls = pyarrow.nulls(9)
        self.check([nulls, pyarrow.table({"id": nulls}), nulls.dictionary_encode()], [None] * 9,
                   [False] * 9)

    def test_integers(self):
        numbers = [*range(-50, 900), None, 127]
        wanted = [value is not None and value % 2 == 0 for value in numbers]
        kinds = [pyarrow.int16(), pyarrow.int32(), pyarrow.int64()]
        arrays = [pyarrow.array(["1", *map(str, numbers[:-2]), None, "127"])[1:],
                  *(pyarrow.array([1, *numbers], kind)[1:] for kind in kinds)]
        self.check(arrays, numbers, wanted)
        small = list(range(128))
        for kind in (pyarrow.int8(), pyarrow.uint8(), pyarrow.uint16(), pyarrow.uint32()):
            self.check([pyarrow.array(small, kind)], small, [i % 3 == 0 for i in small])
        large = [(1 << 64) - 1, 0]
        self.check([pyarrow.array(large, pyarrow.uint64())], large, [True, False])

    def test_other_types(self):
        for array, why in ((pyarrow.array([["a"]]), "cast them"), (pyarrow.array([1.5]), "cast"),
                           (pyarrow.array([True]), "cast them"),
                           (pyarrow.table({"id": ["a"], "n": [1]}), "choose one of id, n"),
                           (pyarrow.table({}), "choose one"),
                           (pyarrow.array([1.5]).dictionary_encode(), "cast them")):
            for call in (EXACT.add_many, EXACT.contains_many):
                with self.assertRaisesRegex(TypeError, f"ids are .*{why}"):
                    call(array)

    def test_offsets_outside_the_data(self):
        for offsets in ([0, 3, 1, 2], [0, -1, 2, 2], [-2, 0, 1, 2]):
            changed = numpy.array([0, 1, 2, 2], numpy.int32)
            buffers = [None, pyarrow.py_buffer(changed), pyarrow.py_buffer(b"abcdef")]
            array = pyarrow.Array.from_buffers(pyarrow.string(), 3, buffers)
            self.assertEqual(len(EXACT.contains_many(array)), 3)
            changed[:] = offsets
            with self.assertRaises(glint.Error) as raised:
                EXACT.contains_many(array)
            self.assertEqual(raised.exception.code, "E0104")

    def test_no_copy(self):
        """The library sees the addresses of Arrow's own buffers."""
        from glint._columns import columns
        from glint._library import ffi

        array = pyarrow.array(IDS)
        column = next(columns(array))
        self.assertEqual(int(ffi.cast("uintptr_t", column.c.data)), array.buffers()[2].address)
        self.assertEqual(int(ffi.cast("uintptr_t", column.c.offsets)), array.buffers()[1].address)
        names = numpy.array(OTHERS, "S")
        column = next(columns(names))
        self.assertEqual(int(ffi.cast("uintptr_t", column.c.data)), names.ctypes.data)


class Numpy(unittest.TestCase):
    def test_equals_single_calls(self):
        encoded = [value.encode() for value in ASKED]
        for array in (numpy.array(encoded, "S"), numpy.array(encoded, "S60"), numpy.array(ASKED),
                      numpy.array(ASKED, object), numpy.array(encoded, "S")[::-1][::-1]):
            with self.subTest(array.dtype):
                hits = EXACT.contains_many(array)
                self.assertIsInstance(hits, numpy.ndarray)
                self.assertEqual(hits.dtype, numpy.bool_)
                self.assertEqual(hits.tolist(), WANTED)
                many, single = glint.Bloom(10_000), glint.Bloom(10_000)
                many.add_many(array)
                single.add_many(ASKED)
                self.assertEqual(many, single)

    def test_parts_and_steps(self):
        array = numpy.array([value.encode() for value in ASKED], "S")
        self.assertEqual(EXACT.contains_many(array[7:]).tolist(), WANTED[7:])
        self.assertEqual(EXACT.contains_many(array[::3]).tolist(), WANTED[::3])
        self.assertEqual(EXACT.contains_many(array[:0]).tolist(), [])
        self.assertEqual(EXACT.contains_many(numpy.array([b"", b""])).tolist(), [True, True])

    def test_integers(self):
        wanted = [i % 3 == 0 for i in range(1000)]
        known = glint.Bloom(10_000_000, layout="classic")
        known.add_many(range(0, 1000, 3))
        numbers = list(range(1000))
        for kind in ("i2", "u4", "i8", ">i4", "u8"):
            self.assertEqual(known.contains_many(numpy.array(numbers, kind)).tolist(), wanted)
        for ids in (numbers, [numpy.int32(i) for i in numbers], array.array("i", numbers),
                    memoryview(array.array("q", numbers)), [str(i) for i in numbers]):
            self.assertEqual(known.contains_many(ids), wanted)
        self.assertIn(numpy.int64(3), known)
        many = numpy.arange(200_000)
        known.add_many(many)
        self.assertTrue(known.contains_many(many[::2]).all())
        self.assertEqual(known.contains_many(numpy.array([], "i4")).tolist(), [])

    def test_nulls(self):
        ids = [*IDS[:50], None, *IDS[50:70]]
        wanted = [value is not None for value in ids]
        kinds = numpy.dtypes.StringDType
        arrays = [numpy.array(ids, object), numpy.array(ids, kinds(na_object=None)),
                  numpy.array([value or numpy.nan for value in ids if value != ""], object),
                  numpy.ma.array([value or "" for value in ids], mask=[not w for w in wanted])]
        for some in arrays:
            with self.subTest(some.dtype):
                self.assertEqual(EXACT.contains_many(some).tolist(),
                                 wanted if len(some) == len(ids) else wanted[1:])
        numbers = numpy.ma.array([1, 2, 3], mask=[False, True, False])
        few = glint.Bloom(10_000_000, layout="classic")
        few.add_many(numbers)
        self.assertEqual(few.contains_many([1, 2, 3]), [True, False, True])

    def test_bytes_of_numbers(self):
        """dtype S cuts zeros at the end, V does not."""
        numbers = numpy.arange(1000, dtype="<i8")
        known = glint.Bloom(10_000_000, layout="classic")
        with self.assertRaisesRegex(TypeError, "dtype V"):
            known.add_many(numbers.view("S8"))
        known.add_many(numbers.view("V8"))
        self.assertTrue(all(known.contains_many([int(i).to_bytes(8, "little") for i in numbers])))
        self.assertTrue(known.contains_many(numbers[::2].copy().view("V8")).all())

    def test_other_types(self):
        for some in (numpy.array([1.5]), numpy.array([True]), numpy.array([["a"]]),
                      numpy.array([[b"a"]]), numpy.array(b"a"), numpy.array([1.5, "a"], object),
                      numpy.array(["2020-01-01"], "M8[D]"), numpy.array([(1, 2)], "i4,i4")):
            for call in (EXACT.add_many, EXACT.contains_many):
                with self.assertRaises(TypeError):
                    call(some)


class Rows(unittest.TestCase):
    def test_integers_of_numpy(self):
        with glint.Context("local[1]") as sc:
            self.assertEqual(sc.parallelize(numpy.arange(3)).collect(), [0, 1, 2])
            pairs = sc.parallelize([("a", numpy.int8(-1)), ("b", 2)])
            self.assertEqual(pairs.collect(), [("a", -1), ("b", 2)])
            self.assertEqual(repr(pairs), "<glint.RDD of (text, i64), of <glint.Context active>>")
            for wrong in (numpy.uint64(1 << 63), numpy.bool_(True), True):
                with self.assertRaises((OverflowError, TypeError)):
                    sc.parallelize([wrong])
