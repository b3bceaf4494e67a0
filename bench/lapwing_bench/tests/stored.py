"""A small stored result that the tests share: two rounds of latency over TCP, and a failure."""

import json

from lapwing_bench import results

FIGURE = {
    "bench": "latency",
    "series": "one way",
    "x": 8,
    "x_name": "message size",
    "x_unit": "B",
    "value": 4.0,
    "unit": "us",
    "low": 3.5,
    "high": 5.0,
    "samples": 100,
    "better": "lower",
}


def line(**changes) -> str:
    return json.dumps({**FIGURE, **changes})


def candidate(library: str, transport: str = "tcp", variant: str = "") -> dict:
    return {
        "library": library,
        "title": library.title() + (f" <{variant}>" if variant else ""),
        "transport": transport,
        "variant": variant,
        "version": "1.2",
        "settings": ["NAME=value"],
    }


def run(name: str, number: int, **values) -> results.Run:
    """values: x8=4.0 makes a figure at x = 8."""
    figures = [results.figure_from({**FIGURE, "x": int(x[1:]), "value": value}) for x, value in values.items()]
    return results.Run(
        "latency",
        name,
        number,
        2,
        command=["mpiexec", "-n", "2", "latency"],
        environment={"NAME": "a b"},
        seconds=1.5,
        load=0.5,
        others=0.1,
        figures=figures,
    )


def stored() -> results.Results:
    found = results.Results(
        machines=[{"date": "2026-01-02 03:04 UTC", "processor": "a processor", "kernel": "Linux 6"}],
        candidates={
            "lapwing-tcp": candidate("lapwing"),
            "mpich-tcp": candidate("mpich"),
            "openmpi-tcp": candidate("openmpi"),
            "raw-tcp": candidate("raw"),
        },
        left_out=["Intel MPI is left out: no <network>"],
    )
    for number, factor in ((1, 1.0), (2, 2.0)):
        found.runs += [
            run("lapwing-tcp", number, x8=4.0 * factor, x1024=6.0),
            run("mpich-tcp", number, x8=5.0, x1024=5.0),
            run("openmpi-tcp", number, x8=8.0, x1024=3.0),
            run("raw-tcp", number, x8=4.0),
        ]
    failed = run("openmpi-tcp", 3)
    failed.failure = "exit code 1: <it> broke"
    found.runs.append(failed)
    return found
