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

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._bloom import Bloom, load_filters, save_filters
    from ._context import Context
    from ._errors import Error
    from ._run import Output, Result, Stage, export_filters, program, run
    from .pyspark.rdd import RDD

__all__ = ["RDD", "Bloom", "Context", "Error", "Output", "Result", "Stage",
           "export_filters", "load_filters", "program", "run", "save_filters"]

_MODULES = {"RDD": "pyspark.rdd", "Bloom": "_bloom", "Context": "_context", "Error": "_errors",
            "Output": "_run", "Result": "_run", "Stage": "_run",
            "export_filters": "_run", "load_filters": "_bloom", "program": "_run", "run": "_run",
            "save_filters": "_bloom"}


def __getattr__(name: str) -> Any:
    """Imports what is used: a worker of Python functions needs nothing of this."""
    import importlib

    if name in _MODULES:
        value = getattr(importlib.import_module("." + _MODULES[name], __name__), name)
        globals()[name] = value
        return value
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib.metadata

    return importlib.metadata.version("glint-engine")
