"""Shows where the time of a suite goes."""


def print_slowest(seconds, most=20):
    """`seconds`: of each test, by its name."""
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1])[:most]:
        print(f"slowest: {spent:6.1f} s {name}")
