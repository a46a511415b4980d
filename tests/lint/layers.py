"""The rooms of the house, from the ground up: what each folder is, and what it may know.

A folder may include itself and the folders that its row names; each of them stands above it in this table, so there
is no circle. The same holds for the symbols of its objects. `libraries` are the keys of LIBRARIES. ARCHITECTURE.md
shows this table; `tests/lint/check-layers --table` prints it."""

import dataclasses
import re

# Headers and symbols by which a library is recognized. Only folders that name the library may use them.
LIBRARIES = {
    "BLAS": (r"^(cblas|lapacke)\.h$", r"^(cblas_|LAPACKE_|openblas_)"),
    "NLopt": (r"^nlopt\.h$", r"^nlopt_"),
    "jansson": (r"^jansson\.h$", r"^json_"),
    "SQLite": (r"^sqlite3\.h$", r"^sqlite3_"),
    "libpq": (r"^libpq-fe\.h$", r"^PQ[a-z]"),
    "libmicrohttpd": (r"^microhttpd\.h$", r"^MHD_"),
    "GnuTLS": (r"^gnutls/", r"^gnutls_"),
    "zlib": (r"^zlib\.h$", r"^(deflate|inflate|compressBound)"),
    "libsodium": (r"^sodium\.h$", r"^(sodium_|crypto_|randombytes_)"),
    "libcurl": (r"^curl/", r"^curl_"),
}


@dataclasses.dataclass
class Folder:
    name: str  # a folder, or a single file that stands between folders
    what: str
    knows: str = ""  # folders, above in the table
    libraries: str = ""


TABLE = [
    Folder("core/include", "libbandit's interface: engines, sets of arms, options, fits"),
    Folder("core/simd", "hand-tuned kernels for each instruction set, chosen at run time", "core/include"),
    Folder("core/base", "memory, linear algebra, random numbers, statuses", "core/include core/simd", "BLAS"),
    Folder("core/arms", "candidates, spaces of parameters, kernels over them", "core/include core/simd core/base"),
    Folder(
        "core/posterior",
        "Gaussian-process posteriors, exact and sparse, and samples of them",
        "core/include core/simd core/base core/arms",
        "BLAS",
    ),
    Folder(
        "core/selection",
        "which arms a posterior stands on, and which arm comes next",
        "core/include core/simd core/base core/arms core/posterior",
        "BLAS",
    ),
    Folder(
        "core/search",
        "the maximum of a function over a space of parameters",
        "core/include core/simd core/base core/arms core/posterior",
        "NLopt",
    ),
    Folder(
        "core/learning",
        "what is fitted to rewards: hyper-parameters by their likelihood, and quadratic functions",
        "core/include core/simd core/base core/arms core/posterior",
        "BLAS NLopt",
    ),
    Folder(
        "core/algorithms",
        "one file per algorithm, and what they share",
        "core/include core/simd core/base core/arms core/posterior core/selection core/search core/learning",
    ),
    Folder(
        "core/engine",
        "the facade behind `bandit/engine.h`, the registry of algorithms, refitting",
        "core/include core/simd core/base core/arms core/posterior core/selection core/search core/learning "
        "core/algorithms",
    ),
    Folder(
        "core/insight",
        "what a frozen model says of its inputs and of itself: importance, effects, errors",
        "core/include core/simd core/base core/arms core/posterior core/selection core/search core/learning "
        "core/algorithms core/engine",
        "BLAS",
    ),
    Folder("core/include/bandit/sorted", "binary search; a part of the interface that proto shares"),
    Folder("core/include/bandit/lattice", "numbers in even steps, and rounded ones; a part of the interface that proto shares"),
    Folder("proto/utf8", "checks UTF-8"),
    Folder("proto/arrays", "arrays that grow, and binary search", "core/include/bandit/sorted"),
    Folder("proto/powers_of_ten", "10^k to 128 bits"),
    Folder("proto/shortest", "the shortest digits of doubles", "proto/powers_of_ten"),
    Folder("proto/json_writer", "writes JSON text", "proto/utf8 proto/arrays proto/shortest"),
    Folder("proto/json_memory", "notices that jansson found no memory", libraries="jansson"),
    Folder("proto/expressions", "rules over the parameters of a space: read, taken apart, evaluated", "proto/arrays"),
    Folder(
        "proto",
        "bytes ↔ plain structs: JSON, problem+json, CSV, NumPy files",
        "proto/expressions core/include/bandit/lattice proto/utf8 proto/arrays proto/json_writer proto/json_memory",
        "jansson",
    ),
    Folder(
        "server/base",
        "what the server needs from the machine: configuration, log, clock, threads, sockets",
        "core/include proto/arrays proto/json_writer proto",
        "BLAS",
    ),
    Folder("server/store", "what is stored, behind `store.h`, and the writer thread", "proto/arrays proto/json_writer proto/json_memory", "jansson libsodium"),
    Folder("server/store/sql", "what backends that speak SQL share: statements, writes, reads", "server/store"),
    Folder("server/store/sqlite", "the SQLite backend", "server/base server/store server/store/sql", "SQLite"),
    Folder("server/store/postgres", "the PostgreSQL backend", "proto/arrays server/base server/store server/store/sql", "libpq"),
    Folder("server/store/memory", "the backend in memory, for tests and checks", "proto/arrays server/store", "jansson"),
    Folder("server/app.h", "what the parts of a running server share", "server/base server/store"),
    Folder(
        "server/data",
        "definitions, candidates, results: no HTTP, no actor",
        "proto/expressions core/include proto/arrays proto/json_writer proto server/base server/store",
        "libsodium",
    ),
    Folder(
        "server/http",
        "connections, requests and answers",
        "proto/arrays proto/json_writer proto server/base server/store server/app.h",
        "libmicrohttpd GnuTLS zlib libsodium",
    ),
    Folder(
        "server/notify",
        "notifications of what happens to studies: queues, signatures, transfers",
        "proto/arrays proto/json_writer proto server/base",
        "libcurl libsodium",
    ),
    Folder(
        "server/watch",
        "metrics and event streams",
        "proto/arrays proto/json_writer proto server/base server/store server/app.h server/data server/http server/notify",
    ),
    Folder(
        "server/study",
        "the actor of a study: ask, tell, plan",
        "core/include proto/arrays proto/json_writer proto server/base server/store server/app.h server/data server/notify server/watch",
    ),
    Folder(
        "server/replay",
        "studies rebuilt from their logs, for imports and checks",
        "core/include proto/arrays proto/json_writer proto server/base server/store server/app.h server/data server/study",
        "jansson",
    ),
    Folder(
        "server/api",
        "routes and their handlers: HTTP in, replies out",
        "core/include proto/arrays proto/json_writer proto server/base server/store server/app.h server/data server/http server/notify server/watch server/study "
        "server/replay",
        "libsodium",
    ),
    Folder(
        "server/commands",
        "`banditd serve`, `check`, `backup`, `token`, …",
        "proto/arrays proto/json_writer proto server/base server/store server/app.h server/data server/http server/notify server/watch server/study "
        "server/replay server/api",
        "jansson libsodium",
    ),
    Folder("server/main.c", "chooses the command", "server/base server/store server/commands"),
    Folder("clients/banditctl", "the command-line client", "proto/utf8 proto/arrays proto/json_writer proto", "jansson libcurl"),
]

FOLDERS = {row.name: row for row in TABLE}


def folder_of(path):
    """The row's name that a source file, or a built object without its suffix, belongs to; None outside the table."""
    if path == "server/embedded_data":  # made by the build
        return "server/base"
    if path == "server/main":
        return "server/main.c"
    if path in FOLDERS or path.removesuffix(".c").removesuffix(".h") in FOLDERS:
        return path if path in FOLDERS else path[:-2]
    if path.startswith("core/include/"):
        return "core/include"
    folder = path.rpartition("/")[0]
    return folder if folder in FOLDERS else None


def library_of(name, by_symbol):
    """The library that a header or a symbol belongs to, or None."""
    for library, patterns in LIBRARIES.items():
        if re.match(patterns[by_symbol], name):
            return library
    return None


def may_know(folder, other):
    """May code in `folder` know what `other` holds? Both are names of rows. What knows the interface knows each part of it."""
    known = [folder, *FOLDERS[folder].knows.split()]
    return other in known or (other.startswith("core/include/") and "core/include" in known)


def disorder():
    """What keeps the table from being in order: rows that name one below them."""
    above, problems = set(), []
    for row in TABLE:
        problems += [f"{row.name} names {name}, which does not stand above it" for name in row.knows.split() if name not in above]
        problems += [f"{row.name} names no known library: {name}" for name in row.libraries.split() if name not in LIBRARIES]
        above.add(row.name)
    return problems


def short(row):
    """The folders that a row names, without the core's own for the core."""
    named = row.knows.split()
    names = [name for name in named if not (name.startswith("proto/") and "proto" in named)]
    siblings = [name for name in names if name.startswith("core/") and row.name.startswith("core/")]
    if siblings and siblings == [r.name for r in TABLE[: len(siblings)]]:
        return f"the {len(siblings)} rows above" if len(siblings) > 1 else f"`{siblings[0]}`"
    return " ".join(f"`{name}`" for name in names) or "–"


def markdown():
    """The table as ARCHITECTURE.md shows it."""
    lines = ["| folder | what it is | may know | libraries |", "|---|---|---|---|"]
    for row in TABLE:
        lines.append(f"| `{row.name}` | {row.what} | {short(row)} | {', '.join(row.libraries.split()) or '–'} |")
    return "\n".join(lines) + "\n"
