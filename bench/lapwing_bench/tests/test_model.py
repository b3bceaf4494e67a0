"""The verdict on the model: which orders are wrong, and what a choice loses."""

import unittest

from lapwing_bench.model import CANDIDATE, Cell, report


def cell(predicted, measured, chosen):
    return Cell("bcast", "shm", 4, 1024, chosen, predicted, measured)


class TestVerdict(unittest.TestCase):
    def test_only_clear_differences_count(self):
        close = cell({"a": 2, "b": 1}, {"a": 10, "b": 12}, "b")
        self.assertEqual(close.pairs(), [])
        clear = cell({"a": 2, "b": 1}, {"a": 10, "b": 14}, "b")
        self.assertEqual(clear.pairs(), [("a", "b")])
        self.assertEqual(clear.wrong(), [("a", "b")])
        self.assertEqual(cell({"a": 1, "b": 2}, {"a": 10, "b": 14}, "a").wrong(), [])

    def test_a_choice_loses_what_it_takes_more(self):
        self.assertAlmostEqual(cell({"a": 1, "b": 2}, {"a": 30, "b": 20}, "a").loss(), 1.5)
        self.assertEqual(cell({"a": 1}, {}, "a").loss(), 1)

    def test_the_report_names_the_cells_that_lose(self):
        text = report([cell({"a": 1, "b": 2}, {"a": 30, "b": 20}, "a")])
        self.assertIn("1 pairs of algorithms differ by more than 30 %; the model has 1 of them", text)
        self.assertIn("bcast, shm, 4 ranks, 1024 B: a is chosen; us: b 20.0 (predicted 2.0), a 30.0", text)

    def test_lines_of_the_tool_are_understood(self):
        found = CANDIDATE.match("  * binomial                   1.49         0.74   log2 p (L + 2o + n G)")
        self.assertEqual(found.groups(), ("*", "binomial", "1.49", "0.74"))
        self.assertIsNone(CANDIDATE.match("                            time us    processor   formula of the time"))


if __name__ == "__main__":
    unittest.main()
