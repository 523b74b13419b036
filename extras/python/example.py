"""A tour of glint in Python: jobs, their counters, outputs and errors, contexts, and Bloom filters.

    python example.py
"""

import pathlib
import tempfile

import glint

work = pathlib.Path(tempfile.mkdtemp())

# A job: ratings of films, as lines `id TAB rating TAB votes`.
table = work / "ratings.tsv"
table.write_text("".join(f"tt{i:07d}\t{i * 7 % 97 / 10}\t{i}\n" for i in range(100_000)))
result = glint.run("count-keys", table, work / "counts")
print(f"{result.job}: {result.counters['rows read']} rows in {result.elapsed:.3f} s")
for line in result.outputs[0]:
    print("   rating, films:", line)

# A filter per rating, built by a job, used here.
built = glint.run("bloom-build", 0.01, table, work / "counts", work / "filters", layout="block512")
filters = built.outputs[0].filters()
may_contain = [rating for rating, filter in filters.items() if "tt0000003" in filter]
print("tt0000003 may have the rating", may_contain)

# An error has a code, and says what to do.
try:
    glint.run("count-keys", work / "nowhere", work / "counts2")
except glint.Error as error:
    print(error.code, error.name, error.exit_status)

# Plans in this process: functions are built-in ones, or commands.
text = work / "text"
text.write_text("to be or not to be\nthat is the question\n" * 1000)
with glint.Context("local[2]", memory="256M") as sc:
    words = sc.textFile(text).flatMap("split_words")
    counts = words.map("pair_with_one").reduceByKey("sum_i64")
    counts.saveAsTextFile(work / "words")
    print("words:", sorted(counts.collect(), key=lambda pair: (-pair[1], pair[0]))[:3])
    print("by a command:", words.distinct().pipe("tr a-z A-Z").takeOrdered(3))

    names = sc.parallelize([("tt0000003", "Pauvre Pierrot"), ("tt0000014", "The Waterer Watered")])
    votes = sc.textFile(table).pipe("cut -f 1,3").map("key_value").flatMapValues("parse_i64")
    print("joined:", votes.join(names).sortByKey().collect())
print("saved:", len(list(glint.Output(work / "words"))), "words")

# A filter of one's own.
seen = glint.Bloom(100_000, 0.01)
seen.add_many(f"tt{i:07d}" for i in range(100_000))
hits = seen.contains_many([f"nm{i:07d}" for i in range(100_000)])
print(f"false positives: {sum(hits) / len(hits):.4f}, expected {seen.p:.4f}")
print(f"about {seen.estimated_ids():.0f} ids in {seen.m / 8 / 1024:.0f} KiB")

# Filters of two parts, united; and a file that many processes can share.
odd, even = glint.Bloom(1000), glint.Bloom(1000)
odd.add_many(str(i) for i in range(1, 1000, 2))
even.add_many(str(i) for i in range(0, 1000, 2))
(odd | even).save(work / "both.bloom")
with glint.Bloom.mmap(work / "both.bloom") as both:
    print(both, all(both.contains_many([str(i) for i in range(1000)])))
