"""What the checks of the data client share. The last argument chooses the client: sync or async."""

import datetime
import sys

from google.cloud.bigtable.data import (
    ReadRowsQuery,
    RowMutationEntry,
    SetCell,
    row_filters,
)

from common import (
    INSTANCE,
    Checks,
    async_data_client,
    bigtable_admin_v2,
    data_client,
    maybe,
)

ASYNC = sys.argv[1:] == ["async"]
checks = Checks("python-data-async" if ASYNC else "python-data-sync")
GcRule = bigtable_admin_v2.GcRule
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
kept = {}


class Build:
    """Filters whose constructors are this API's own."""

    @staticmethod
    def columns(family, start=None, end=None, start_in=None, end_in=None):
        return row_filters.ColumnRangeFilter(family, start, end, start_in, end_in)

    @staticmethod
    def times(start, end):
        return row_filters.TimestampRangeFilter(
            EPOCH + datetime.timedelta(microseconds=start),
            EPOCH + datetime.timedelta(microseconds=end) if end else None,
        )

    literal = row_filters.LiteralValueFilter
    condition = row_filters.ConditionalRowFilter


def opened(client, table_id):
    return client.get_table(INSTANCE, table_id)


def cell(value, qualifier=b"n", family="stats", micros=1000):
    return SetCell(family, qualifier, value, timestamp_micros=micros)


async def fill(data, keys, value=b"1"):
    await maybe(data.bulk_mutate_rows([RowMutationEntry(key, cell(value)) for key in keys]))


def cells_of(row):
    return [
        (row.row_key, one.family, one.qualifier, one.timestamp_micros, one.value, one.labels)
        for one in row.cells
    ]


async def read(data, **query):
    return await maybe(data.read_rows(ReadRowsQuery(**query)))


async def keys_of(data, **query):
    return [row.row_key for row in await read(data, **query)]


class Scan:
    """A stream of rows of either kind, one at a time."""

    def __init__(self, stream):
        self.stream = stream

    async def next(self):
        if ASYNC:
            return await anext(self.stream, None)
        return next(self.stream, None)

    async def close(self):
        await (self.stream.aclose() if ASYNC else maybe(self.stream.close()))


async def scan_of(data, query=None, **options):
    return Scan(await maybe(data.read_rows_stream(query or ReadRowsQuery(), **options)))


def make_client(**login):
    return async_data_client(**login) if ASYNC else data_client(**login)
