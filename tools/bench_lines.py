"""Lines of `slipstream bench`, for the tools that read them."""
import json
import sys


def read_lines(paths):
    """The lines of all files; ends the program with a sentence where one cannot be read."""
    lines = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                lines += file
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}")
    return lines


def records_of(lines, benches=("decode",)):
    """What lines of these benches say; those of others and empty lines are left out."""
    records = (json.loads(line) for line in lines if line.strip())
    return [record for record in records if record.get("bench") in benches]
