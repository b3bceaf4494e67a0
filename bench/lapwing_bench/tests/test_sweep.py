"""A sample of cells: intervals, shares, the grid, and several machines side by side."""

import contextlib
import io
import itertools
import statistics
import tempfile
import unittest
from pathlib import Path

from lapwing_bench import beside, candidates, machine, main, markdown, page, plot, results, running, sweep, targets
from lapwing_bench import verdicts
from lapwing_bench.questions import QUESTIONS

from .stored import candidate, stored


def swept(values: dict, turns: int = 5, question: str = "sweep") -> results.Results:
    """values: (series, size) -> Lapwing's time; the peer's is always 10."""
    found = results.Results(
        machines=[{"date": "2026-01-02", "processor": "one", "cores": "2 usable of 2", "kernel": "Linux 6"}],
        candidates={"lapwing-tcp": candidate("lapwing"), "mpich-tcp": candidate("mpich")},
    )
    for turn in range(turns):
        for name in found.candidates:
            figures = [
                results.Figure(
                    question, series, value if name == "lapwing-tcp" else 10.0, "us", "lower", size, "size", "B"
                )
                for (series, size), value in values.items()
            ]
            found.runs.append(results.Run(question, name, 1, 2, turn, figures=figures))
    return found


THREE = {("one way, reused", 0): 5.0, ("one way, pool", 3072): 10.0, ("exchange, reused", 3 << 20): 20.0}


class Bootstrap(unittest.TestCase):
    def test_is_what_drawing_every_sample_gives(self):
        for count in range(1, 7):
            values = [float(2**i) for i in range(count)]
            odd = sorted(statistics.median_low(drawn) for drawn in itertools.product(values, repeat=count))
            high = sorted(statistics.median_high(drawn) for drawn in itertools.product(values, repeat=count))
            least = next(value for i, value in enumerate(odd, 1) if i >= 0.025 * len(odd) and odd[i : i + 1] != [value])
            most = next(
                value for i, value in enumerate(high, 1) if i >= 0.975 * len(high) and high[i : i + 1] != [value]
            )
            self.assertEqual(results.bootstrap_interval(values), (least, most), count)

    def test_ratios_of_a_sample_have_it_and_others_have_the_sign_test(self):
        found = swept({("one way, reused", 8): 10.0}, turns=7)
        for each, value in zip([run for run in found.runs if run.candidate == "lapwing-tcp"], range(7)):
            each.figures[0].value = 10.0 * (value + 1)
        (series,) = results.gather(found)
        ratio = results.ratio(series, 8, "lapwing-tcp", "mpich-tcp")
        self.assertEqual((ratio.least, ratio.value, ratio.most), (2.0, 4.0, 6.0))
        series.question = "latency"
        ratio = results.ratio(series, 8, "lapwing-tcp", "mpich-tcp")
        self.assertEqual((ratio.least, ratio.value, ratio.most), (1.0, 4.0, 7.0))


class Sample(unittest.TestCase):
    def options(self, *words):
        chosen = main.parser().parse_args(list(words))
        return main.sample_words(chosen, main.chosen_questions(chosen))

    def test_seed_and_number_of_cells_reach_the_program(self):
        self.assertEqual(self.options("sweep"), ())
        self.assertEqual(self.options("sweep", "--seed", "7", "--cells", "20"), ("--seed", "7", "--cells", "20"))
        self.assertEqual(self.options("sweep", "--full"), ("--cells", str(main.ALL_CELLS)))

    def test_options_out_of_place_are_refused(self):
        for words, reason in (
            (("sweep", "--full", "--cells", "3"), "--full means all"),
            (("latency", "--seed", "3"), "belong to sweep"),
        ):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(main.main([*words, "--output", f"{folder}/out"]), 2)
            self.assertIn(reason, errors.getvalue())

    def test_peers_are_asked_without_compare(self):
        chosen = main.parser().parse_args(["sweep"])
        names = [each.name for each in main.chosen_candidates(chosen, main.chosen_questions(chosen))["sweep"]]
        self.assertIn("openmpi-shm", names)

    def test_near_and_far_cores_are_passes_of_their_own(self):
        task = running.Task(QUESTIONS["sweep"], candidates.parse("lapwing-shm"), 2, 1)
        lab = running.Task(QUESTIONS["sweep"], candidates.parse("lapwing-lab"), 2, 1)
        pairs = {"near": (0, 1), "far": (0, 8)}
        self.assertEqual(running.passes_of(task, pairs), (("--near", "0,1"), ("--far", "0,8")))
        self.assertEqual(running.passes_of(task, {}), ((),))
        self.assertEqual(running.passes_of(lab, pairs), ((),))
        collectives = running.Task(QUESTIONS["collectives"], candidates.parse("lapwing-shm"), 2, 1)
        self.assertEqual(running.passes_of(collectives, pairs), ((),))

    def test_what_has_cells_but_no_sample_is_not_asked_for_one(self):
        self.assertTrue(QUESTIONS["ascending"].cells)
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), tempfile.TemporaryDirectory() as folder:
            self.assertEqual(main.main(["ascending", "--cells", "3", "--output", f"{folder}/out"]), 2)
        self.assertIn("belong to sweep and collectives", errors.getvalue())


class Cores(unittest.TestCase):
    def test_hardware_threads_of_a_core_are_no_pair(self):
        topology = {0: ("0", "0"), 1: ("0", "0"), 2: ("0", "1"), 3: ("0", "2"), 4: ("1", "0")}
        caches = {0: "0-2", 1: "0-2", 2: "0-2", 3: "3", 4: "4"}
        self.assertEqual(machine.pairs_among(topology, caches), {"near": (0, 2), "far": (0, 4)})
        self.assertEqual(machine.pairs_among({0: ("0", "0"), 1: ("0", "1")}, {0: "0-1", 1: "0-1"}), {})
        self.assertEqual(machine.pairs_among({0: ("0", "0")}, {0: "0"}), {})


class Showing(unittest.TestCase):
    def setUp(self):
        self.found = swept(THREE)

    def test_shares(self):
        cells = sweep.cells(self.found)
        rows = {row[0]: row[1:] for row in sweep.share_rows(cells)}
        self.assertEqual(rows["all"], ["3", "2 (67 %)", "2 (67 %)", "1.00", "1 (33 %)", "1 (33 %)"])
        self.assertEqual(rows["exchange"][1], "0 (0 %)")
        self.assertEqual(list(rows)[-3:], ["below 1 KiB", "1 KiB to 32 KiB", "1 MiB and more"])

    def test_what_is_lost_is_listed_and_the_grid_has_every_size(self):
        text = sweep.text(self.found)
        self.assertIn("TCP: exchange, reused, 3 MiB", text)
        for size in ("0 B", "3 KiB", "3 MiB"):
            self.assertIn(size, text)
        self.assertEqual(sweep.text(stored()), "")

    def test_page_and_markdown(self):
        text = page.page(self.found, Path("/nonexistent"))
        self.assertIn(f'style="background:{sweep.colour(2.0)}"', text)
        self.assertIn("geometric mean", text)
        made = markdown.named("sweep-tcp", self.found)
        self.assertTrue(made.startswith("| TCP | cells | at most 1.00"))
        self.assertIsNone(markdown.named("sweep-shm", self.found))

    def test_many_series_make_a_grid_for_each_habit(self):
        names = [f"{name}, {mode}, 2 ranks" for mode in ("back to back", "barrier between") for name in map(str, range(16))]
        found = swept({(name, 8): 10.0 + i for i, name in enumerate(names)}, question="collectives")
        grids = sweep.grids(sweep.cells(found))
        self.assertEqual(list(grids), ["back to back, 2 ranks", "barrier between, 2 ranks"])
        self.assertEqual(sweep.head("3, back to back, 2 ranks", "back to back, 2 ranks"), "3")
        self.assertIn("back to back, 2 ranks\n", sweep.text(found))
        self.assertIn("<b>barrier between, 2 ranks</b>", page.page(found, Path("/nonexistent")))
        self.assertIn("15, barrier between, 2 ranks, 8 B", sweep.text(found))

    def test_two_samples_of_one_transport_stay_apart(self):
        found = swept(THREE)
        other = swept({("Bcast, back to back, 2 ranks", 8): 30.0}, question="collectives")
        found.runs += other.runs
        self.assertEqual(list(sweep.places(sweep.cells(found))), [("sweep", "tcp"), ("collectives", "tcp")])
        self.assertEqual(markdown.named("sweep-tcp", found), markdown.named("sweep-tcp", swept(THREE)))
        self.assertIn("| all | 1 |", markdown.named("collectives-tcp", found))

    def test_colours(self):
        self.assertEqual(sweep.colour(1.0), "#ffffff")
        self.assertEqual(sweep.colour(2.0), sweep.colour(5.0))
        self.assertNotEqual(sweep.colour(2.0), sweep.colour(0.5))

    def test_plot(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("no matplotlib")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(plot.draw(self.found, Path(folder)), ["sweep-tcp.svg"])
            self.assertIn("2.00", (Path(folder) / "sweep-tcp.svg").read_text())


class Share(unittest.TestCase):
    def verdict(self, share):
        found = swept(THREE)
        target = targets.Target("what", "sweep", ("tcp",), ".*", "peer", 1.0, share=share)
        return targets.judge(target, found, results.gather(found))

    def test_enough_points_are_enough(self):
        self.assertEqual(self.verdict(0.6).state, targets.MET)
        self.assertEqual(self.verdict(0.7).state, targets.MISSED)
        self.assertIn("at 60 % of the points", verdicts.limit_text(self.verdict(0.6).target))


class Machines(unittest.TestCase):
    def setUp(self):
        self.one, self.other = swept(THREE), swept({("one way, reused", 0): 11.0})
        self.other.machines[0]["processor"] = "another <b>"

    def test_sessions_of_one_machine_are_merged_and_machines_are_not(self):
        machines = beside.by_machine([self.one, self.other, swept(THREE)])
        self.assertEqual([len(found.machines) for found in machines], [2, 1])

    def test_side_by_side(self):
        text = beside.page_of([self.one, self.other])
        for expected in ("0.50", "1.10", "another &lt;b&gt;", "1: Lapwing", "2: Lapwing", "1: one"):
            self.assertIn(expected, text)
        self.assertIn("another", beside.text([self.one, self.other]))

    def test_page_of_different_machines_needs_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, found in (("a", self.one), ("b", self.other)):
                (Path(folder) / name).mkdir()
                results.save(found, Path(folder) / name / "results.json")
            folders = [f"{folder}/a", f"{folder}/b"]
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(main.main(["page", *folders]), 2)
                self.assertEqual(main.main(["page", *folders, "--output", f"{folder}/both"]), 0)
            self.assertIn("different machines", errors.getvalue())
            self.assertTrue((Path(folder) / "both" / "page.html").exists())


if __name__ == "__main__":
    unittest.main()
