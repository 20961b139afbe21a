"""What the programs here share: a line for each check, and the vectors."""
import datetime
import pathlib
import traceback

# An id that a double cannot hold, and the day it was made.
OLD = 154173452582932603
MARCH_1 = datetime.datetime(2024, 3, 1, tzinfo=datetime.timezone.utc)
MARCH_2 = datetime.datetime(2024, 3, 2, tzinfo=datetime.timezone.utc)


def check(what, ok, seen=""):
    print(f"ok {what}" if ok else f"not ok {what}: {seen}", flush=True)


def same(what, seen, expected):
    check(what, seen == expected, f"{seen!r}, not {expected!r}")


def fails(what, error, call):
    """Passes if the call raises that error."""
    try:
        check(what, False, f"{call()!r}, no error")
    except error:
        check(what, True)
    except Exception:
        check(what, False, traceback.format_exc().splitlines()[-1])


def end():
    print("end", flush=True)


def vectors(kind):
    path = pathlib.Path(__file__).parent.parent / "vectors.tsv"
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return [fields[1:] for fields in rows if fields[0] == kind]


def vector_time(text):
    return datetime.datetime.strptime(text + "00", "%Y-%m-%d %H:%M:%S.%f%z")
