"""Reads functions.txt and constants.txt into plain objects. The file formats are described at the top of each table."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent

# C types by kind: one for both forms of a function, or (int form, large-count form).
C_TYPES = {
    "COUNT": ("int", "MPI_Count"),          # a number of elements or bytes, never negative
    "POSITION": ("int", "MPI_Count"),       # a place or distance in elements or bytes, may be negative
    "DISPL": ("int", "MPI_Aint"),           # a displacement of a vector collective or a window
    "EXTENT": ("MPI_Aint", "MPI_Count"),    # a distance in bytes
    "BIGCOUNT": "MPI_Count",
    "BIGCOUNT_NNI": "MPI_Count",
    "AINT": "MPI_Aint",
    "OFFSET": "MPI_Offset",
    "DOUBLE": "double",
    "BUFFER": "void*",                      # message data; also the address of a pointer that receives an address
    "POINTER": "void*",                     # the user's own pointer: attribute values, extra state
    "STRING": "char*",
    "STATUS": "MPI_Status",
    "ARGC": "int*",
    "ARGV": "char***",
    "STRINGS": "char*",
    "STRINGS2": "char**",
    "COMM": "MPI_Comm",
    "DATATYPE": "MPI_Datatype",             # any datatype
    "COMMITTED": "MPI_Datatype",            # a datatype that communication may use
    "ERRHANDLER": "MPI_Errhandler",
    "FILE": "MPI_File",
    "GROUP": "MPI_Group",
    "INFO": "MPI_Info",
    "MESSAGE": "MPI_Message",
    "OP": "MPI_Op",
    "REQUEST": "MPI_Request",
    "SESSION": "MPI_Session",
    "WIN": "MPI_Win",
    "T_CB_SAFETY": "MPI_T_cb_safety",
    "T_CVAR": "MPI_T_cvar_handle",
    "T_ENUM": "MPI_T_enum",
    "T_EVENT": "MPI_T_event_instance",
    "T_EVENT_REGISTRATION": "MPI_T_event_registration",
    "T_PVAR": "MPI_T_pvar_handle",
    "T_PVAR_SESSION": "MPI_T_pvar_session",
    "T_SOURCE_ORDER": "MPI_T_source_order",
    # plain ints; the names say what the shim checks
    "INT": "int",
    "FLAG": "int",
    "LENGTH": "int",                        # length of an array, never negative
    "RANK": "int",
    "ROOT": "int",
    "SOURCE": "int",                        # a rank, MPI_ANY_SOURCE or MPI_PROC_NULL
    "DEST": "int",                          # a rank or MPI_PROC_NULL
    "TAG": "int",
    "RECVTAG": "int",                       # a tag or MPI_ANY_TAG
}

# Kinds whose width differs between the two forms.
COUNT_KINDS = ("COUNT", "POSITION", "DISPL", "EXTENT")

# Callbacks whose signature differs between the two forms; the large one is called X_c.
CALLBACKS_WITH_COUNT = ("MPI_User_function", "MPI_Datarep_conversion_function")


@dataclass
class Parameter:
    name: str
    kind: str
    direction: str = "in"       # in, out, inout
    const: bool = False
    length: str | None = None   # None: not an array
    callback: str | None = None  # of a FUNCTION
    may_be_null: bool = False
    at_root: bool = False
    large_only: bool = False

    @property
    def is_array(self):
        return self.length is not None

    @property
    def has_two_widths(self):
        return self.kind in COUNT_KINDS or self.callback in CALLBACKS_WITH_COUNT

    def base_type(self, large):
        if self.kind == "FUNCTION":
            return self.callback + ("_c" if large and self.callback in CALLBACKS_WITH_COUNT else "")
        base = C_TYPES[self.kind]
        return base if isinstance(base, str) else base[large]

    def declaration(self, large):
        """The parameter as C writes it."""
        if self.kind == "VARARGS":
            return "..."
        base = self.base_type(large)
        if self.kind == "FUNCTION":
            return f"{base}* {self.name}"
        if self.kind in ("STRINGS", "STRINGS2"):
            return f"{base} {self.name}[]"
        if self.kind == "STRING":
            return f"{'const ' if self.direction == 'in' else ''}{base} {self.name}"
        const = "const " if self.const else ""
        if self.is_array:
            return f"{const}{base} {self.name}[]" + ("[3]" if self.length.endswith("][3") else "")
        if self.kind in ("BUFFER", "POINTER", "ARGC", "ARGV"):
            return f"{const}{base} {self.name}"
        if self.kind == "STATUS" or self.direction != "in":
            return f"{const}{base}* {self.name}"
        return f"{const}{base} {self.name}"


@dataclass
class Function:
    name: str                   # without MPI_
    chapter: str
    parameters: list
    returns: str | None         # kind, or None for an error code
    attributes: set

    @property
    def large(self):
        return "large" in self.attributes

    @property
    def lacking(self):
        return "lacking" in self.attributes

    @property
    def is_tool(self):
        return self.name.startswith("T_")

    @property
    def return_type(self):
        return "int" if self.returns is None else C_TYPES[self.returns]

    def has(self, kind, *directions):
        return any(p.kind == kind and (not directions or p.direction in directions) for p in self.parameters)

    def forms(self):
        """(large?, C name) of each entry point."""
        return [(False, self.name)] + ([(True, self.name + "_c")] if self.large else [])

    def form_parameters(self, large):
        return [p for p in self.parameters if large or not p.large_only]

    def prototype(self, large, prefix="MPI_"):
        arguments = [p.declaration(large) for p in self.form_parameters(large)] or ["void"]
        name = prefix + self.name + ("_c" if large else "")
        return wrap_call(f"{self.return_type} {name}(", arguments, ")", width=118)  # room for a brace


@dataclass
class Constant:
    name: str
    value: int
    written: str                # as the table writes it: decimal or hexadecimal
    type: str | None = None


@dataclass
class Section:
    title: str
    form: str                   # define, enum, handle
    type: str | None
    constants: list = field(default_factory=list)


def wrap_call(head, arguments, tail, indent="    ", width=120):
    """`head` + comma-separated arguments + `tail`, broken between arguments so that no line passes `width`."""
    lines = [head]
    for position, argument in enumerate(arguments):
        last = position == len(arguments) - 1
        piece = argument + (tail if last else ",")
        gap = "" if lines[-1].endswith("(") or lines[-1] == indent else " "
        if len(lines[-1]) + len(gap) + len(piece) + (1 if last else 0) > width:
            lines.append(indent + piece)
        else:
            lines[-1] += gap + piece
    if not arguments:
        lines[-1] += tail
    return "\n".join(lines)


def _logical_lines(path):
    """Lines without comments, continuations joined."""
    joined = []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and joined:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line.rstrip())
    return joined


_ENTRY = re.compile(r"^(\w+)\((.*?)\)(?: -> (\w+))?(?: \| (.*))?$")
_PARAMETER = re.compile(r"^(\w+): (const )?(out |inout )?([A-Z_0-9]+)(\?)?(?:<(\w+)>)?(?:\[(.*)\])?"
                        r"((?: at-root| large-only)*)$")


def _parse_parameter(text):
    match = _PARAMETER.match(text)
    if not match:
        raise ValueError(f"functions.txt: cannot read parameter '{text}'")
    name, const, direction, kind, nullable, callback, length, flags = match.groups()
    if kind not in C_TYPES and kind not in ("FUNCTION", "VARARGS"):
        raise ValueError(f"functions.txt: unknown kind {kind} in '{text}'")
    return Parameter(name, kind, (direction or "in").strip(), bool(const), length, callback,
                     bool(nullable), "at-root" in flags, "large-only" in flags)


def read_functions(path=HERE / "functions.txt"):
    functions, chapter = [], None
    for line in _logical_lines(path):
        if line.startswith("== "):
            chapter = line[3:]
            continue
        match = _ENTRY.match(line)
        if not match:
            raise ValueError(f"functions.txt: cannot read '{line}'")
        name, parameters, returns, attributes = match.groups()
        parsed = [_parse_parameter(p) for p in parameters.split(", ")] if parameters else []
        functions.append(Function(name, chapter, parsed, returns, set((attributes or "").split())))
    return functions


def read_constants(path=HERE / "constants.txt"):
    sections = []
    for line in _logical_lines(path):
        if line.startswith("== "):
            title, form = line[3:].rsplit(" : ", 1)
            form, _, type_name = form.partition(" ")
            sections.append(Section(title, form, type_name or None))
            continue
        name, written, *type_name = line.split(None, 2)
        sections[-1].constants.append(Constant(name, int(written, 0), written, type_name[0] if type_name else None))
    return sections
