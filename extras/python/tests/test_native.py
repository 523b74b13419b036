"""What workers compute in C (native/), beside the same in Python."""

import collections
import decimal
import fractions
import itertools
import operator
import pathlib
import random
import unittest
from unittest import mock

from glint import _functions, _shuffle

Point = collections.namedtuple("Point", "x y")
NAN = float("nan")
PLAIN = [None, True, False, 0, 1, 1.0, 0.0, -0.0, 2, 127, 128, -128, -129, 2**31, -(2**31) - 1,
         2**63 - 1, -(2**63), 2.0**53, 2**53 + 1, -(2.0**63), 2.0**63, 1e300, float("inf"), "",
         "a", "1", "é", "a\0b", "x" * 255, "x" * 256, b"", b"a", b"1", b"y" * 300, (), (1,),
         (True,), (1.0, "a"), (1, "a"), ((), (None, (2.5,))), ("a", "b"), "b" * 512, -1, -2, (-1,),
         (-2,)]
FOREIGN = [2**63, -(2**63) - 1, 10**30, NAN, float("nan"), decimal.Decimal(1),
           fractions.Fraction(1, 2), complex(1, 0), Point(1, "a"), (Point(1, 2), 3),
           frozenset([1]), "\ud800", "z" * 513, (NAN,), tuple(range(65)), (2**70,),
           ("w" * 500,) * 20, 2.0**70, 2**70]
NUMBERS = [0, 1, -1, True, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**64, 0.5, -0.0, 1e300, 1e-300,
           NAN, float("inf"), decimal.Decimal(2), 3]
FUNCTIONS = [operator.add, lambda a, b: a + b, max, lambda a, b: (a, b), lambda a, b: b,
             lambda a, b: None]


def described(pairs):
    """With types and signs, which == does not compare."""
    return [(repr(key), repr(value)) for key, value in pairs]


def reduced(pairs, merge, partitions, hash_of=None):
    """Both halves of reduceByKey: the result and the places of blocks, or the exception."""
    place = _shuffle.HashPlace(hash_of or _shuffle.portable_hash, partitions)
    try:
        records = [list(_shuffle.scatter_combined(iter(part), place, _shuffle.same, merge))
                   for part in pairs]
        found = sorted(itertools.chain.from_iterable(records), key=lambda record: record[0])
        buckets = ((_shuffle.load_block(block) for _, block in some)
                   for _, some in itertools.groupby(found, key=lambda record: record[0]))
        return (described(_shuffle.gather_combined(buckets, merge)),
                [record[0] for record in found])
    except Exception as error:
        return type(error), str(error)


def in_python(function, *arguments):
    with mock.patch.object(_functions, "native", None):
        return function(*arguments)


@unittest.skipIf(_functions.native is None, "the wheel was built without Python's headers")
class Native(unittest.TestCase):
    def test_random_reductions(self):
        for seed in range(600):
            rand = random.Random(seed)
            keys = rand.sample(PLAIN, rand.randint(1, 20))
            if seed % 3 == 0:
                keys += rand.sample(FOREIGN, rand.randint(1, 4))
            values = NUMBERS if seed % 4 else [*NUMBERS, "a", [1], None, (1, 2), b"b" * 600]
            pairs = [[(rand.choice(keys), rand.choice(values)) for _ in range(rand.randint(0, 80))]
                     for _ in range(rand.randint(1, 3))]
            merge = rand.choice(FUNCTIONS)
            hash_of = rand.choice([None, None, lambda key: len(repr(key))])
            partitions = rand.randint(1, 4)
            with mock.patch.object(_shuffle, "KEYS_MAX", rand.choice([1, 3, 1 << 18])), \
                    mock.patch.object(_shuffle, "VALUES_MAX", rand.choice([7, 1 << 20])):
                one = reduced(pairs, merge, partitions, hash_of)
                other = in_python(reduced, pairs, merge, partitions, hash_of)
            self.assertEqual(one, other, f"seed {seed}")

    def test_all_pairs_of_keys(self):
        for a, b in itertools.product(PLAIN + FOREIGN, repeat=2):
            pairs = [[(a, 1), (b, 2)]]
            self.assertEqual(reduced(pairs, operator.add, 3),
                             in_python(reduced, pairs, operator.add, 3), (a, b))

    def test_sums_become_large(self):
        pairs = [[("a", 2**63 - 1), ("a", 1), ("a", -(2**64)), ("b", 1), ("b", 0.5), ("c", True),
                  ("c", True), ("d", 2**53), ("d", 1), ("d", 1.0)]] * 3
        self.assertEqual(reduced(pairs, operator.add, 1)[0],
                         in_python(reduced, pairs, operator.add, 1)[0])

    def test_many_keys(self):
        pairs = [[(f"k{i * 7919 % 100_003}", i) for i in range(120_000)]] * 2
        with mock.patch.object(_shuffle, "KEYS_MAX", 50_000):
            self.assertEqual(reduced(pairs, operator.add, 5),
                             in_python(reduced, pairs, operator.add, 5))

    def test_what_is_no_pair(self):
        for item in (1, (1, 2, 3), "abc", "ab", [1, 2], None, (1,), ([], 1)):
            self.assertEqual(reduced([[item]], operator.add, 2),
                             in_python(reduced, [[item]], operator.add, 2), item)

    def test_scatter(self):
        for hash_of in (None, lambda key: len(repr(key))):
            place = _shuffle.HashPlace(hash_of, 3)
            pairs = [(key, i) for i, key in enumerate(PLAIN + FOREIGN)] + [[1, 2]]
            with mock.patch.object(_shuffle, "KEYS_MAX", 7):
                both = [list(f(_shuffle.scatter, pairs, place))
                        for f in (in_python, lambda f, *a: f(*a))]
            self.assertEqual(*both)

    def test_packed_pairs_keep_their_order(self):
        """Of each place, also if some of its pairs cannot be packed."""
        for seed in range(300):
            rand = random.Random(seed)
            values = PLAIN + (rand.sample(FOREIGN, rand.randint(1, 3)) if seed % 3 else [])
            pairs = [(rand.choice(values), rand.choice(values)) for _ in range(200)]
            place = _shuffle.FunctionPlace(_shuffle.portable_hash, 3)
            with mock.patch.object(_shuffle, "KEYS_MAX", rand.choice([7, 50, 1 << 18])):
                records = list(_shuffle.scatter_packed(iter(pairs), place, 2, 3))
            found = collections.defaultdict(list)
            for at, block in records:
                number, bucket = _shuffle._PLACE.unpack(at)
                some = list(_shuffle.load_block(block))
                self.assertEqual(len(_shuffle.load_block(block)), len(some))
                found[number * 2 + bucket] += some
            expected = collections.defaultdict(list)
            for pair in pairs:
                expected[place(pair[0])].append(pair)
            self.assertEqual({at: described(some) for at, some in found.items()},
                             {at: described(some) for at, some in expected.items()}, seed)

    def test_packed_sorts(self):
        """Ranges, the order of equal keys, and both directions, as in Python."""
        texts = ["", "a", "a\0", "ab", "é", "\U0001f600", "\uffff", "prefix-1", "prefix-12",
                 "prefix-123", "prefix-1a", "prefix-1é", "x" * 300, "x" * 301]
        kinds = [list(range(-5, 5)) + [300, -300, 2**40, -(2**40), 2**63 - 1, -(2**63)],
                 [0.0, -0.0, 1.5, -1.5, 1e300, -1e300, float("inf"), -float("inf"), 5e-324],
                 texts, [text.encode() for text in texts], [True, 2, 0.5, 2**70, 1, False],
                 [(1, "a"), (1, "b"), (0, "z"), ()], [10**30, -(10**30), 7], [2, 1.5, 2.0]]
        for seed in range(400):
            rand = random.Random(seed)
            keys = kinds[seed % len(kinds)]
            items = [(rand.choice(keys), rand.choice(["v", (i,), i])) for i in range(300)]
            bounds = sorted(rand.choice(keys) for _ in range(rand.randint(1, 9)))
            if seed % 5 == 0:
                bounds.append(max(*keys, *bounds))
            up, key = seed % 2 == 0, seed % 3 == 0
            place = _shuffle.RangePlace(bounds, _shuffle.same, up)
            with mock.patch.object(_shuffle, "KEYS_MAX", rand.choice([40, 1 << 18])):
                records = list(_shuffle.scatter_packed(
                    iter(items), place, len(bounds) + 1, 1, tuple,
                    operator.itemgetter(0) if key else None))
            records.sort(key=lambda record: record[0])
            buckets = ((_shuffle.load_block(block) for _, block in some)
                       for _, some in itertools.groupby(records, key=lambda record: record[0]))
            found = list(_shuffle.gather_sorted(buckets, _shuffle.same, up, key))
            expected = sorted(items, key=lambda item: item[0], reverse=not up)
            self.assertEqual([*map(repr, found)], [*map(repr, expected)], seed)

    def test_places_that_are_none(self):
        for place in (lambda key: 2, lambda key: -1, lambda key: "a", lambda key: 1 // 0):
            with self.assertRaises((ValueError, OverflowError, TypeError, ZeroDivisionError)):
                list(_shuffle.scatter_packed([(1, 2)], place, 1, 1))

    def test_damaged_packed_blocks(self):
        pairs = [(key, (key, "value")) for key in range(-300, 300)]
        ((_, block),) = _shuffle.scatter_packed(iter(pairs), lambda key: 0, 1, 1)
        rand, refused = random.Random(2), 0
        for _ in range(5_000):
            damaged = bytearray(block[: rand.randint(1, len(block))])
            for _ in range(rand.randint(0, 3)):
                damaged[rand.randrange(len(damaged))] = rand.randrange(256)
            for read in (lambda data: _functions.native.Sorted.of((data,), False, True) or (),
                         _functions.native.unpack_pairs, _functions.native.count_pairs):
                try:
                    made = read(bytes(damaged))
                    if not isinstance(made, int):
                        list(made)
                except ValueError:
                    refused += 1
        self.assertGreater(refused, 5_000)

    def test_packed_blocks_in_python(self):
        """An executor without the module reads blocks of one that has it."""
        values = [None, True, -5, 300, 2**40, NAN, 0.5, "t", "é" * 200, b"b", b"c" * 300,
                  (1, ((),))]
        table = _functions.native.Combiner(None, lambda a, _: a, False, _shuffle._unpack)
        pairs = list(zip(PLAIN, itertools.cycle(values)))
        table.fill(iter(pairs), 1 << 20, 1 << 20)
        ((at, block),) = table.take_blocks(lambda key: 9, 1, 1, None)
        self.assertEqual(at, 9)
        first = {}
        for key, _ in pairs:
            first.setdefault(key, key)
        self.assertEqual([repr(key) for key, _ in _shuffle.load_block(block)],
                         [repr(key) for key in first.values()])

    def test_damaged_blocks(self):
        table = _functions.native.Combiner(None, operator.add, True, _shuffle._unpack)
        table.fill(iter([(key, 1) for key in PLAIN]), 1 << 20, 1 << 20)
        ((_, block),) = table.take_blocks(lambda key: 0, 1, 1, None)
        rand, refused = random.Random(1), 0
        for _ in range(20_000):
            damaged = bytearray(block[: rand.randint(1, len(block))])
            for _ in range(rand.randint(0, 3)):
                damaged[rand.randrange(len(damaged))] = rand.randrange(256)
            fresh = _functions.native.Combiner(None, max, False, _shuffle._unpack)
            try:
                fresh.merge(bytes(damaged))
                fresh.pairs(0, 1 << 20)
            except (ValueError, TypeError):
                refused += 1
        self.assertGreater(refused, 10_000)

    def test_built_with_newer_headers(self):
        """They are for immortal constants, which older versions that load the module free."""
        for path in (pathlib.Path(__file__).parents[1] / "native").glob("*.c"):
            self.assertNotRegex(path.read_text(), r"\bPy_RETURN_", path.name)

    def test_iterators(self):
        def stop(_):
            raise StopIteration("why")

        for make in (_functions.map_items, _functions.flat_map_items, _functions.filter_items):
            for function in (stop, lambda x: [x] * (x % 3), lambda x: 1 // x, lambda x: None,
                             lambda x: (y for y in range(x)), len):
                self.assertEqual(self.all_of(make, function),
                                 in_python(self.all_of, make, function))

    def all_of(self, make, function):
        """What the iterator gives, also after its end."""
        items, found = make(function, iter([3, 0, 2, 5])), []
        for _ in range(12):
            try:
                found.append(next(items))
                if hasattr(found[-1], "send"):
                    found[-1] = list(found[-1])
            except StopIteration as error:
                found.append(("end", error.value))
            except Exception as error:
                found.append((type(error), str(error), type(error.__cause__),
                              type(error.__context__)))
        return found


if __name__ == "__main__":
    unittest.main()
