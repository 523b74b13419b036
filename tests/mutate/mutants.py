"""Mutations of C source: their sites, and the changed text.

Sites are found in text whose comments, strings and preprocessor lines are blanked, and only in
bodies of functions. Asserts are not mutated: a changed assert proves nothing about the tests.
"""
import re

# (start, end, replacement, kind) of one site.
KINDS = ("comparison", "check removed", "bound", "error ignored", "logic", "negation")

FLIP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
OPERATOR = re.compile(r"<<=|>>=|<<|>>|->|<=|>=|==|!=|&&|\|\||<|>")
BLANK = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
                   re.DOTALL | re.MULTILINE)
SKIPPED_CALL = re.compile(r"\b(?:assert|static_assert|_Static_assert|log_\w+)\s*\(")
IF = re.compile(r"\bif\s*\(")
LEAVES = re.compile(r"\s*(?:return|goto|break|continue)\b")
STEP = re.compile(r"(?<=[\w\])]) ([+-]) 1\b(?!\.)")
BOUND = re.compile(r"(?:[<>]=?) (\w+_MAX|\d+)\b(?! *[\w(.])")
# if (x < y) x = y; with <= the result is the same.
CLAMP = re.compile(r"if \((.+) (?:<|>|<=|>=) (.+)\) \1 = \2;$")
FAILURE = re.compile(r"\breturn (-1|false|[A-Z]\w*_E_\w+|(?:\w*(?:fail|error_set|refuse|error)\w*)\s*\()")
NEGATED = re.compile(r"(?<=[(&|] )!|(?<=\()!(?=[\w(])")


def blanked(text):
    """Returns text of the same length and lines, with spaces instead of anything that is not code."""
    return BLANK.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def closing(code, start):
    """The index after the bracket that closes the one at start."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(code)


def bodies(code):
    """Yields (start, end) of each function's body: its opening brace is in the first column or ends its head."""
    for match in re.finditer(r"^\{|^[A-Za-z_][^\n;={]*\)\s*\{", code, re.MULTILINE):
        start = match.end() - 1
        yield start, closing(code, start)


def sites(text):
    """Yields every mutation of a file as (start, end, replacement, kind), in the order of the text."""
    code = blanked(text)
    for match in SKIPPED_CALL.finditer(code):
        end = closing(code, match.end() - 1)
        code = code[:match.start()] + re.sub(r"[^\n]", " ", code[match.start():end]) + code[end:]
    found = set()
    for start, end in bodies(code):
        body = code[start:end]
        for match in OPERATOR.finditer(body):
            at = start + match.start()
            if match.group() in FLIP and not CLAMP.search(line_of(text, at)[1]):
                kind = "logic" if match.group() in ("&&", "||") else "comparison"
                found.add((start + match.start(), start + match.end(), FLIP[match.group()], kind))
        for match in IF.finditer(body):
            first, last = match.end() - 1, closing(body, match.end() - 1)
            if LEAVES.match(body, last):
                condition = text[start + first:start + last]
                found.add((start + first, start + last, f"(0 && {condition})", "check removed"))
        for match in STEP.finditer(body):
            found.add((start + match.start(), start + match.end(), "", "bound"))
        for match in BOUND.finditer(body):
            found.add((start + match.start(1), start + match.end(1), f"({match.group(1)} + 1)", "bound"))
        for match in FAILURE.finditer(body):
            value = match.start(1)
            last = body.index(";", value)
            while body.count("(", value, last) != body.count(")", value, last):
                last = body.index(";", last + 1)
            what = text[start + value:start + last]
            good = "true" if what == "false" else "0" if what == "-1" else f"({what}, 0)"
            found.add((start + value, start + last, good, "error ignored"))
        for match in NEGATED.finditer(body):
            found.add((start + match.start(), start + match.end(), "", "negation"))
    return sorted(found)


def apply(text, site):
    start, end, replacement, _ = site
    return text[:start] + replacement + text[end:]


def line_of(text, at):
    """(number, text) of the line at an index."""
    first = text.rfind("\n", 0, at) + 1
    last = text.find("\n", at)
    return text.count("\n", 0, at) + 1, text[first:last if last >= 0 else len(text)].strip()
