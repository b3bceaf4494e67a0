#!/usr/bin/env python3
"""Checks the tables against the facts that the standard gives about itself, and the generator's outputs.

    generate_test.py            run by `./lapwing test`; needs Python only
"""

import re
import unittest

import generate
import old_names
import shims
import tables

# Predefined handles lie in fixed ranges (MPI 5.0, chapter 20).
HANDLE_RANGES = {
    "MPI_Op": (0x020, 0x03D), "MPI_Comm": (0x100, 0x102), "MPI_Group": (0x108, 0x109), "MPI_Win": (0x110, 0x110),
    "MPI_File": (0x118, 0x118), "MPI_Session": (0x120, 0x120), "MPI_Message": (0x128, 0x129),
    "MPI_Info": (0x130, 0x131), "MPI_Errhandler": (0x140, 0x143), "MPI_Request": (0x180, 0x180),
    "MPI_Datatype": (0x200, 0x2FF)}


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.functions = tables.read_functions()
        cls.names = [name for f in cls.functions for _, name in f.forms()]

    def test_there_are_662_different_functions(self):
        self.assertEqual(662, len(self.names))
        self.assertEqual(662, len(set(self.names)))

    def test_159_have_a_large_count_form(self):
        self.assertEqual(159, sum(f.large for f in self.functions))

    def test_large_count_forms_differ_from_the_small_ones(self):
        for f in self.functions:
            self.assertEqual(f.large, any(p.has_two_widths or p.large_only for p in f.parameters), f.name)

    def test_attributes_are_known(self):
        known = {"large", "deprecated", "anytime", "form", "lacking"}
        for f in self.functions:
            self.assertLessEqual(f.attributes, known, f.name)

    def test_partitioned_counts_are_wide_without_a_second_form(self):
        for name in ("Psend_init", "Precv_init"):
            function = next(f for f in self.functions if f.name == name)
            self.assertFalse(function.large)
            self.assertIn("MPI_Count count", function.prototype(False))

    def test_lengths_of_arrays_name_parameters(self):
        for f in self.functions:
            names = {p.name for p in f.parameters}
            for p in f.parameters:
                length = (p.length or "*").split("]")[0]
                self.assertTrue(length == "*" or length in names, f"{f.name}: {p.name}[{length}]")

    def test_ranks_need_a_communicator_to_be_checked_against(self):
        for f in self.functions:
            if not f.lacking and any(f.has(kind) for kind in ("RANK", "ROOT", "DEST", "SOURCE")):
                self.assertIsNotNone(shims.Shim(f, False).comm, f.name)


class Constants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sections = tables.read_constants()
        cls.values = {c.name: c.value for s in cls.sections for c in s.constants}

    def test_there_are_365_different_names(self):
        self.assertEqual(365, len(self.values))
        self.assertEqual(365, sum(len(s.constants) for s in self.sections))

    def test_handles_lie_in_the_ranges_of_their_kind(self):
        seen = {}
        for section in self.sections:
            if section.form != "handle":
                continue
            low, high = HANDLE_RANGES[section.type]
            for c in section.constants:
                self.assertTrue(low <= c.value <= high, c.name)
                first = seen.setdefault(c.value, c.name)
                self.assertIn((first, c.name), {(c.name, c.name), ("MPI_LONG_LONG", "MPI_LONG_LONG_INT"),
                                                ("MPI_C_FLOAT_COMPLEX", "MPI_C_COMPLEX")})
        self.assertEqual(set(HANDLE_RANGES), {s.type for s in self.sections if s.form == "handle"})

    def test_fixed_size_datatypes_carry_their_size(self):
        sized = re.compile(r"MPI_(?:U?INT|LOGICAL|INTEGER|REAL|COMPLEX)(\d+)(_T)?$")
        checked = 0
        for name, value in self.values.items():
            match = sized.match(name)
            if match and value >= 0x200:
                size = int(match.group(1)) // (8 if match.group(2) else 1)
                self.assertEqual(size, 1 << ((value >> 3) & 7), name)
                checked += 1
        self.assertEqual(8 + 18, checked)
        for name in ("MPI_CHAR", "MPI_SIGNED_CHAR", "MPI_UNSIGNED_CHAR", "MPI_BYTE"):
            self.assertEqual(1, 1 << ((self.values[name] >> 3) & 7), name)

    def test_special_ranks_are_negative_and_differ(self):
        names = ("MPI_ANY_SOURCE", "MPI_ANY_TAG", "MPI_PROC_NULL", "MPI_ROOT", "MPI_UNDEFINED")
        self.assertTrue(all(self.values[n] < 0 for n in names))
        self.assertEqual(len(names), len({self.values[n] for n in names}))

    def test_thread_levels_rise(self):
        levels = [self.values["MPI_THREAD_" + n] for n in ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")]
        self.assertEqual(sorted(set(levels)), levels)

    def test_error_classes_stay_under_the_last_code(self):
        errors = next(s for s in self.sections if s.title == "Error classes").constants
        self.assertEqual(0, self.values["MPI_SUCCESS"])
        self.assertEqual(len(errors), len({c.value for c in errors}))
        self.assertEqual("MPI_ERR_LASTCODE", max(errors, key=lambda c: c.value).name)

    def test_modes_are_single_bits(self):
        for section in self.sections:
            if section.title.startswith("File access modes"):
                for c in section.constants:
                    self.assertEqual(1, bin(c.value).count("1"), c.name)


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outputs = generate.generate()

    def test_the_same_every_time(self):
        self.assertEqual(self.outputs, generate.generate())

    def test_header_declares_every_function_twice(self):
        names = {name for f in tables.read_functions() for _, name in f.forms()}
        for prefix in ("MPI_", "PMPI_"):
            declared = re.findall(rf"^\w+ {prefix}(\w+)\(", self.outputs["mpi.h"], re.M)
            self.assertEqual(sorted(names), sorted(declared))

    def test_shims_define_every_function_once(self):
        text = "".join(t for n, t in self.outputs.items() if n.startswith("shims_"))
        strong = re.findall(r"^\w+ PMPI_(\w+)\(", text, re.M)
        weak = re.findall(r'alias\("PMPI_(\w+)"\)', text)
        self.assertEqual(662, len(set(strong)))
        self.assertEqual(sorted(strong), sorted(weak))

    def test_old_names_rest_on_the_abi_alone(self):
        """A binary that uses them runs with any library that has the ABI."""
        abi = {"MPI_" + name for f in tables.read_functions() if not f.lacking for _, name in f.forms()}
        old = {"MPI_" + name for name in old_names.names()}
        self.assertEqual(2 * len(old_names.FORTRAN_OBJECTS) + 6 + 10, len(old))
        self.assertFalse(abi & old)
        called = set(re.findall(r"\b(MPI_\w+)\(", old_names.write())) - old
        self.assertLessEqual(called, abi)

    def test_only_built_has_all_but_what_is_lacking(self):
        defined = set(re.findall(r"^void (\w+)\(\)", self.outputs["only_built.cc"], re.M))
        for f in tables.read_functions():
            for _, name in f.forms():
                self.assertEqual(not f.lacking, "MPI_" + name in defined, name)
        self.assertIn("LAPWING_Get_progress", defined)

    def test_no_output_passes_the_width_of_a_page(self):
        for name, text in self.outputs.items():
            for line in text.splitlines():
                # A deprecation note may follow the prototype.
                self.assertLessEqual(len(line.replace(" /* deprecated */", "")), 120, f"{name}: {line}")


if __name__ == "__main__":
    unittest.main()
