"""The targets of receive in the kernel: the commands that are run, the verdicts, and what is said of cells without a figure."""

import json
import unittest
from pathlib import Path
from unittest import mock

from lapwing_bench import receive
from lapwing_bench.peers import Installation
from lapwing_bench.receive import ANY, BARE, BUSY, HERE, KERNEL, LAB, MPI, RAW, USER, Figures, Row, Way

INSTALLATIONS = {name: Installation(name, Path(f"/{name}"), "1") for name in ("lapwing", "mpich")}


def figures(*values, failure="", series="one way", x=8) -> Figures:
    made = Figures(failure=failure)
    for value in values:
        made.add(json.dumps({"series": series, "x": x, "value": value, "high": 10 * value}) + "\nsomething else\n")
    return made


def verdict(row: Row, column: str, **measured) -> str:
    ways = {"mpi": Way(KERNEL, MPI), "any": Way(KERNEL, ANY), "user": Way(USER), "raw": Way(RAW), "bare": Way(BARE)}
    return receive.verdict(row, column, {ways[name]: each for name, each in measured.items()})


class TestReceive(unittest.TestCase):
    def command(self, way: Way, place=HERE, lab=None):
        programs = mock.Mock()
        programs.path = lambda name, library: f"/{library}/{name}"
        session = receive.Session(INSTALLATIONS, programs, True)
        return session.command((("latency", "--sizes", "8"), place, 2), way, lab)

    def test_ways_differ_in_what_receives_and_into_which_memory(self):
        line, added = self.command(Way(KERNEL, MPI))
        self.assertEqual(line[-6:], ["/lapwing/latency", "--sizes", "8", "--memory", "mpi", "--quick"])
        self.assertEqual((added["LAPWING_RECEIVE"], added["LAPWING_TRANSPORTS"]), ("kernel", "self,tcp"))
        line, added = self.command(Way(USER))
        self.assertNotIn("--memory", line)
        self.assertNotIn("LAPWING_RECEIVE", added)
        self.assertEqual(self.command(Way(RAW))[0], ["/raw/latency", "--sizes", "8", "--only", "latency", "--quick"])
        self.assertEqual(self.command(Way("mpich"))[0][0], "/mpich/bin/mpiexec")

    def test_hosts_of_the_lab_receive_alike(self):
        lab = mock.Mock()
        lab.environment = lambda candidate: {"LAB": "b1"}
        _, added = self.command(Way(KERNEL, ANY), LAB, lab)
        self.assertEqual((added["LAPWING_RECEIVE"], added["LAB"]), ("kernel", "b1"))

    def test_a_ratio_is_met_missed_or_not_decided(self):
        row = Row("", ("latency",), "one way", 8, (0.6, 0.8), RAW)
        self.assertEqual(verdict(row, MPI, mpi=figures(1, 1), raw=figures(2, 4)), "met: 1.00, 0.38 of raw sockets (0.60)")
        self.assertTrue(verdict(row, MPI, mpi=figures(1, 1), raw=figures(2, 1)).startswith("not decided"))
        self.assertTrue(verdict(row, ANY, any=figures(1), raw=figures(1)).startswith("missed"))

    def test_where_the_bare_mechanism_does_not_reach_a_limit_it_makes_another(self):
        row = Row("", ("latency",), "one way", 8, (0.6, 0.6), RAW, bare=("mapped", "any"))
        bare = figures(2, series="mapped")
        self.assertEqual(verdict(row, MPI, mpi=figures(2.3), raw=figures(3), bare=bare), "met: 2.30, 0.77 of raw sockets (0.60); the bare mechanism at best 2.00, so 1.2 times that")
        self.assertTrue(verdict(row, MPI, mpi=figures(2.5), raw=figures(3), bare=bare).startswith("missed"))
        self.assertTrue(verdict(row, MPI, mpi=figures(2.3, 2.3), raw=figures(3, 3), bare=figures(9, 1, series="mapped")).startswith("missed"))
        self.assertEqual(verdict(row, MPI, mpi=figures(2.3), raw=figures(4), bare=bare), "met: 2.30, 0.57 of raw sockets (0.60)")
        self.assertEqual(verdict(row, ANY, any=figures(2.3), raw=figures(3), bare=bare), "missed: 2.30, 0.77 of raw sockets (0.60)")
        row = Row("", ("busy_receiver",), "one way", 8, (100, 100), bare=("mapped", "any"))
        self.assertTrue(verdict(row, MPI, mpi=figures(130), bare=figures(110, series="mapped")).startswith("met: 130 (100); the bare mechanism at best 110"))

    def test_the_bare_mechanism_runs_by_itself(self):
        run = receive.run_of(receive.ROWS[0])
        programs = mock.Mock(installed=lambda name: f"/bench/{name}")
        line, added = receive.Session(INSTALLATIONS, programs, True).command(run, Way(BARE), None)
        self.assertEqual((line, added), (["/bench/kernel_receive", "--sizes", "8,65536", "--joins", "1", "--quick"], {}))
        row = Row("", ("busy_receiver",), "one way", 8, (1.2, 1.2), BARE, BUSY, bare=("answered", "answered"))
        self.assertEqual(verdict(row, MPI, mpi=figures(11), bare=figures(10, series="answered")), "met: 11.0, 1.10 of the bare mechanism (1.20)")

    def test_a_program_that_is_missing_is_told(self):
        programs = mock.Mock(installed=lambda name: f"/nonexistent/{name}")
        measured = Figures()
        receive.Session(INSTALLATIONS, programs, True).measure(receive.run_of(receive.ROWS[0]), Way(BARE), None, measured)
        self.assertRegex(measured.failure, "^/nonexistent/kernel_receive cannot be started: No such file")

    def test_of_a_rate_more_is_better(self):
        row = Row("", ("latency",), "one way", 8, (1.0, 1.0), USER, is_rate=True)
        self.assertTrue(verdict(row, ANY, any=figures(300), user=figures(200)).startswith("met"))
        self.assertTrue(verdict(row, ANY, any=figures(200), user=figures(300)).startswith("missed"))

    def test_a_limit_may_be_of_the_figure_itself(self):
        row = Row("", ("latency",), "one way", 8, (100, 100), high=True)
        self.assertEqual(verdict(row, ANY, any=figures(9)), "met: 90.0 (100)")
        self.assertTrue(verdict(row, ANY, any=figures(11)).startswith("missed"))

    def test_what_has_no_target_is_shown(self):
        row = Row("", ("latency",), "one way", 8, (1, None))
        self.assertEqual(verdict(row, ANY, any=figures(7)), "no target: 7.00")

    def test_what_has_no_figure_says_why(self):
        row = Row("", ("connections",), "one way", 8, (1.0, 1.0), USER)
        self.assertEqual(verdict(row, ANY, any=figures(failure="no end")), "could not run: no end")
        self.assertEqual(verdict(row, ANY, any=figures(1), user=figures(failure="exit code 1")), "could not run: the library: exit code 1")
        self.assertEqual(verdict(row, ANY, any=figures(1, failure="one turn failed")), "could not run: one turn failed")
        self.assertEqual(verdict(row, ANY, any=figures(1, series="another")), "could not run: no such figure")

    def test_the_table_has_every_row_that_was_measured_and_counts_its_cells(self):
        rows = receive.ROWS[:2]
        measured = {Way(KERNEL, MPI): figures(1), Way(KERNEL, ANY): figures(3), Way(USER): figures(2), Way(RAW): figures(2)}
        text = receive.text(rows, {receive.run_of(rows[0]): measured}, 1)
        self.assertIn("Of 4 cells: 1 met, 0 not decided, 1 missed, 2 could not run.", text)
        self.assertIn("| 8 B one way | one machine | met: 1.00, 0.50 of raw sockets (1.00) | missed: 3.00, 1.50 of raw sockets (1.00) |", text)
        self.assertIn("the library 2.00, raw sockets 2.00", text)

    def test_rows_of_one_run_agree_and_have_a_program(self):
        for row in receive.ROWS:
            self.assertTrue((receive.Path(__file__).parents[2] / f"{row.program[0]}.c").exists(), row.what)
            ways = receive.ways_of(receive.run_of(row), INSTALLATIONS)
            self.assertTrue({Way(KERNEL, MPI), Way(KERNEL, ANY), Way(USER)} <= set(ways), row.what)
            self.assertIn("MEMORY_OPTION", (receive.Path(__file__).parents[2] / f"{row.program[0]}.c").read_text(encoding="utf-8"))
            self.assertTrue(not row.against or Way(row.against) in ways, row.what)


if __name__ == "__main__":
    unittest.main()
