"""Make MPICH's tuning file, a JSON tree: the decisions of a library, with rules before them.

Models src/mpi/coll/src/csel.c of MPICH 4.0 to 5.0: a file replaces all decisions, and the program ends at a collective
that it lacks. So the library's own decisions come from generic.json of its source, or from the library, which contains
that text. A rule is for one number of ranks. Calls in place, sums by operations that are not MPI's own, and sums with
fewer elements than ranks remain the library's. Leaves out algorithms with a radix, and barriers, which have no size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.collectives.libraries import Library

VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
_DECISIONS = re.compile(rb'\{"collective=bcast":[ -~]*"algorithm=MPIR_Bcast_intra_binomial"[ -~]*')


def text(library: Library, choice: str, ranks: int, base: Path) -> str:
    """Return the tuning file of a choice; InputError for a base without decisions, or an algorithm without a rule."""
    names = {
        collective: variable.removeprefix("MPIR_CVAR_").removesuffix("_INTRA_ALGORITHM").lower()
        for collective, variable in library.variables.items()
    }
    tree = _decisions(base, [f"collective={named}" for named in names.values()])
    for collective, rules in library.rules_of(choice).items():
        named = names[collective]
        kinds = tree[f"collective={named}"]
        own = node = kinds["comm_type=intra"]
        for least, name in sorted(rules):
            if collective == "barrier" or not library.matrix(collective, name):
                raise InputError("algorithms", collective, name, "an algorithm with a size and without a radix")
            algorithm = f"MPIR_{named.capitalize()}_intra_{library.algorithms[collective][name][0]}"
            chosen: dict[str, Any] = {f"algorithm={algorithm}": {}}
            node = {f"total_msg_size<={least * ranks - 1}": node, "total_msg_size=any": chosen}
        if collective == "alltoall":
            node = {"is_sendbuf_inplace=yes": own, "is_sendbuf_inplace=no": node}
        if collective == "allreduce":
            node = {"count<pow2": own, "count=any": node}
        if collective in ("allreduce", "reduce-scatter"):
            node = {"is_op_built_in=yes": node, "is_op_built_in=no": own}
        kinds["comm_type=intra"] = {f"comm_size<={ranks - 1}": own, f"comm_size<={ranks}": node, "comm_size=any": own}
    return json.dumps(tree, indent=1) + "\n"


def _decisions(base: Path, names: Sequence[str]) -> dict[str, Any]:
    try:
        content = base.read_bytes()
        tree: dict[str, Any] = json.loads(content if content[:1] == b"{" else _DECISIONS.findall(content)[0])
        if all(isinstance(tree[name]["comm_type=intra"], dict) for name in names):
            return tree
    except OSError as error:
        raise InputError("--base", "", str(base), f"a file to read ({error.strerror})") from error
    except (ValueError, LookupError, TypeError):
        pass
    raise InputError("--base", "", str(base), "MPICH's library, such as libmpi.so.12, or generic.json of its source")
