"""Plan the beds of a vegetable garden over several years.

A crop should not return to the same bed too soon, and some neighbours get on
better than others. The planner tries crops in order of how hard they are to
place and goes back when it gets stuck.
"""
import csv
import sys
from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Crop:
    name: str
    family: str
    pause_years: int
    beds: int = 1


@dataclass(frozen=True)
class Placement:
    year: int
    bed: int
    crop: Crop


class NoPlan(Exception):
    """Raised when the crops do not fit into the beds."""


class GardenPlan:
    def __init__(self, n_beds, bad_pairs=()):
        self.n_beds = n_beds
        self.bad_pairs = {frozenset(pair) for pair in bad_pairs}
        self.placements = []
        self._by_year = defaultdict(dict)

    def crop_at(self, year, bed):
        return self._by_year[year].get(bed)

    def neighbours(self, year, bed):
        """Crops in the beds to the left and to the right."""
        found = []
        for other in (bed - 1, bed + 1):
            crop = self.crop_at(year, other)
            if crop is not None:
                found.append(crop)
        return found

    def last_year_of(self, family, bed, before):
        """The latest year in which a family grew in this bed, or None."""
        years = [p.year for p in self.placements
                 if p.bed == bed and p.crop.family == family and p.year < before]
        return max(years, default=None)

    def is_allowed(self, year, bed, crop):
        if self.crop_at(year, bed) is not None:
            return False
        previous = self.last_year_of(crop.family, bed, before=year)
        if previous is not None and year - previous <= crop.pause_years:
            return False
        for neighbour in self.neighbours(year, bed):
            if frozenset((neighbour.name, crop.name)) in self.bad_pairs:
                return False
        return True

    def place(self, year, bed, crop):
        self.placements.append(Placement(year, bed, crop))
        self._by_year[year][bed] = crop

    def take_back(self):
        """Undo the latest placement."""
        last = self.placements.pop()
        del self._by_year[last.year][last.bed]


def hardest_first(crops):
    # Long pauses and many beds leave the fewest choices.
    return sorted(crops, key=lambda crop: (-crop.pause_years, -crop.beds, crop.name))


def fill_year(garden, year, wanted):
    """Place every crop of one year or raise NoPlan."""
    todo = [crop for crop in hardest_first(wanted) for _ in range(crop.beds)]
    if len(todo) > garden.n_beds:
        raise NoPlan(f"{year}: {len(todo)} plantings for {garden.n_beds} beds")

    def search(position):
        if position == len(todo):
            return True
        crop = todo[position]
        for bed in range(garden.n_beds):
            if garden.is_allowed(year, bed, crop):
                garden.place(year, bed, crop)
                if search(position + 1):
                    return True
                garden.take_back()
        return False

    if not search(0):
        raise NoPlan(f"{year}: the pauses leave no room")


def plan_years(n_beds, years, wanted, bad_pairs=()):
    garden = GardenPlan(n_beds, bad_pairs)
    for year in years:
        fill_year(garden, year, wanted)
    return garden


def read_crops(path):
    """Read crops from a CSV file with the columns name, family, pause, beds."""
    crops = []
    with open(path, newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            crops.append(Crop(row["name"], row["family"], int(row["pause"]), int(row["beds"] or 1)))
    return crops


def table(garden, years):
    """One line for each bed, one column for each year."""
    width = max((len(p.crop.name) for p in garden.placements), default=4)
    lines = ["bed  " + "  ".join(f"{year:<{width}}" for year in years)]
    for bed in range(garden.n_beds):
        cells = []
        for year in years:
            crop = garden.crop_at(year, bed)
            cells.append(f"{crop.name if crop else '-':<{width}}")
        lines.append(f"{bed + 1:>3}  " + "  ".join(cells))
    return "\n".join(lines)


def main(argv):
    if len(argv) != 3:
        print("usage: garden.py CROPS.csv BEDS", file=sys.stderr)
        return 2
    years = range(2024, 2028)
    wanted = read_crops(argv[1])
    try:
        garden = plan_years(int(argv[2]), years, wanted)
    except NoPlan as problem:
        print(f"no plan: {problem}", file=sys.stderr)
        return 1
    print(table(garden, years))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
