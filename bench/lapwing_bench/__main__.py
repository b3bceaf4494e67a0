"""Lets `python3 bench/lapwing_bench ...` run straight from the source tree, as well as `python3 -m lapwing_bench`."""

import os
import sys

if not __package__:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lapwing_bench.main import run  # noqa: E402  (the path comes first)

sys.exit(run(sys.argv[1:]))
