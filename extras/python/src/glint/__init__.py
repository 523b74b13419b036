"""Run glint's jobs, run plans in this process, and use Bloom filters.

    result = glint.run("wordcount", "books/", "counts", overwrite=True)
    for line in result.outputs[0]: ...

    with glint.Context("local[2]") as sc:
        words = sc.textFile("books/").flatMap("split_words").map("pair_with_one")
        words.reduceByKey("sum_i64").saveAsTextFile("counts")

    seen = glint.Bloom(1_000_000, 0.01)
    seen.add_many(ids)
    mask = seen.contains_many(other_ids)
"""

from ._actions import Stats
from ._bloom import Bloom, load_filters
from ._context import Context
from ._errors import Error
from ._rdd import RDD
from ._run import Output, Result, Stage, program, run

__all__ = ["RDD", "Bloom", "Context", "Error", "Output", "Result", "Stage", "Stats", "load_filters",
           "program", "run"]


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib.metadata

    return importlib.metadata.version("glint")
