"""`load(name, kept)` makes the task of a name. kept: where what was read or measured once is kept."""

import functools

from tasks import coco, functions, tables


@functools.cache
def load(name, kept):
    if name.startswith(("bbob-", "mixint-")):
        return coco.load(name)
    if name in functions.NAMES:
        return functions.all_tasks(kept)[name]
    return tables.load(name, kept / "tables")
