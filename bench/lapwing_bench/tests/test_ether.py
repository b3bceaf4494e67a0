"""The tables of raw Ethernet: the command of a job, and what is written of its turns."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lapwing_bench import ether
from lapwing_bench.errors import BenchError
from lapwing_bench.peers import Installation


def command(table: ether.Table, way: ether.Way) -> list:
    lab = mock.Mock()
    lab.on = lambda host: ["on", host]
    return ether.Run(table, lab, Installation("lapwing", Path("/l"), "1"), mock.Mock(), False).command(way, ("program",))


class TestEther(unittest.TestCase):
    def test_ranks_are_spread_over_hosts_and_cores(self):
        way = ether.Way("bound", cores=(0, 1))
        words = " ".join(command(ether.TABLES["exchange4"], way))
        job = "-n 1 on h1 taskset -c 0 program : -n 1 on h1 taskset -c 1 program : -n 1 on h2 taskset -c 0 program : -n 1 on h2 taskset -c 1 program"
        self.assertEqual(words, "/l/bin/mpiexec --bind-to none " + job)
        self.assertEqual(command(ether.TABLES["placement"], way)[-3:], ["-c", "1", "program"])
        self.assertNotIn("taskset", command(ether.TABLES["placement"], ether.Way("free")))

    def test_a_cell_has_the_median_and_the_extremes(self):
        table = ether.Table("Some", (), (), {("one way", 64): "64 B", ("one way", 65): "never"}, (ether.Way("a"),))
        measured = ether.Measured(turns=3)
        for value in (3.0, 1.0, 2.0):
            measured.add("one way", 64.0, value)
        text = ether.text_of(table, {"a": measured, "b": ether.Measured()})
        self.assertIn("Median of 3 turns", text)
        self.assertIn("| a | 2.00 (1.00 to 3.00) |\n| b | – |\n", text)
        self.assertNotIn("never", text)

    def test_a_folder_gathers_turns(self):
        with tempfile.TemporaryDirectory() as folder:
            for value in (1.0, 5.0):
                measured = ether.Measured(turns=1)
                measured.add("one way", 64, value)
                ether.Store(Path(folder)).add("placement", {"a": measured})
            text = ether.Store(Path(folder)).text(["placement", "exchange4"])
            self.assertEqual((Path(folder) / "ether.md").read_text("utf-8"), text)
        self.assertIn("Median of 2 turns", text)
        self.assertIn("| a | 3.00 (1.00 to 5.00) |", text)

    def test_a_table_that_fails_is_told_and_the_others_follow(self):
        def measure(name, lapwing, programs, store, options, say):
            if name == "placement":
                raise BenchError("a way: exit code 1")
            measured = ether.Measured(turns=1)
            measured.add("one way", 64, 3.0)
            store.add(name, {"a": measured})

        said = []
        with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(ether, measure=measure, check_rights=mock.DEFAULT):
            text, complete = ether.tables(["placement", "frames"], mock.Mock(), Path(folder), mock.Mock(), said.append)
        self.assertIn("| a | 3.00 |", text)
        self.assertIn("placement was not measured to its end: a way: exit code 1", text)
        self.assertFalse(complete)
        self.assertEqual(len(said), 1)

    def test_every_table_names_what_its_programs_can_be(self):
        for name, table in ether.TABLES.items():
            for program, *_ in table.programs:
                self.assertTrue((ether.Path(__file__).parents[2] / f"{program}.c").exists(), f"{name}: {program}")
            self.assertEqual(table.ranks % 2, 0)


if __name__ == "__main__":
    unittest.main()
