import html.parser
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lapwing_bench import candidates, markdown, page, plot, report, results, table, targets, verdicts
from lapwing_bench.questions import QUESTIONS

from .stored import candidate, run, stored


class Numbers(unittest.TestCase):
    def test_three_digits_and_no_exponents(self):
        cases = {
            0: "0",
            0.248123: "0.248",
            0.25: "0.250",
            4.186: "4.19",
            12.34: "12.3",
            99.96: "100",
            123.4: "123",
            40123.0: "40 100",
            1234567.0: "1 230 000",
            -2.5: "-2.50",
            0.00123: "0.00123",
        }
        for value, text in cases.items():
            self.assertEqual(table.number(value), text)

    def test_points(self):
        self.assertEqual(table.point(8, "B"), "8 B")
        self.assertEqual(table.point(65536, "B"), "64 KiB")
        self.assertEqual(table.point(1500, "B"), "1500 B")
        self.assertEqual(table.point(4 << 20, "B"), "4 MiB")
        self.assertEqual(table.point(16, "count"), "16")
        self.assertEqual(table.point(None, "B"), "-")


class Tables(unittest.TestCase):
    def test_every_candidate_has_a_column_and_the_best_a_mark(self):
        lines = table.tables(stored()).splitlines()
        self.assertEqual(lines[0], "latency, TCP: one way, us (lower is better)")
        self.assertEqual(lines[1].split(), ["message", "size", "lapwing", "mpich", "openmpi", "raw"])
        self.assertEqual(lines[3].split(), ["8", "B", "6.00", "5.00", "8.00", "4.00*"])
        self.assertEqual(lines[4].split(), ["1", "KiB", "6.00", "5.00", "3.00*", "-"])

    def test_ratios_name_the_best_peer(self):
        text = table.ratios(stored())
        self.assertIn("mpich-tcp 1.20 (0.80-1.60)", " ".join(text.split()))

    def test_without_peers_there_are_no_ratios(self):
        found = stored()
        found.runs = [run("lapwing-tcp", 1, x8=1.0)]
        self.assertEqual(table.ratios(found), "")

    def test_single_figures_share_a_table(self):
        found = stored()
        found.runs = [run("lapwing-tcp", 1), run("mpich-tcp", 1)]
        for each, value in zip(found.runs, (2.0, 3.0)):
            each.figures = [
                results.Figure("idle", "wait", value, "%", "lower"),
                results.Figure("idle", "wake-ups", 1.0, "1/s", "none"),
            ]
        lines = table.tables(found).splitlines()
        self.assertEqual(lines[3].split(), ["wait,", "%", "2.00*", "3.00"])
        self.assertEqual(lines[4].split(), ["wake-ups,", "1/s", "1.00", "1.00"])
        self.assertIn("<td>wake-ups, 1/s</td>", page.page(found, Path("/nonexistent")))

    def test_a_busy_machine_is_told(self):
        found = stored()
        for each in found.runs:
            each.others = 0.05
        self.assertEqual(table.busy_line(found), "")
        for each in found.runs[1:]:
            each.others = 0.5
        self.assertIn("0.50 cores in the median", table.busy_line(found))

    def test_failures_are_told(self):
        self.assertIn("openmpi-tcp  2 ranks: exit code 1: <it> broke", table.failure_lines(stored()))


class Targets(unittest.TestCase):
    def verdict(self, against: str, limit: float):
        target = targets.Target("what", "latency", ("tcp",), "one way", against, limit)
        found = stored()
        return targets.judge(target, found, results.gather(found))

    def test_peer(self):
        verdict = self.verdict("peer", 1.5)
        self.assertEqual([finding.state for finding in verdict.findings], [targets.UNDECIDED, targets.MISSED])
        self.assertEqual(verdict.worst.ratio.other, "openmpi-tcp")
        self.assertEqual(verdict.state, targets.MISSED)

    def test_candidate_by_name(self):
        self.assertEqual(self.verdict("raw", 1.5).state, targets.UNDECIDED)
        self.assertEqual(self.verdict("raw", 2).state, targets.MET)
        self.assertIsNone(self.verdict("openmpi thread", 1.5))

    def test_percentiles_are_compared_where_a_target_asks_for_them(self):
        found = stored()
        for each in found.runs:
            for figure in each.figures:
                figure.high = 9.0 if each.candidate == "lapwing-tcp" else 3.0
        target = targets.Target("what", "latency", ("tcp",), "one way", "mpich", 2.0, high=True)
        verdict = targets.judge(target, found, results.gather(found))
        self.assertEqual([finding.ratio.value for finding in verdict.findings], [3.0, 3.0])
        self.assertEqual(verdict.state, targets.MISSED)

    def test_what_was_before(self):
        found = stored()
        found.candidates["lapwing-tcp-before"] = candidate("lapwing", variant="before")
        found.runs.append(run("lapwing-tcp-before", 1, x8=2.0))
        self.assertIn("lapwing-tcp-before 2.00", " ".join(table.ratios_to_before(found).split()))
        verdict = next(each for each in targets.judge_all(found) if each.target.against == "lapwing before")
        self.assertEqual((verdict.target.question, verdict.state), ("latency", targets.MISSED))
        self.assertEqual(table.ratios_to_before(stored()), "")

    def test_value(self):
        self.assertEqual(self.verdict("value", 8).count(targets.MET), 2)
        self.assertEqual(self.verdict("value", 6).count(targets.MET), 1)

    def test_verdicts_are_rows_of_text(self):
        found = stored()
        texts = verdicts.text(found).splitlines()
        self.assertEqual(texts.index(""), 2 + len(targets.judge_all(found)))
        self.assertTrue(texts[-1].startswith("latency, TCP: one way, 8 B"))
        self.assertTrue(texts[-1].endswith("not decided"))

    def test_losses_are_worst_first(self):
        lost = targets.losses(stored())
        self.assertEqual([finding.x for finding in lost], [1024, 8])
        self.assertEqual([finding.state for finding in lost], [targets.MISSED, targets.UNDECIDED])


class Markdown(unittest.TestCase):
    TEXT = (
        "# Title\n\n<!-- latency-tcp -->\n| old | table |\n|---|---|\n\n| mine | stays |\n"
        "<!-- idle-shm -->\n| x |\n<!-- word -->\n"
    )

    def test_tables_below_their_comments_are_made_anew_and_nothing_else(self):
        text, kept = markdown.refresh(self.TEXT, stored())
        self.assertEqual(kept, ["idle-shm", "word"])
        self.assertEqual(
            text.splitlines(),
            [
                "# Title",
                "",
                "<!-- latency-tcp -->",
                "| TCP, µs | Lapwing | MPICH | Open MPI | raw sockets | Lapwing / best peer |",
                "|---|---:|---:|---:|---:|---:|",
                "| one way, 8 B | 6.00 | **5.00** | 8.00 | 4.00 | 1.20 (0.80–1.60) |",
                "| one way, 1 KiB | 6.00 | 5.00 | **3.00** | – | 2.00 (2.00–2.00) |",
                "",
                "| mine | stays |",
                "<!-- idle-shm -->",
                "| x |",
                "<!-- word -->",
            ],
        )
        self.assertEqual(markdown.refresh(text, stored())[0], text)

    def test_a_new_text_has_all_tables(self):
        text = markdown.all_tables(stored())
        self.assertIn("<!-- targets -->\n| target |", text)
        self.assertIn("<!-- latency-tcp -->\n| TCP, µs |", text)
        self.assertNotIn("latency-shm", text)

    def test_a_report_is_named_after_day_and_machine_and_has_everything(self):
        found = stored()
        found.machines[0].update(
            processor="A(R) Model (TM) CPU @ 2 GHz",
            cores="2 usable of 4",
            command="lapwing bench x --output /home/me/here",
        )
        found.machines[0]["kernel"] = "Linux 6.1.2-mine"
        other = stored()
        other.machines[0].update(date="2026-01-03 00:00 UTC")
        with tempfile.TemporaryDirectory() as folder:
            paths = report.write([found, stored(), stored(), other], Path(folder))
            self.assertEqual(
                [path.name for path in paths],
                ["2026-01-02-a-model-2-cores.md", "2026-01-02-a-processor.md", "2026-01-03-a-processor.md"],
            )
            text = paths[0].read_text("utf-8")
        self.assertNotRegex(text, "/home|mine")
        for expected in (
            "lapwing bench x --output here",
            "Linux 6.1.2",
            "| one way, 8 B |",
            "NAME=value",
            "exit code 1",
            "Intel MPI is left out",
            "## Targets",
        ):
            self.assertIn(expected, text)

    def test_every_table_belongs_to_a_question(self):
        self.assertEqual(set(markdown.TABLES), {name for name in QUESTIONS if not QUESTIONS[name].cells})


class Balanced(html.parser.HTMLParser):
    VOID = {"meta", "img", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("src", "href") and not value.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")


class Page(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "latency-tcp.svg").write_text("<svg/>")
            self.text = page.page(stored(), Path(folder))

    def test_is_whole_and_needs_nothing_else(self):
        parser = Balanced()
        parser.feed(self.text)
        self.assertEqual(parser.open, [])
        self.assertEqual(len(parser.links), 1)
        self.assertTrue(parser.links[0].startswith("data:image/svg+xml;base64,"))

    def test_tells_everything(self):
        for text in (
            "a processor",
            "NAME=&#x27;a b&#x27; mpiexec -n 2 latency",
            "exit code 1: &lt;it&gt; broke",
            "no &lt;network&gt;",
            "How long does a message take",
            "1.20 (0.80-1.60)",
            "of 2</b>",
        ):
            self.assertTrue(text in self.text, text)
        self.assertNotIn("<it>", self.text)


class Plots(unittest.TestCase):
    def said_where_the_other_python_fails(self, errors: str) -> str:
        said = []
        failed = mock.Mock(returncode=1, stderr=errors)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(
            plot, "draw", side_effect=ImportError
        ), mock.patch.object(plot.subprocess, "run", return_value=failed), mock.patch.object(
            plot.sys, "executable", "/another/python3"
        ):
            self.assertEqual(plot.draw_somehow(stored(), Path(folder), said.append), [])
            self.assertEqual(list(Path(folder).iterdir()), [])
        return "\n".join(said)

    def test_without_matplotlib_a_line_says_what_to_do(self):
        said = self.said_where_the_other_python_fails("Traceback\nModuleNotFoundError: No module named 'matplotlib'\n")
        self.assertRegex(said, "matplotlib is missing")

    @unittest.skipUnless(Path("/usr/bin/python3").exists(), "no other Python")
    def test_what_else_fails_is_told(self):
        said = self.said_where_the_other_python_fails("Traceback\nKeyError: 'ether'\n")
        self.assertIn("KeyError: 'ether'", said)
        self.assertNotIn("matplotlib is missing", said)

    def test_every_candidate_has_a_style(self):
        for name in candidates.all_names():
            candidate = candidates.parse(name)
            self.assertIn(candidate.library, plot.COLOURS)
            self.assertIn(candidate.library, plot.MARKERS)
            self.assertIn(candidate.variant, plot.LINES, name)

    def test_one_file_for_each_question_and_transport(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("no matplotlib")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(plot.draw(stored(), Path(folder)), ["latency-tcp.svg"])
            self.assertIn("<svg", (Path(folder) / "latency-tcp.svg").read_text())
