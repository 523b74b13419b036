"""What programs of PySpark import of py4j.protocol: the exceptions of jobs that have failed.
"""

from ..._errors import JobError as Py4JJavaError

Py4JError = Py4JJavaError


class Py4JNetworkError(Py4JError):
    """Never raised."""


__all__ = ["Py4JError", "Py4JJavaError", "Py4JNetworkError"]
