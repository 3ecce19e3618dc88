"""What the checks of the classic API share."""

import datetime

from google.cloud.bigtable import row_filters
from google.rpc import code_pb2

from common import (
    PATIENT,
    Checks,
    new_table_id,
    same,
)

checks = Checks("python-classic")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
tables = {}


def at(micros):
    return EPOCH + datetime.timedelta(microseconds=micros)


class Build:
    """Filters whose constructors are this API's own."""

    @staticmethod
    def columns(family, start=None, end=None, start_in=None, end_in=None):
        return row_filters.ColumnRangeFilter(family, start, end, start_in, end_in)

    @staticmethod
    def times(start, end):
        return row_filters.TimestampRangeFilter(
            row_filters.TimestampRange(at(start), at(end) if end else None)
        )

    literal = row_filters.ExactValueFilter
    condition = row_filters.ConditionalRowFilter


def made(instance, subject, families=("stats",), splits=()):
    """A table as users make it; dropped at the end of the program."""
    table = instance.table(new_table_id(f"classic-{subject}"))
    if not isinstance(families, dict):
        families = {name: None for name in families}
    PATIENT(table.create)(initial_split_keys=list(splits), column_families=families)
    tables[table.table_id] = table
    return table


def put(table, key, cells):
    """cells: (family, qualifier, micros, value)"""
    row = table.direct_row(key)
    for family, qualifier, micros, value in cells:
        row.set_cell(family, qualifier, value, timestamp=at(micros))
    same(row.commit().code, code_pb2.OK, "status of a write")


def cells_of(row):
    return [
        (row.row_key, family, qualifier, cell.timestamp_micros, cell.value, cell.labels)
        for family, columns in row.cells.items()
        for qualifier, cells in columns.items()
        for cell in cells
    ]


def keys_of(rows):
    return [row.row_key for row in rows]


def write(table, keys):
    """A bulk of one cell a row; the codes that came back."""
    rows = []
    for key in keys:
        row = table.direct_row(key)
        row.set_cell("stats", b"n", b"1", timestamp=at(1000))
        rows.append(row)
    return {status.code for status in table.mutate_rows(rows)}


def fill(table, keys):
    same(write(table, keys), {code_pb2.OK}, "codes of a bulk write")
