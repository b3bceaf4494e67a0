import tempfile
import unittest
from pathlib import Path

from lapwing_bench import results
from lapwing_bench.errors import BenchError

from .stored import candidate, line, run, stored


class Lines(unittest.TestCase):
    def test_reads_results_among_what_launchers_say(self):
        figures, problem = results.parse_output(
            f"a launcher's greeting\n{line()}\n\n  {line(x=None, x_name=None, x_unit=None)}\n"
        )
        self.assertIsNone(problem)
        self.assertEqual([figure.x for figure in figures], [8, None])
        self.assertEqual(figures[1].x_name, "")

    def test_refuses_malformed_lines_and_keeps_the_good_ones(self):
        bad = [
            '{"bench":"latency"',
            "{}",
            line(value="4"),
            line(value=float("nan")),
            line(value=float("inf")),
            line(value=True),
            line(better="faster"),
            line(x="8"),
            line(low=[]),
            line(samples=1.5),
            line(more=1),
            line(unit=None),
        ]
        for text in bad:
            with self.subTest(text):
                figures, problem = results.parse_output(f"{line()}\n{text}\n")
                self.assertEqual(len(figures), 1)
                self.assertIn("line 2 of the output is no result", problem)


class Files(unittest.TestCase):
    def test_come_back_as_they_were_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            results.save(stored(), path)
            self.assertEqual(results.load(path), stored())
            self.assertEqual([each.name for each in Path(folder).iterdir()], ["results.json"])

    def test_bad_files_are_refused_with_a_reason(self):
        cases = {
            "": "not a file of results",
            "[]": "of format",
            '{"format": 99}': "of format",
            '{"format": 1}': "damaged",
            '{"format": 1, "machines": [], "candidates": {}, "left_out": [], "runs": [{"figures": [{}]}]}': "damaged",
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            with self.assertRaisesRegex(BenchError, "cannot be read"):
                results.load(path)
            for text, reason in cases.items():
                with self.subTest(text):
                    path.write_text(text)
                    with self.assertRaisesRegex(BenchError, reason):
                        results.load(path)

    def test_merging_numbers_rounds_on_and_tells_versions_apart(self):
        other = stored()
        other.candidates["mpich-tcp"]["version"] = "1.3"
        merged = results.merge([stored(), other])
        self.assertEqual(sorted({run.round for run in merged.runs}), [1, 2, 3, 4, 5, 6])
        self.assertEqual(merged.candidates["mpich-tcp"]["version"], "1.2; 1.3")
        again = results.merge([merged, other, merged])
        self.assertEqual(again.candidates["mpich-tcp"]["version"], "1.2; 1.3")
        self.assertEqual(len(merged.left_out), 1)
        self.assertEqual(len(merged.machines), 2)


class Ratios(unittest.TestCase):
    def setUp(self):
        self.found = stored()
        (self.series,) = results.gather(self.found)

    def test_medians_over_rounds(self):
        self.assertEqual(self.series.xs(), [8, 1024])
        self.assertEqual(self.series.points[8]["lapwing-tcp"].value, 6.0)

    def test_best_peer_is_neither_lapwing_nor_raw(self):
        self.assertEqual(results.best_peer(self.found, self.series, 8), "mpich-tcp")
        self.assertEqual(results.best_peer(self.found, self.series, 1024), "openmpi-tcp")

    def test_best_peer_without_threads(self):
        self.found.candidates["openmpi-tcp"] = candidate("openmpi", variant="thread")
        self.assertEqual(results.best_peer(self.found, self.series, 1024, threads=False), "mpich-tcp")

    def test_ratio_is_built_within_rounds(self):
        ratio = results.ratio(self.series, 8, "lapwing-tcp", "mpich-tcp")
        self.assertAlmostEqual(ratio.least, 0.8)
        self.assertAlmostEqual(ratio.most, 1.6)
        self.assertAlmostEqual(ratio.value, 1.2)
        self.assertEqual(ratio.rounds, 2)

    def test_turns_of_a_round_are_kept_apart(self):
        self.found.runs = [run("lapwing-tcp", 1, x8=value) for value in (1.0, 2.0, 3.0)]
        self.found.runs += [run("mpich-tcp", 1, x8=value) for value in (1.0, 1.0, 1.0)]
        for number, each in enumerate(self.found.runs):
            each.turn = number % 3
        (series,) = results.gather(self.found)
        ratio = results.ratio(series, 8, "lapwing-tcp", "mpich-tcp")
        self.assertEqual((ratio.value, ratio.least, ratio.most, ratio.rounds), (2.0, 1.0, 3.0, 3))

    def test_interval_of_the_median(self):
        for count, expected in ((1, (0, 0)), (5, (0, 4)), (6, (0, 5)), (9, (1, 7)), (20, (5, 14)), (40, (13, 26))):
            self.assertEqual(results.interval(range(count)), expected, count)

    def test_below_one_is_better_for_rates_too(self):
        self.assertEqual(results.quotient("lower", 2, 4), 0.5)
        self.assertEqual(results.quotient("higher", 4, 2), 0.5)
        self.assertIsNone(results.quotient("none", 4, 2))
        self.assertIsNone(results.quotient("lower", 0, 0))
        self.assertIsNone(results.quotient("lower", 1, 0))
        self.assertEqual(results.quotient("lower", 0, 1), 0)

    def test_no_ratio_without_a_common_round(self):
        self.found.runs = [run("lapwing-tcp", 1, x8=1.0), run("mpich-tcp", 2, x8=1.0)]
        (series,) = results.gather(self.found)
        self.assertIsNone(results.ratio(series, 8, "lapwing-tcp", "mpich-tcp"))
        self.assertIsNone(results.ratio(series, 8, "lapwing-tcp", "intel-tcp"))

    def test_transports_are_kept_apart(self):
        self.found.candidates["mpich-tcp"]["transport"] = "shm"
        self.assertEqual([series.transport for series in results.gather(self.found)], ["tcp", "shm"])
