"""Calls that PySpark 4.3 accepts by position mean the same here, or raise."""

import inspect
import pathlib
import unittest

import glint
import glint.pyspark
from test_context import Base, context

# The positional parameters of PySpark's methods of the same names.
CONTEXT = {
    "__init__": "master appName sparkHome pyFiles environment batchSize serializer conf gateway "
                "jsc profiler_cls udf_profiler_cls memory_profiler_cls",
    "accumulator": "value accum_param", "addArchive": "path", "addFile": "path recursive",
    "addJobTag": "tag", "addPyFile": "path", "binaryFiles": "path minPartitions",
    "binaryRecords": "path recordLength", "broadcast": "value", "cancelAllJobs": "",
    "cancelJobGroup": "groupId", "cancelJobsWithTag": "tag", "clearJobTags": "",
    "dump_profiles": "path", "emptyRDD": "", "getCheckpointDir": "", "getConf": "",
    "getJobTags": "", "getLocalProperty": "key", "getOrCreate": "conf", "getSystemProperty": "key",
    "parallelize": "c numSlices", "pickleFile": "name minPartitions",
    "range": "start end step numSlices", "removeJobTag": "tag",
    "runJob": "rdd partitionFunc partitions allowLocal", "setCheckpointDir": "dirName",
    "setInterruptOnCancel": "interruptOnCancel", "setJobDescription": "value",
    "setJobGroup": "groupId description interruptOnCancel", "setLocalProperty": "key value",
    "setLogLevel": "logLevel", "setSystemProperty": "key value", "show_profiles": "",
    "sparkUser": "", "statusTracker": "", "stop": "",
    "textFile": "name minPartitions use_unicode", "union": "rdds",
    "wholeTextFiles": "path minPartitions use_unicode",
}
# Names without a call, and methods that raise, whatever they get.
ATTRIBUTES = {"RDD": "context", "SparkContext": "PACKAGE_EXTENSIONS applicationId "
              "defaultMinPartitions defaultParallelism listArchives listFiles resources startTime "
              "uiWebUrl version"}
REFUSED = {
    "RDD": "barrier saveAsHadoopDataset saveAsHadoopFile saveAsNewAPIHadoopDataset "
           "saveAsNewAPIHadoopFile saveAsSequenceFile toDF withResources",
    "SparkContext": "hadoopFile hadoopRDD newAPIHadoopFile newAPIHadoopRDD sequenceFile"}
# What `from pyspark import` finds, besides those.
MODULE = """Accumulator AccumulatorParam BarrierTaskContext BarrierTaskInfo BasicProfiler Broadcast
CPickleSerializer HiveContext InheritableThread MarshalSerializer Profiler RDD RDDBarrier Row
SQLContext SparkConf SparkContext SparkExecutorInfo SparkFiles SparkJobInfo SparkStageInfo
StatusTracker StorageLevel TaskContext __version__ inheritable_thread_target"""
RDD = {
    "aggregate": "zeroValue seqOp combOp",
    "aggregateByKey": "zeroValue seqFunc combFunc numPartitions partitionFunc",
    "cleanShuffleDependencies": "blocking", "cogroup": "other numPartitions",
    "collectWithJobGroup": "groupId description interruptOnCancel",
    "countApprox": "timeout confidence", "filter": "f", "fold": "zeroValue op",
    "foldByKey": "zeroValue func numPartitions partitionFunc", "foreach": "f",
    "foreachPartition": "f", "getCheckpointFile": "", "getResourceProfile": "",
    "getStorageLevel": "",
    "groupBy": "f numPartitions partitionFunc", "groupByKey": "numPartitions partitionFunc",
    "groupWith": "other", "id": "", "isCheckpointed": "", "isLocallyCheckpointed": "",
    "keyBy": "f", "localCheckpoint": "", "lookup": "key",
    "mapPartitions": "f preservesPartitioning",
    "mapPartitionsWithIndex": "f preservesPartitioning",
    "mapPartitionsWithSplit": "f preservesPartitioning", "mapValues": "f",
    "meanApprox": "timeout confidence", "name": "",
    "repartitionAndSortWithinPartitions": "numPartitions partitionFunc ascending keyfunc",
    "saveAsPickleFile": "path batchSize", "sortBy": "keyfunc ascending numPartitions",
    "sumApprox": "timeout confidence", "toDebugString": "",
    "treeAggregate": "zeroValue seqOp combOp depth",
    "cache": "", "cartesian": "other", "checkpoint": "", "coalesce": "numPartitions shuffle",
    "collect": "", "collectAsMap": "", "count": "", "countByKey": "", "countByValue": "",
    "combineByKey": "createCombiner mergeValue mergeCombiners numPartitions partitionFunc",
    "countApproxDistinct": "relativeSD", "distinct": "numPartitions", "first": "",
    "flatMap": "f preservesPartitioning", "flatMapValues": "f",
    "fullOuterJoin": "other numPartitions", "getNumPartitions": "", "glom": "",
    "histogram": "buckets", "intersection": "other", "isEmpty": "", "join": "other numPartitions",
    "keys": "", "leftOuterJoin": "other numPartitions", "map": "f preservesPartitioning",
    "max": "key", "mean": "", "min": "key", "partitionBy": "numPartitions partitionFunc",
    "persist": "storageLevel", "pipe": "command env checkCode", "randomSplit": "weights seed",
    "reduce": "f", "reduceByKey": "func numPartitions partitionFunc", "reduceByKeyLocally": "func",
    "repartition": "numPartitions", "rightOuterJoin": "other numPartitions",
    "sample": "withReplacement fraction seed", "sampleByKey": "withReplacement fractions seed",
    "sampleStdev": "", "sampleVariance": "", "saveAsTextFile": "path compressionCodecClass",
    "setName": "name", "sortByKey": "ascending numPartitions keyfunc", "stats": "", "stdev": "",
    "subtract": "other numPartitions", "subtractByKey": "other numPartitions", "sum": "",
    "take": "num", "takeOrdered": "num key", "takeSample": "withReplacement num seed",
    "toLocalIterator": "prefetchPartitions", "top": "num key", "treeReduce": "f depth",
    "union": "other", "unpersist": "blocking", "values": "", "variance": "", "zip": "other",
    "zipWithIndex": "", "zipWithUniqueId": "",
}
# Methods that PySpark lacks.
OWN = {"arrow", "collectEach", "counter", "feather", "fromArrow", "keyValueTextFile",
       "mapBatches", "meanByKey", "parquet", "toArrow", "toPandas", "toPolars", "withPartitions"}
# An argument by position raises: the path of a directory.
NAMED = {"checkpoint": "path"}
KINDS = (glint.RDD, RDD), (glint.pyspark.SparkContext, CONTEXT)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional(method):
    found = inspect.signature(method).parameters.values()
    return [each.name for each in found if each.kind in POSITIONAL and each.name != "self"]


def differs(name, ours, theirs):
    """Whether one of our parameters is not PySpark's at its place."""
    return ours != theirs[: len(ours)] and ours != [NAMED.get(name)]


class Positions(unittest.TestCase):
    def test_parameters(self):
        for kind, table in ((glint.Context, CONTEXT), *KINDS):
            public = {name for name in dir(kind) if "_" not in name}
            other = f"{ATTRIBUTES.get(kind.__name__, '')} {REFUSED.get(kind.__name__, '')}".split()
            self.assertLessEqual(public, {*table, *other, *OWN})
            for name, theirs in table.items():
                if kind is glint.Context and name not in dir(kind):
                    continue
                with self.subTest(f"{kind.__name__}.{name}"):
                    ours = positional(getattr(kind, name))
                    self.assertFalse(differs(name, ours, theirs.split()), (ours, theirs))

    def test_names(self):
        """Each name of PySpark works, or raises when it is called, and says what to use."""
        for kind, table in KINDS:
            refused = REFUSED[kind.__name__].split()
            for name in (*table, *ATTRIBUTES[kind.__name__].split(), *refused):
                self.assertIn(name, dir(kind))
            for name in refused:
                with self.assertRaisesRegex(NotImplementedError, f"{name} is not part .* use "):
                    getattr(kind, name)(None, 1, "x", some=2)
        for name in MODULE.split():
            self.assertTrue(hasattr(glint.pyspark, name), name)
        for name in ("Profiler", "BarrierTaskInfo"):
            with self.assertRaisesRegex(NotImplementedError, f"{name} is not part of glint: "):
                getattr(glint.pyspark, name)(None)

    def test_finds_a_difference(self):
        self.assertTrue(differs("textFile", ["name", "header"], CONTEXT["textFile"].split()))
        self.assertTrue(differs("sample", ["fraction", "seed"], RDD["sample"].split()))


class Calls(Base):
    def test_min_partitions(self):
        lines = [f"line {i}" for i in range(100)]
        path = self.write("lines", "".join(line + "\n" for line in lines))
        with context() as sc:
            for count in (1, 2, 7):
                rdd = sc.textFile(path, count)
                self.assertEqual((rdd.collect(), rdd.getNumPartitions()), (lines, count))
            self.assertGreaterEqual(sc.textFile(path, minPartitions=99).getNumPartitions(), 99)
            self.assertEqual(sc.textFile(path, 4, header=True).collect(), lines[1:])
            with self.assertRaises(TypeError):
                sc.textFile(path, 4, True)
            for count in (0, -1):
                with self.assertRaisesRegex(ValueError, "must be positive"):
                    sc.textFile(path, count)

    def test_sample(self):
        with context() as sc:
            numbers = sc.range(0, 1000, 1, 4)
            self.assertEqual(numbers.sample(False, 1).collect(), list(range(1000)))
            self.assertEqual(numbers.sample(False, 2.5).count(), 1000)
            self.assertTrue(1800 < numbers.sample(True, 2, 7).count() < 2200)
            self.assertTrue(50 < numbers.sample(False, 0.1, 81).count() < 150)
            for seed in (-1, 1 << 70):
                self.assertEqual(numbers.sample(False, 0.5, seed).collect(),
                                 numbers.sample(False, 0.5, seed).collect())
                self.assertEqual(len(numbers.takeSample(False, 9, seed)), 9)
            self.assertNotEqual(numbers.sample(False, 0.5, -1).collect(),
                                numbers.sample(False, 0.5, 1).collect())
            self.assertNotEqual(numbers.sample(False, 0.5).collect(),
                                numbers.sample(False, 0.5).collect())
            for arguments in ((0.1, 81), (0.1, 81, True), (1, 0.5)):
                with self.assertRaisesRegex(TypeError, "withReplacement"):
                    numbers.sample(*arguments)
            for fraction in (-0.1, float("nan")):
                with self.assertRaisesRegex(ValueError, "nonnegative"):
                    numbers.sample(False, fraction)

    def test_codecs(self):
        with context() as sc:
            lines = sc.parallelize(["a", "b"])
            lines.saveAsTextFile(self.work / "a", "org.apache.hadoop.io.compress.GzipCodec")
            lines.saveAsTextFile(self.work / "b", None)
            with self.assertRaisesRegex(NotImplementedError, "GzipCodec"):
                lines.saveAsTextFile(self.work / "c", "org.apache.hadoop.io.compress.BZip2Codec")
            with self.assertRaises(TypeError):
                lines.saveAsTextFile(self.work / "c", compress="zstd")
        for name, suffix in (("a", ".gz"), ("b", "")):
            output = glint.Output(self.work / name)
            self.assertEqual((list(output), output.parts[0].suffix), (["a", "b"], suffix))
        self.assertFalse((self.work / "c").exists())

    def test_numbers_of_partitions(self):
        with context() as sc:
            pairs = sc.parallelize([(i % 5, i) for i in range(50)], 2)
            other = sc.parallelize([(1, "a")])
            for rdd in (pairs.distinct(3), pairs.reduceByKey("sum_i64", 3), pairs.join(other, 3),
                        pairs.sortByKey(False, 3), pairs.subtractByKey(other, 3),
                        pairs.fullOuterJoin(other, 3), pairs.partitionBy(3), pairs.repartition(3),
                        pairs.coalesce(3, True)):
                self.assertEqual(rdd.getNumPartitions(), 3)
            self.assertEqual(pairs.coalesce(3).getNumPartitions(), 2)
            for call in (pairs.repartition, pairs.coalesce, pairs.partitionBy, pairs.distinct,
                         lambda count: sc.range(0, 3, 1, count),
                         lambda count: sc.parallelize([1], count)):
                for count in (0, -1):
                    with self.assertRaisesRegex(ValueError, "must be positive"):
                        call(count)
            self.assertEqual(pairs.count(), 50)

    def test_numbers_of_records(self):
        with context() as sc:
            numbers = sc.range(5)
            self.assertEqual((numbers.take(-1), numbers.top(-1), numbers.take(0)), ([], [], []))
            self.assertEqual(numbers.take(1 << 80), [0, 1, 2, 3, 4])
            self.assertRaisesRegex(ValueError, "negative", numbers.takeOrdered, -1)
            self.assertRaisesRegex(ValueError, "negative", numbers.takeSample, False, -1)
            self.assertRaisesRegex(ValueError, "greater", numbers.takeSample, False, (1 << 63) - 1)
            self.assertRaisesRegex(ValueError, "smaller than 1", numbers.treeReduce, "sum_i64", 0)
            self.assertRaises(TypeError, numbers.take, 1.5)
            self.assertEqual(numbers.top(1, lambda x: -x), [0])

    def test_pipe_status(self):
        with context() as sc:
            failing = ["sh", "-c", "cat; exit 3"]
            lines = sc.parallelize(["a"])
            self.assertEqual(lines.pipe(failing, None, False).collect(), ["a"])
            self.assertEqual(lines.pipe(failing, ok=[3]).collect(), ["a"])
            self.fails("E0407", lines.pipe(failing, None, True).collect)

    def test_names_with_commas(self):
        """In a list, and of pathlib, a comma belongs to the name; in a str it separates paths."""
        names = ["a,b", "a", "b", ",", "c\\,d", "e\\", "f\\\\", "g"]
        paths = [self.write(name, name + "\n") for name in names]
        with context() as sc:
            for given in (paths, [str(path) for path in paths], iter(paths)):
                self.assertEqual(sc.textFile(given).collect(), names)
            for path, name in zip(paths, names):
                self.assertEqual(sc.textFile(path).collect(), [name])
            self.assertEqual(sc.textFile(f"{paths[1]},{paths[2]}").collect(), ["a", "b"])
            for read in (sc.wholeTextFiles, sc.binaryFiles):
                self.assertEqual([pathlib.Path(path).name for path, _ in read(paths).collect()],
                                 names)
            self.assertEqual(sc.keyValueTextFile(paths, ",").keys().take(3), ["a", "a", "b"])
            self.assertEqual(sc.binaryRecords(paths[:1], 2).collect(), [b"a,", b"b\n"])
            with self.assertRaisesRegex(ValueError, "no path"):
                sc.textFile([])
        result = glint.run("sort", self.work / "sorted", input=paths, master="local[1]")
        self.assertEqual(list(result.outputs[0]), sorted(names))
        with self.assertRaisesRegex(ValueError, "two items"):
            glint.run("agg", "a", "b", by=["x,y"])


if __name__ == "__main__":
    unittest.main()
