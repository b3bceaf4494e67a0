"""Writes mpi/implementation.h: the functions behind the shims, one for both forms of an MPI function.

Counts are MPI_Count and arrays of counts are CountArray whatever the caller's form; the shims convert. Where the
signature of a callback differs between the forms (MPI_Op_create) there are two implementations, the second with the
suffix _c.
"""

import tables

TOP = """\
// The functions behind the C entry points, as api/generate.py derives them from api/functions.txt.
//
// The shims have checked before they call: the library runs (unless the function is allowed at any time), handles are
// alive and of their kind, counts are not negative, ranks and tags are in range, outputs are not null pointers.
// They turn a failed Status into an error class through the right error handler. What is not built yet is not declared.
#pragma once

#include "base/count_array.h"
#include "base/status.h"
#include "mpi.h"

namespace lapwing::mpi {
"""


def parameter(p, large):
    """The parameter as the implementation takes it, or None where it takes nothing."""
    if p.kind == "VARARGS":
        return None
    if p.kind in tables.COUNT_KINDS:
        if p.is_array:
            return f"CountArray {p.name}" if p.direction == "in" else f"MPI_Count* {p.name}"
        return f"MPI_Count {p.name}" if p.direction == "in" else f"MPI_Count* {p.name}"
    return p.declaration(large)


def name_of(function, large=False):
    name = function.name[0].lower() + function.name[1:]
    if function.is_tool:
        name = "t_" + function.name[2:]
    two = large and any(p.callback in tables.CALLBACKS_WITH_COUNT for p in function.parameters)
    return name + ("_c" if two else "")


def forms(function):
    """False for the one implementation of both forms; False and True where a callback makes two necessary."""
    two = function.large and any(p.callback in tables.CALLBACKS_WITH_COUNT for p in function.parameters)
    return (False, True) if two else (False,)


def declaration(function, large):
    arguments = [a for a in (parameter(p, large) for p in function.parameters) if a]
    if "form" in function.attributes:
        arguments.append("bool large_count")
    returns = "Status" if function.returns is None else function.return_type
    return tables.wrap_call(f"{returns} {name_of(function, large)}(", arguments, ");")


def write(functions):
    lines, chapter = [TOP], None
    for function in functions:
        if function.lacking:
            continue
        if function.chapter != chapter:
            chapter = function.chapter
            lines.append(f"\n// {chapter}\n")
        lines += [declaration(function, large) + "\n" for large in forms(function)]
    return "".join(lines) + "\n}  // namespace lapwing::mpi\n"
