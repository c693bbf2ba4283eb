"""Keep track of the tools that a workshop lends to its members.

The ledger is a plain text file with one event on each line: a date, a verb, a
tool and a member. Nothing is ever rewritten; the state of the shelf is what
remains after all events have been replayed in order.
"""
import argparse
import sys
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

LOAN_DAYS = 14
REMINDER_DAYS = 3


class LedgerError(Exception):
    """An event that cannot have happened, with the line it stands on."""


@dataclass(frozen=True)
class Event:
    day: date
    verb: str
    tool: str
    member: str


@dataclass
class Loan:
    """One tool that is out of the house."""

    tool: str
    member: str
    due: date

    def days_late(self, today):
        return max(0, (today - self.due).days)

    def is_due_soon(self, today):
        """True in the last days before the tool has to come back."""
        return timedelta(0) <= self.due - today <= timedelta(days=REMINDER_DAYS)


def parse_event(line, number):
    """Read one line such as `2024-05-17 lend planer ines`."""
    parts = line.split()
    if len(parts) != 4:
        raise LedgerError(f"line {number}: expected four words, found {len(parts)}")
    try:
        day = date.fromisoformat(parts[0])
    except ValueError as error:
        raise LedgerError(f"line {number}: {error}") from error
    return Event(day, *parts[1:])


def read_events(path):
    # Blank lines and remarks are welcome in a file that people edit by hand.
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            text = line.split("#")[0].strip()
            if text:
                yield number, parse_event(text, number)


def replay(events):
    """Return the open loans by tool after all events."""
    open_loans = {}
    for number, event in events:
        if event.verb == "lend":
            if event.tool in open_loans:
                holder = open_loans[event.tool].member
                raise LedgerError(f"line {number}: {event.tool} is with {holder}")
            due = event.day + timedelta(days=LOAN_DAYS)
            open_loans[event.tool] = Loan(event.tool, event.member, due)
        elif event.verb == "extend":
            if event.tool not in open_loans:
                raise LedgerError(f"line {number}: {event.tool} is not lent")
            # An extension counts from the old date, asking early costs nothing.
            open_loans[event.tool].due += timedelta(days=LOAN_DAYS)
        elif event.verb == "return":
            if open_loans.pop(event.tool, None) is None:
                raise LedgerError(f"line {number}: {event.tool} is not lent")
        else:
            raise LedgerError(f"line {number}: unknown verb {event.verb!r}")
    return open_loans


def overdue(open_loans, today):
    """Late loans, the latest first."""
    late = [loan for loan in open_loans.values() if loan.days_late(today) > 0]
    return sorted(late, key=lambda loan: loan.due)


def reminders(open_loans, today):
    """Pairs of member and message for everything that is due soon."""
    messages = []
    for loan in open_loans.values():
        if loan.is_due_soon(today):
            days = (loan.due - today).days
            when = "today" if days == 0 else f"in {days} days"
            messages.append((loan.member, f"please bring back the {loan.tool} {when}"))
    return sorted(messages)


def count_by_member(open_loans):
    counts = {}
    for loan in open_loans.values():
        counts[loan.member] = counts.get(loan.member, 0) + 1
    return counts


def report(open_loans, today):
    """The page that hangs beside the door."""
    if not open_loans:
        return "Everything is on the shelf."
    lines = [f"{len(open_loans)} tools are out:"]
    for tool in sorted(open_loans):
        loan = open_loans[tool]
        late = loan.days_late(today)
        remark = f"{late} days late" if late else f"until {loan.due}"
        lines.append(f"  {tool:<12} {loan.member:<10} {remark}")
    return "\n".join(lines)


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--today", type=date.fromisoformat, default=date.today())
    parser.add_argument("--remind", action="store_true", help="print reminders only")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse_arguments(argv)
    try:
        open_loans = replay(read_events(options.ledger))
    except (OSError, LedgerError) as error:
        print(f"cannot read the ledger: {error}", file=sys.stderr)
        return 1
    if options.remind:
        for member, message in reminders(open_loans, options.today):
            print(f"{member}: {message}")
        return 0
    print(report(open_loans, options.today))
    for loan in overdue(open_loans, options.today):
        print(f"call {loan.member} about the {loan.tool}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
