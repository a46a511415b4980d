"""What schemathesis cannot know of a request that it has made (its hooks, see `run`)."""

import schemathesis

LONGEST_WAIT = 5  # seconds; schemathesis allows an answer ten


@schemathesis.hook
def filter_case(context, case):
    """A number where the text of a CSV file is asked for is sent as the same bytes, so it is no wrong request."""
    return case.media_type != "text/csv" or not isinstance(case.body, (int, float))


@schemathesis.hook
def map_case(context, case):
    """An ask may wait for a minute."""
    wait = case.body.get("wait_seconds") if isinstance(case.body, dict) else None
    if isinstance(wait, (int, float)) and LONGEST_WAIT < wait <= 60:
        case.body["wait_seconds"] = LONGEST_WAIT
    return case
