"""Names that programs of earlier standards use and the ABI of MPI 5.0 has not: one text, which mpi.h takes in.

In a program they are inline functions over the functions of the ABI, so its binary asks for nothing that another library
with the ABI lacks. src/mpi/old_names.cc compiles the same text into the library, for configure scripts that only link.
"""

import tables

# Objects with X_c2f and X_f2c, and their types where the name differs.
FORTRAN_OBJECTS = ("Comm", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Type", "Win")

TOP = """
/* ---- Names of earlier standards, which the ABI lacks ----
 *
 * Functions here are inlines over those above: a program that uses them runs on every library with the ABI. Each stays
 * out when the program defines a macro of its name before it includes this header; all stay out with LAPWING_NO_FINT
 * (the first part) and LAPWING_NO_REMOVED_MPI1 (the second). */
#if !defined(LAPWING_OLD_NAME)
#define LAPWING_OLD_NAME static __inline__ __attribute__((__unused__))
#endif
"""

FORTRAN_TYPES = """
/* Handles and statuses as Fortran has them. The address of Fortran's own MPI_STATUS_IGNORE is known to its bindings
 * only; what C calls by that name here is a null pointer. */
#if !defined(MPI_Fint)
typedef int MPI_Fint;
#endif
typedef MPI_Status MPI_F08_status;
#define MPI_F_STATUS_IGNORE     ((MPI_Fint*)0)
#define MPI_F_STATUSES_IGNORE   ((MPI_Fint*)0)
#define MPI_F08_STATUS_IGNORE   ((MPI_F08_status*)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status*)0)
"""

REMOVED_TYPES = """
/* Removed in MPI-3.0. MPI_LB and MPI_UB cannot be had: the ABI keeps no handles for them. What they were for is done by
 * MPI_Type_create_resized. */
typedef MPI_Comm_errhandler_function MPI_Handler_function;
"""

_C_TO_FORTRAN = """\
int i;
if (!c_status || !f_status) return MPI_ERR_ARG;
f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
f_status[MPI_F_TAG] = c_status->MPI_TAG;
f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
for (i = 0; i < 5; ++i) f_status[MPI_F_ERROR + 1 + i] = c_status->MPI_internal[i];
return MPI_SUCCESS;"""

_FORTRAN_TO_C = """\
int i;
if (!c_status || !f_status) return MPI_ERR_ARG;
c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
c_status->MPI_TAG = f_status[MPI_F_TAG];
c_status->MPI_ERROR = f_status[MPI_F_ERROR];
for (i = 0; i < 5; ++i) c_status->MPI_internal[i] = f_status[MPI_F_ERROR + 1 + i];
return MPI_SUCCESS;"""

_COPY = """\
if (!{0} || !{1}) return MPI_ERR_ARG;
*{1} = *{0};
return MPI_SUCCESS;"""

_UPPER_BOUND = """\
MPI_Aint extent;
const int error = MPI_Type_get_extent(datatype, displacement, &extent);
if (error == MPI_SUCCESS) *displacement += extent;
return error;"""

# Type, name, parameters, body.
STATUS_FUNCTIONS = (
    ("int", "Status_c2f", "const MPI_Status* c_status, MPI_Fint* f_status", _C_TO_FORTRAN),
    ("int", "Status_f2c", "const MPI_Fint* f_status, MPI_Status* c_status", _FORTRAN_TO_C),
    ("int", "Status_c2f08", "const MPI_Status* c_status, MPI_F08_status* f08_status",
     _COPY.format("c_status", "f08_status")),
    ("int", "Status_f082c", "const MPI_F08_status* f08_status, MPI_Status* c_status",
     _COPY.format("f08_status", "c_status")),
    ("int", "Status_f082f", "const MPI_F08_status* c_status, MPI_Fint* f_status", _C_TO_FORTRAN),
    ("int", "Status_f2f08", "const MPI_Fint* f_status, MPI_F08_status* c_status", _FORTRAN_TO_C),
)

REMOVED_FUNCTIONS = (
    ("int", "Address", "const void* location, MPI_Aint* address", "return MPI_Get_address(location, address);"),
    ("int", "Errhandler_create", "MPI_Handler_function* function, MPI_Errhandler* errhandler",
     "return MPI_Comm_create_errhandler(function, errhandler);"),
    ("int", "Errhandler_get", "MPI_Comm comm, MPI_Errhandler* errhandler",
     "return MPI_Comm_get_errhandler(comm, errhandler);"),
    ("int", "Errhandler_set", "MPI_Comm comm, MPI_Errhandler errhandler",
     "return MPI_Comm_set_errhandler(comm, errhandler);"),
    ("int", "Type_extent", "MPI_Datatype datatype, MPI_Aint* extent",
     "MPI_Aint lb;\nreturn MPI_Type_get_extent(datatype, &lb, extent);"),
    ("int", "Type_hindexed", "int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[], "
     "MPI_Datatype oldtype, MPI_Datatype* newtype",
     "return MPI_Type_create_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, newtype);"),
    ("int", "Type_hvector", "int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype",
     "return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);"),
    ("int", "Type_lb", "MPI_Datatype datatype, MPI_Aint* displacement",
     "MPI_Aint extent;\nreturn MPI_Type_get_extent(datatype, displacement, &extent);"),
    ("int", "Type_struct", "int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[], "
     "const MPI_Datatype array_of_types[], MPI_Datatype* newtype",
     "return MPI_Type_create_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, newtype);"),
    ("int", "Type_ub", "MPI_Datatype datatype, MPI_Aint* displacement", _UPPER_BOUND),
)


def _handle_functions():
    for name in FORTRAN_OBJECTS:
        c_type = "MPI_Datatype" if name == "Type" else f"MPI_{name}"
        yield "MPI_Fint", f"{name}_c2f", f"{c_type} handle", f"return MPI_{name}_toint(handle);"
        yield c_type, f"{name}_f2c", "MPI_Fint handle", f"return MPI_{name}_fromint(handle);"


def _fortran_functions():
    return (*_handle_functions(), *STATUS_FUNCTIONS)


def names():
    """All functions, without MPI_."""
    return [name for _, name, _, _ in (*_fortran_functions(), *REMOVED_FUNCTIONS)]


def _definition(function):
    returns, name, parameters, body = function
    head = tables.wrap_call(f"LAPWING_OLD_NAME {returns} MPI_{name}(", parameters.split(", "), ") {")
    lines = "\n".join("  " + line for line in body.split("\n"))
    return f"#if !defined(MPI_{name})\n{head}\n{lines}\n}}\n#endif\n"


def write():
    """The section of mpi.h."""
    return "".join([
        TOP,
        "\n#if !defined(LAPWING_NO_FINT)", FORTRAN_TYPES, *map(_definition, _fortran_functions()), "#endif\n",
        "\n#if !defined(LAPWING_NO_REMOVED_MPI1)", REMOVED_TYPES, *map(_definition, REMOVED_FUNCTIONS), "#endif\n"])
