"""Run glint's jobs, and use its Bloom filters.

    result = glint.run("wordcount", "books/", "counts", overwrite=True)
    for line in result.outputs[0]: ...

    seen = glint.Bloom(1_000_000, 0.01)
    seen.add_many(ids)
    mask = seen.contains_many(other_ids)
"""

from ._bloom import Bloom, load_filters
from ._errors import Error
from ._run import Output, Result, Stage, program, run

__all__ = ["Bloom", "Error", "Output", "Result", "Stage", "load_filters", "program", "run"]
