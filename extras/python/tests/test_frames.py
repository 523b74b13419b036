"""glint.Bloom with what pandas, Polars and DuckDB have for ids, which must be installed."""

import unittest

import duckdb
import numpy
import pandas
import polars
import pyarrow

import glint

IDS = [f"tt{i:07d}" for i in range(500)]
SOME = [None if i % 7 == 3 else value for i, value in enumerate(IDS)]
WANTED = [value is not None and i % 2 == 0 for i, value in enumerate(SOME)]


class Frames(unittest.TestCase):
    def setUp(self):
        self.known = glint.Bloom(10_000_000, layout="classic")  # so large that nothing is false
        self.known.add_many(IDS[::2])
        self.all = glint.Bloom(1000)
        self.all.add_many([value for value in SOME if value is not None])

    def check(self, ids):
        with self.subTest(type(ids)):
            added = glint.Bloom(1000)
            added.add_many(ids)
            self.assertEqual(added, self.all)
            self.assertEqual(list(self.known.contains_many(ids)), WANTED)

    def test_pandas(self):
        series = pandas.Series(SOME)
        for ids in (series, series.array, series.to_numpy(), pandas.Index(SOME),
                    pandas.Series(SOME, dtype=object).to_numpy(), series.astype("category"),
                    series.astype("category").array, pandas.CategoricalIndex(SOME),
                    pandas.Series(SOME, dtype="string").array, pandas.DataFrame({"id": SOME})):
            self.check(ids)
        with self.assertRaisesRegex(TypeError, "choose one of id, n"):
            self.known.add_many(pandas.DataFrame({"id": IDS, "n": range(500)}))
        self.known.add_many(pandas.Index(range(100)))
        self.assertEqual(list(self.known.contains_many(pandas.Series([5, 100]))), [True, False])

    def test_polars(self):
        series = polars.Series("id", SOME)
        for ids in (series, series.cast(polars.Categorical), series.cast(polars.Enum(IDS)),
                    series.to_frame(), series.to_arrow()):
            self.check(ids)
        self.assertEqual(list(self.known.contains_many(polars.Series([None] * 3))), [False] * 3)

    def test_duckdb(self):
        table = pyarrow.table({"id": SOME, "n": range(500)})
        with duckdb.connect() as db:
            db.register("t", table)
            db.execute(f"create type ids as enum ({', '.join(map(repr, IDS))})")
            for query in ("select id from t order by n", "select id::ids from t order by n"):
                self.check(db.sql(query))
                self.check(db.sql(query).to_arrow_table())
            self.check(db.sql("select id from t order by n").fetchnumpy()["id"])
            with self.assertRaisesRegex(TypeError, "choose one of id, n"):
                self.known.add_many(db.sql("select * from t"))
            numbers = db.sql("select range as i from range(3)")
            self.known.add_many(numbers)
            self.assertTrue(all(self.known.contains_many(numpy.arange(3))))


if __name__ == "__main__":
    unittest.main()
