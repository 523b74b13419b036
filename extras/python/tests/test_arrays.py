"""glint.Bloom with NumPy's and Arrow's arrays, which must be installed."""

import unittest

import numpy
import pyarrow

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

    def test_other_types(self):
        for array in (pyarrow.array([1, 2]), pyarrow.array(["a"]).dictionary_encode(),
                      pyarrow.array([["a"]]), pyarrow.table({"id": ["a"]}), pyarrow.array([None])):
            for call in (EXACT.add_many, EXACT.contains_many):
                with self.assertRaisesRegex(TypeError, "ids are "):
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

    def test_other_types(self):
        for array in (numpy.arange(3), numpy.array([["a"]]), numpy.array([[b"a"]]),
                      numpy.array(b"a"), numpy.array([1, "a"], object)):
            for call in (EXACT.add_many, EXACT.contains_many):
                with self.assertRaises(TypeError):
                    call(array)
