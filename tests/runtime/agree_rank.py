"""One rank of a group, for tests: does what it reads, a JSON list a line, and answers each with a line.

The lists are a name and its arguments: `agree WHAT WITHIN`, `outcome PROBLEM WITHIN`, `keys`.
"""

import json
import sys
import time

from sluicegate.runtime.training import group


def keys() -> int:
    """How many keys the whole store holds."""
    from torch.distributed.distributed_c10d import _get_default_store

    return _get_default_store().num_keys()


def main() -> None:
    group.join_group(60.0)
    known = {"agree": group.agree, "outcome": group.agree_outcome, "keys": keys}
    print(json.dumps("joined"), flush=True)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        began = time.monotonic()
        try:
            answer, error = known[name](*arguments), ""
        except group.GroupError as problem:
            answer, error = None, str(problem)
        print(json.dumps({"answer": answer, "error": error, "seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
