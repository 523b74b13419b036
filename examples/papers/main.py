"""Runs experiments and writes their report; `run` installs and builds everything first."""
import argparse
import importlib
import os
import pkgutil
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True
import experiments
import report
from lab import Lab
from published import Missing
from record import Failure


def load():
    """Returns the experiments, sorted by ORDER: every module in experiments/ that has a NAME."""
    found = [importlib.import_module(f"experiments.{module.name}")
             for module in pkgutil.iter_modules(experiments.__path__)]
    return sorted((module for module in found if hasattr(module, "NAME")), key=lambda module: module.ORDER)


def shape(text):
    """Parses EXECUTORSxSLOTS: 4x1 is four executors with one slot each."""
    found = re.fullmatch(r"([1-9]\d?)x([1-9]\d?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not EXECUTORSxSLOTS, such as 4x1")
    return int(found[1]), int(found[2])


def arguments(known):
    parser = argparse.ArgumentParser(prog="examples/papers/run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run (default: all)")
    parser.add_argument("--data", metavar="RATINGS", help="ratings to use instead of generated ones")
    parser.add_argument("--out", metavar="DIR", help="directory of the report")
    parser.add_argument("--quick", action="store_true", help="less data, fewer repeats")
    parser.add_argument("--keep", action="store_true", help="keep DIR/work, the data and the outputs of the jobs")
    parser.add_argument("--shape", metavar="EXECUTORSxSLOTS", default="4x1", type=shape,
                        help="size of the cluster for the experiments of the Hadoop program (default: 4x1, as in the paper)")
    parser.add_argument("--list", action="store_true", help="list the experiments and stop")
    parser.add_argument("--default-out", default="build/papers", help=argparse.SUPPRESS)
    args = parser.parse_args()
    unknown = [name for name in args.names if name != "all" and name not in known]
    if unknown:
        parser.error(f"no such experiment: {', '.join(unknown)}; there are {', '.join(known)}")
    if args.data is not None and not os.access(args.data, os.R_OK):
        parser.error(f"cannot read {args.data}")
    return args


def check_all_shown(lab):
    """Raises Missing unless each published figure is in a table of an experiment."""
    missing = lab.published.not_shown()
    if missing:
        raise Missing("no experiment shows these published figures:\n" + "\n".join(
            f"  {f.paper}, {f.where}: {f.row} {f.column} = {f.value} {f.unit}" for f in missing))


def main():
    table = {experiment.NAME: experiment for experiment in load()}
    args = arguments(table)
    if args.list:
        for name, experiment in table.items():
            print(f"{name:16} {experiment.TITLE}")
        return 0
    wanted = list(table) if not args.names or "all" in args.names else args.names
    lab = Lab(os.path.abspath(args.out or args.default_out), args.data, args.quick, args.shape)
    try:
        print("experiments:", flush=True)
        for name in wanted:
            begin = time.monotonic()
            with lab.experiment(name, table[name].TITLE):
                table[name].run(lab)
            print(f"  {name:34} {time.monotonic() - begin:8.3f} s", flush=True)
        page = report.write(lab)
        if set(wanted) == set(table):
            check_all_shown(lab)
    finally:
        if not args.keep:
            shutil.rmtree(lab.work, ignore_errors=True)
    good, bad = lab.checked()
    print(f"\nreport: {page}\n{len(lab.published.shown)} of {len(lab.published.figures)} published figures are in the report"
          f"\n{good} checks hold, {bad} do not")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, Missing) as failure:
        print(f"\n{failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
