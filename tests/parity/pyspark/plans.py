"""Random plans. A plan is a tree of nodes that both engines build: a node has what is known about its
records, so that only valid plans are drawn, and the comparison knows what Spark promises."""

import dataclasses

from hypothesis import strategies as st

# ASCII, a letter of two bytes, one of four.
TEXTS = st.text(alphabet="ab\u00e9\U0001f600", max_size=3)
INTS = st.integers(-6, 6)
FLOATS = st.integers(-8, 8).map(lambda i: i / 4)  # sums are exact in any order
VALUES = {"int": INTS, "float": FLOATS, "str": TEXTS}
PARTITIONS = st.integers(1, 4)


@dataclasses.dataclass(frozen=True)
class Node:
    op: str
    args: tuple = ()
    parents: tuple = ()
    key: str = ""          # type of the keys; "": single elements
    value: str = "int"     # int, float, str; tuple: of a join or a glom; "number", "words": see below
    ordered: bool = True   # Spark promises the order of collect
    aligned: bool = False  # the same records are in the same partitions
    count: int = -1        # how many records and partitions there are, if aligned; else -1
    partitions: int = -1

    def __str__(self):
        inner = [str(parent) for parent in self.parents] + [repr(arg) for arg in self.args]
        return f"{self.op}({', '.join(inner)})"


def shuffled(op, *parents, args=(), **known):
    return Node(op, args, parents, ordered=False, **known)


@st.composite
def sources(draw):
    kind = draw(st.sampled_from(["range", "elements", "pairs", "pairs", "words", "digits"]))
    if kind == "range":
        count, step = draw(st.integers(0, 12)), draw(st.sampled_from([1, 3, -2]))
        first, partitions = draw(INTS), draw(PARTITIONS)
        return Node("range", (first, first + count * step, step, partitions), aligned=True,
                    count=count, partitions=partitions)
    if kind == "words":
        lines = st.lists(st.sampled_from(["a b", "", " b\tc  a", "c"]), max_size=6)
        return Node("parallelize", (draw(lines), draw(PARTITIONS)), value="str")
    if kind == "digits":
        rows = st.lists(st.tuples(TEXTS, INTS.map(str)), min_size=1, max_size=8)
        return Node("parallelize", (draw(rows), draw(PARTITIONS)), key="str", value="digits")
    value = draw(st.sampled_from(list(VALUES)))
    key = "" if kind == "elements" else draw(st.sampled_from(list(VALUES)))
    row = st.tuples(VALUES[key], VALUES[value]) if key else VALUES[value]
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return Node("parallelize", (rows, draw(PARTITIONS)), key=key, value=value)


def elements(node):
    """Transformations of single elements: (name, whether it applies, how to apply it)."""
    simple = node.value in VALUES
    return {
        "zipWithIndex": (simple and node.ordered, lambda draw: dataclasses.replace(
            node, op="zipWithIndex", args=(), parents=(node,), key=node.value, value="int")),
        "zipWithUniqueId": (simple and node.aligned, lambda draw: dataclasses.replace(
            node, op="zipWithUniqueId", args=(), parents=(node,), key=node.value, value="int")),
        "glom": (node.aligned, lambda draw: dataclasses.replace(
            node, op="glom", args=(), parents=(node,), value="tuple", count=node.partitions)),
        "pair_with_one": (simple and node.value == "str", lambda draw: dataclasses.replace(
            node, op="pair_with_one", args=(), parents=(node,), key="str", value="int")),
        "split_words": (node.value == "str", lambda draw: dataclasses.replace(
            node, op="split_words", args=(), parents=(node,), aligned=False, count=-1)),
        "zip": (simple and node.aligned, lambda draw: dataclasses.replace(
            node, op="zip", args=(), key=node.value, value="int",
            parents=(node, Node("range", (0, node.count, 1, node.partitions))))),
        "zip_with_index_zip": (simple and node.aligned, lambda draw: dataclasses.replace(
            node, op="zip_pairs", args=(), parents=(node,), value="tuple")),
        "cartesian": (simple, lambda draw: Node(
            "cartesian", (), (node, draw(sources().filter(lambda n: not n.key and n.value in VALUES))),
            key=node.value, value="", ordered=False)),
    }


def pairs(node):
    """The same for pairs."""
    number = node.value in ("int", "float")
    reducer = {"int": ["sum_i64", "min_i64", "max_i64"], "float": ["sum_f64", "min_f64", "max_f64"],
               "str": ["min_text", "max_text"]}
    joins = ["join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin", "subtractByKey"]

    def join(draw):
        other = draw(sources().filter(lambda n: n.key == node.key))
        op = draw(st.sampled_from(joins))
        value = node.value if op == "subtractByKey" else "tuple"
        return shuffled(op, node, other, key=node.key, value=value)

    def join_alike(draw):
        """Both sides are partitioned alike, so the join needs no shuffle."""
        other = draw(sources().filter(lambda n: n.key == node.key))
        count = draw(PARTITIONS)
        sides = [shuffled("partitionBy", side, args=(count,), key=side.key, value=side.value)
                 for side in (node, other)]
        return shuffled(draw(st.sampled_from(joins[:-1])), *sides, key=node.key, value="tuple")

    return {
        "keys": (True, lambda draw: dataclasses.replace(
            node, op="keys", args=(), parents=(node,), key="", value=node.key)),
        "values": (True, lambda draw: dataclasses.replace(
            node, op="values", args=(), parents=(node,), key="")),
        "reduceByKey": (node.value in reducer, lambda draw: shuffled(
            "reduceByKey", node, args=(draw(st.sampled_from(reducer[node.value])),), key=node.key,
            value=node.value)),
        "count_by_key": (True, lambda draw: shuffled("combine_count", node, key=node.key)),
        "sortByKey": (True, lambda draw: shuffled(
            "sortByKey", node, args=(draw(st.booleans()),), key=node.key, value=node.value)),
        "partitionBy": (True, lambda draw: shuffled(
            "partitionBy", node, args=(draw(PARTITIONS),), key=node.key, value=node.value)),
        "parse": (node.value == "digits", lambda draw: dataclasses.replace(
            node, op=draw(st.sampled_from(["parse_i64"])), args=(), parents=(node,), value="int")),
        "sampleByKey": (node.key == "str" and node.op == "parallelize", lambda draw: dataclasses.replace(
            node, op="sampleByKey", parents=(node,), args=tuple(
                [{key: draw(st.sampled_from([0.0, 1.0])) for key in sorted({k for k, _ in node.args[0]})}]))),
        "join": (number or node.value == "str", join),
        "join_alike": (number or node.value == "str", join_alike),
        "zip_pairs": (node.aligned, lambda draw: dataclasses.replace(
            node, op="zip_self", args=(), parents=(node,), key="", value="tuple")),
    }


def either(node):
    """For elements and for pairs."""
    comparable = node.value in VALUES

    def with_like(op):
        def make(draw):
            other = draw(sources().filter(lambda n: (n.key, n.value) == (node.key, node.value)))
            known = {"key": node.key, "value": node.value}
            if op == "union":
                return Node(op, (), (node, other), ordered=node.ordered and other.ordered, **known)
            return shuffled(op, node, other, **known)
        return make

    return {
        "persist": (node.op != "persisted", lambda draw: dataclasses.replace(
            node, op="persisted", args=(draw(st.sampled_from(["memory", "disk", "both"])),), parents=(node,))),
        "distinct": (comparable, lambda draw: shuffled(
            "distinct", node, key=node.key, value=node.value)),
        "union": (comparable, with_like("union")),
        "intersection": (comparable, with_like("intersection")),
        "subtract": (comparable, with_like("subtract")),
        "repartition": (True, lambda draw: shuffled(
            "repartition", node, args=(draw(PARTITIONS),), key=node.key, value=node.value)),
        "coalesce": (True, lambda draw: dataclasses.replace(
            node, op="coalesce", args=(draw(PARTITIONS),), parents=(node,), aligned=False, count=-1)),
        "sample": (True, lambda draw: dataclasses.replace(
            node, op="sample", args=(draw(st.sampled_from([0.0, 1.0])),), parents=(node,),
            aligned=False, count=-1)),
    }


@st.composite
def transformed(draw):
    """A source and up to five transformations."""
    node = draw(sources())
    for _ in range(draw(st.integers(0, 5))):
        known = {**either(node), **(pairs(node) if node.key else elements(node))}
        node = known[draw(st.sampled_from([name for name, (fits, _) in known.items() if fits]))][1](draw)
        if node.op == "cartesian":  # its value is that of its right side
            node = dataclasses.replace(node, value=node.parents[1].value)
    return node


@st.composite
def plans(draw):
    """(node, action, arguments of the action)"""
    node = draw(transformed())
    simple, number = node.value in VALUES, node.value in ("int", "float")
    some = st.integers(0, 15)
    actions = {
        "collect": True, "toLocalIterator": True, "count": True, "isEmpty": True, "takeSample": True,
        "countByKey": bool(node.key), "countByValue": not node.key and simple,
        "collectAsMap": bool(node.key) and node.ordered, "take": node.ordered, "first": node.ordered,
        "takeOrdered": simple, "top": simple, "min": simple, "max": simple, "countApproxDistinct": simple,
        **dict.fromkeys(("sum", "stats", "histogram", "reduce", "treeReduce"), number and not node.key),
        "reduceByKeyLocally": bool(node.key) and number,
    }
    action = draw(st.sampled_from([name for name, fits in actions.items() if fits]))
    function = "max_" + {"int": "i64", "float": "f64"}.get(node.value, "")
    arguments = {
        "take": lambda: (draw(some),), "takeOrdered": lambda: (draw(some),), "top": lambda: (draw(some),),
        "takeSample": lambda: (draw(st.booleans()), draw(some), draw(st.integers(0, 9))),
        "histogram": lambda: (draw(st.one_of(st.integers(1, 4), st.just([-4, -1, 0.5, 3]))),),
        "reduce": lambda: (function,), "reduceByKeyLocally": lambda: (function,),
        "treeReduce": lambda: (function, draw(st.integers(2, 3))),
    }
    return node, action, arguments.get(action, lambda: ())()
