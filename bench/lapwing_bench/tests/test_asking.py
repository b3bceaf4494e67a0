"""The command line, candidates, the order of runs, and the execution of one."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lapwing_bench import candidates, execution, lab, machine, main, peers, results, running
from lapwing_bench.errors import BenchError
from lapwing_bench.questions import QUESTIONS

from .stored import stored


def options(*words):
    return main.parser().parse_args(list(words))


def names_for(*words):
    chosen = options(*words)
    questions = main.chosen_questions(chosen)
    return {name: [each.name for each in found] for name, found in main.chosen_candidates(chosen, questions).items()}


class CommandLine(unittest.TestCase):
    def refuses(self, reason, *words):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), tempfile.TemporaryDirectory() as folder:
            self.assertEqual(main.main([*words, "--output", f"{folder}/out"]), 2)
            self.assertFalse(os.path.exists(f"{folder}/out"))
        self.assertRegex(errors.getvalue(), reason)

    def test_wrong_words_are_refused_with_a_reason(self):
        self.refuses("'latenzy' is no question; there are latency,", "latenzy")
        self.refuses("is no question", "compare", "--only", "x")
        self.refuses("--only belongs to compare", "latency", "--only", "idle")
        self.refuses("'lapwing-udp' is no candidate", "latency", "--candidates", "lapwing-udp")
        self.refuses("no candidate is left to ask", "idle", "--candidates", "raw-*")
        self.refuses("idle is not asked across hosts", "idle", "--lab")
        self.refuses("--ranks has no place there", "latency", "--lab", "--ranks", "2")
        self.refuses("--ranks takes numbers", "latency", "--ranks", "2,x")
        self.refuses("no command 'not-a-command'", "latency", "--prefix", "not-a-command 1")
        self.refuses("No closing quotation", "latency", "--prefix", "'")
        self.refuses("no installation of Lapwing in", "latency", "--lapwing", "/nonexistent")
        self.refuses("page needs folders", "page")
        self.refuses("--before FOLDER says which", "latency", "--candidates", "lapwing-shm-before")
        self.refuses("results.json cannot be read", "page", "/nonexistent")

    def test_a_folder_may_be_named_in_any_way(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            results.save(stored(), Path(folder) / "results.json")
            for name in (folder, folder + "/", f"{folder}/../{Path(folder).name}"):
                with contextlib.redirect_stderr(io.StringIO()) as errors:
                    self.assertEqual(main.main(["page", name]), 0, errors.getvalue())
                    self.assertEqual(main.main(["page", folder, "--output", name]), 0, errors.getvalue())
            self.assertTrue((Path(folder) / "page.html").exists())

    def test_a_reader_that_has_gone_is_no_error(self):
        for word in ("list", "--help"):
            reading, writing = os.pipe()
            os.close(reading)
            tool = Path(main.__file__).parent
            ended = subprocess.run([sys.executable, "-B", tool, word], stdout=writing, stderr=subprocess.PIPE, text=True)
            os.close(writing)
            self.assertEqual(ended.stderr, "", word)
            self.assertIn(ended.returncode, (0, 128 + signal.SIGPIPE), word)  # argparse may have swallowed it

    def test_numbers_must_be_positive(self):
        for words in (
            ("--rounds", "0"),
            ("--rounds", "x"),
            ("--timeout", "-1"),
            ("--timeout", "nan"),
            ("--timeout", "inf"),
        ):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                options("latency", *words)

    def test_a_question_asks_lapwing_and_compare_asks_all(self):
        self.assertEqual(
            names_for("latency")["latency"],
            ["lapwing-shm", "lapwing-shm-polling", "lapwing-tcp", "lapwing-tcp-polling", "raw-tcp"],
        )
        every = names_for("compare")
        self.assertEqual(list(every), list(QUESTIONS))
        self.assertIn("openmpi-tcp-thread", every["overlap_receive"])
        self.assertNotIn("openmpi-tcp-thread", every["latency"])
        self.assertIn("message_rate", names_for("message-rate"))

    def test_applications_are_several_questions_put_to_peers_too(self):
        chosen = names_for("applications")
        self.assertEqual(list(chosen), ["halo", "conjugate_gradient", "elimination"])
        for name in ("lapwing-shm", "lapwing-shm-polling", "mpich-shm", "openmpi-tcp"):
            self.assertIn(name, chosen["halo"])
        self.assertEqual(list(names_for("compare", "--only", "applications,idle")), [*chosen, "idle"])

    def test_an_earlier_installation_is_asked_by_turns_with_this_one_and_nothing_else_is(self):
        self.assertEqual(
            names_for("latency", "--before", "/earlier")["latency"],
            ["lapwing-shm", "lapwing-shm-before", "lapwing-tcp", "lapwing-tcp-before"],
        )
        self.assertEqual(
            names_for("latency", "--before", "/earlier", "--candidates", "*-shm*")["latency"],
            ["lapwing-shm", "lapwing-shm-before"],
        )
        for words, turns in ((("--before", "/x"), 10), (("--before", "/x", "--turns", "3"), 3), ((), 1)):
            chosen = options("latency", *words)
            self.assertEqual(main.with_turns(main.chosen_questions(chosen), chosen)[0].turns, turns)
        self.assertEqual(candidates.parse("lapwing-shm-before").installation, "before")

    def test_candidates_are_chosen_by_pattern_or_name(self):
        self.assertEqual(
            names_for("compare", "--only", "latency", "--candidates", "*-shm")["latency"],
            ["lapwing-shm", "mpich-shm", "intel-shm", "openmpi-shm"],
        )
        self.assertEqual(
            names_for("latency", "--candidates", "openmpi-tcp-thread,raw")["latency"], ["raw-tcp", "openmpi-tcp-thread"]
        )

    def test_across_hosts_there_are_other_candidates(self):
        every = names_for("compare", "--lab")
        self.assertEqual(list(every), [name for name, question in QUESTIONS.items() if question.lab])
        self.assertIn("overlap_collectives", every)
        self.assertNotIn("idle", every)
        self.assertTrue(all(name.split("-")[1] == "lab" for names in every.values() for name in names))

    def test_raw_ethernet_stands_beside_all_others_across_hosts(self):
        chosen = options("compare", "--transport", "ether", "--only", "latency")
        chosen.lab = True  # as main() has it
        questions = main.chosen_questions(chosen)
        names = [each.name for each in main.chosen_candidates(chosen, questions)["latency"]]
        self.assertEqual(names, ["lapwing-lab-ether", *QUESTIONS["latency"].lab])
        self.assertEqual(names_for("latency", "--transport", "shm")["latency"], ["lapwing-shm", "lapwing-shm-polling"])

    def test_receive_in_the_kernel_takes_turns_with_the_librarys_own_way(self):
        for more in ((), ("--candidates", "lapwing-tcp*")):
            names = names_for("latency", "--transport", "tcp", "--receive", "kernel", *more)["latency"]
            self.assertEqual(names[:2], ["lapwing-tcp", "lapwing-tcp-kernel"])
            self.assertEqual(len(names), len(set(names)))
        self.assertIn("lapwing-lab-kernel", names_for("latency", "--lab", "--receive", "kernel")["latency"])
        self.assertNotIn("lapwing-tcp-kernel", names_for("latency", "--transport", "tcp", "--receive", "user")["latency"])
        for nothing in (("--transport", "shm"), ("--candidates", "lapwing-shm")):
            with self.assertRaisesRegex(BenchError, "none receives by TCP"):
                names_for("latency", "--receive", "kernel", *nothing)

    def test_every_candidate_can_be_parsed(self):
        for name in candidates.all_names():
            self.assertEqual(candidates.parse(name).name, name)
        for question in QUESTIONS.values():
            for name in question.candidates + question.lab:
                candidates.parse(name)


class Launching(unittest.TestCase):
    def command(self, name, ranks):
        installation = peers.Installation(name.split("-")[0], Path("/peer"), "1")
        with mock.patch.object(candidates, "physical_cores", return_value=4):
            return candidates.command(candidates.parse(name), installation, ranks, ["program"])

    def test_ranks_are_bound_where_there_are_cores_enough(self):
        self.assertIn("core", self.command("openmpi-tcp", 4))
        self.assertIn("none", self.command("openmpi-tcp", 5))
        for ranks in (4, 5):
            self.assertIn("--oversubscribe", self.command("openmpi-tcp", ranks))
        self.assertEqual(self.command("lapwing-tcp", 8), ["/peer/bin/mpiexec", "-n", "8", "program"])
        self.assertEqual(self.command("raw-tcp", 2), ["program"])

    def test_hardware_threads_of_a_core_count_once(self):
        places = {0: ("0", "0"), 1: ("0", "1"), 2: ("0", "0"), 3: ("1", "0")}
        self.assertEqual(machine.distinct_cores(places), 3)
        self.assertEqual(machine.distinct_cores({0: ("", ""), 1: ("", "")}), 2)

    def test_settings_of_the_shell_stay_outside(self):
        with mock.patch.dict(
            os.environ, {"LAPWING_SPIN": "1", "FI_PROVIDER": "x", "LD_LIBRARY_PATH": "/x", "ELSE": "1"}
        ):
            clean = candidates.clean_environment()
        self.assertIn("ELSE", clean)
        self.assertFalse({"LAPWING_SPIN", "FI_PROVIDER", "LD_LIBRARY_PATH"} & set(clean))

    def test_hosts_of_the_lab_have_processors_that_may_be_used(self):
        self.assertIn("case $(hostname) in h1) on=5 ;; h2) on=7 ;; esac\n", lab.place_script([2, 5, 7]))
        self.assertIn("h1) on=3 ;; h2) on=3 ;;", lab.place_script([3]))

    def test_a_missing_peer_is_left_out_with_a_line(self):
        with tempfile.TemporaryDirectory() as folder:
            found, left_out = peers.find_all(["mpich"], None, Path(folder), False, print)
        self.assertEqual(found, {})
        self.assertRegex(left_out[0], "MPICH is left out: not found in")

    def test_a_peer_that_cannot_be_installed_is_left_out_with_the_reason(self):
        failed = mock.Mock(returncode=1, stdout="", stderr="first\nno such package\n")
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(peers.subprocess, "run", return_value=failed):
            found, left_out = peers.find_all(["openmpi"], None, Path(folder), True, lambda text: None)
        self.assertEqual(found, {})
        self.assertRegex(left_out[0], "Open MPI is left out: .*: no such package")


class Order(unittest.TestCase):
    def test_candidates_alternate_within_a_round(self):
        question = QUESTIONS["latency"]
        chosen = {"latency": [candidates.parse("lapwing-tcp"), candidates.parse("mpich-tcp")]}
        tasks = running.plan([question], chosen, range(1, 3), [])
        self.assertEqual(
            [(task.round, task.candidate.library) for task in tasks],
            [(1, "lapwing"), (1, "mpich"), (2, "lapwing"), (2, "mpich")],
        )

    def test_candidates_of_a_transport_may_alternate_within_a_round(self):
        question = QUESTIONS["engine_cost"]
        chosen = {question.name: [candidates.parse(name) for name in question.candidates]}
        tasks = running.plan([question], chosen, range(1, 2), [])
        self.assertEqual(
            [(task.candidate.name, task.turn) for task in tasks[:4]],
            [
                ("lapwing-shm", 0),
                ("lapwing-shm-polling", 0),
                ("lapwing-shm-polling", 1),
                ("lapwing-shm", 1),
            ],
        )
        self.assertEqual(len(tasks), 4 * question.turns)

    def test_a_quick_run_may_ask_fewer_numbers_of_ranks(self):
        question = QUESTIONS["startup"]
        chosen = {question.name: [candidates.parse("lapwing-default")]}
        for quick, expected in ((False, question.ranks), (True, question.quick_ranks)):
            tasks = running.plan([question], chosen, range(1, 2), [], quick)
            self.assertEqual(tuple(task.ranks for task in tasks), expected)

    def test_hosts_of_the_lab_have_one_rank_each_however_many_are_asked_elsewhere(self):
        question = QUESTIONS["collectives"]
        chosen = {question.name: [candidates.parse("lapwing-lab")]}
        tasks = running.plan([question], chosen, range(1, 2), [], True)
        self.assertEqual([(task.ranks, task.turn) for task in tasks], [(2, turn) for turn in range(question.turns)])

    def test_many_connections_are_asked_of_lapwing_alone(self):
        question = QUESTIONS["connections"]
        chosen = {"connections": [candidates.parse("lapwing-tcp"), candidates.parse("mpich-tcp")]}
        most = {task.candidate.library: task.ranks for task in running.plan([question], chosen, range(1, 2), [])}
        self.assertGreater(most["lapwing"], 65)
        self.assertEqual(most["mpich"], 65)

    def test_remaining_time_follows_what_runs_took(self):
        task = running.Task(QUESTIONS["latency"], candidates.parse("lapwing-tcp"), 2, 1)
        clock = running.Clock(quick=False)
        self.assertEqual(clock.left([task, task]), "20 s")
        clock.note(task, 60)
        self.assertEqual(clock.left([task, task]), "2 min")


class Startup(unittest.TestCase):
    def test_the_sum_of_start_and_end_is_a_figure_of_its_own(self):
        task = running.Task(QUESTIONS["startup"], candidates.parse("lapwing-default"), 4, 1)
        inside = [
            results.Figure("startup", name, value, "ms", "lower", 4)
            for name, value in (("MPI_Init_thread", 2.0), ("MPI_Finalize", 1.0), ("memory per rank", 900.0))
        ]
        figures = running.start_and_end(task, inside, 0.25)
        self.assertEqual(
            [(figure.series, figure.value, figure.x) for figure in figures],
            [("mpiexec", 250.0, 4), ("MPI_Init_thread and MPI_Finalize", 3.0, 4)],
        )


class Execution(unittest.TestCase):
    def execute(self, script):
        return execution.execute([sys.executable, "-c", script], dict(os.environ), 60)

    def test_output_and_end(self):
        done = self.execute("import sys; print('out'); print('because', file=sys.stderr); sys.exit(3)")
        self.assertEqual((done.output, done.code), ("out\n", 3))
        self.assertEqual(done.failure(60), "exit code 3: because")

    def test_signals(self):
        self.assertEqual(self.execute("import os; os.kill(os.getpid(), 9)").failure(60), "ended by signal 9")

    def test_a_run_without_end_is_ended(self):
        script = "import signal; signal.pause()"
        self.assertRegex(
            execution.execute([sys.executable, "-c", script], dict(os.environ), 0.01).failure(0.01),
            "^no end after 0.01 s",
        )

    def test_what_a_run_leaves_behind_is_ended(self):
        execution.adopt_orphans()
        self.execute("import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)")
        self.assertEqual(execution.descendants(), [])

    def test_a_run_leaves_results_and_failures(self):
        session = running.Session(running.Options(Path("/nowhere")), {}, results.Results(), None, lambda *_, **__: None)
        task = running.Task(QUESTIONS["latency"], candidates.parse("lapwing-tcp"), 2, 1)
        program = 'print(\'{"bench":"latency","series":"s","value":1,"unit":"us","better":"lower"}\'); '
        for script, failure, count in (
            (program, None, 1),
            (program + "exit(1)", "exit code 1", 1),
            ("", "it printed no results", 0),
            (program + "print('{')", "is no result", 1),
        ):
            run = results.Run("latency", "lapwing-tcp", 1, 2, command=[sys.executable, "-c", script])
            session.run_once(task, run, ())
            self.assertEqual(len(run.figures), count)
            (self.assertIsNone(run.failure) if failure is None else self.assertIn(failure, run.failure))


if __name__ == "__main__":
    unittest.main()
