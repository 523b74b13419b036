"""Serializers that a program may give to SparkContext: elements are pickled in any case."""

from __future__ import annotations


class CPickleSerializer:
    pass


PickleSerializer = CPickleSerializer


class MarshalSerializer:
    pass
