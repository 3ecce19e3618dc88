"""Reads with the data client: ranges, filters, long scans."""

import asyncio
import time

from google.cloud.bigtable.data import (
    ReadRowsQuery,
    RowRange,
    row_filters,
)

import filters
from common import (
    KEYS,
    SCAN_ROWS,
    SCAN_VALUE,
    exceptions,
    holds,
    maybe,
    raw_client,
    refused,
    same,
    scan_key,
    table,
    table_name,
)
from data_tools import (
    Build,
    cell,
    cells_of,
    checks,
    fill,
    kept,
    keys_of,
    opened,
    read,
    scan_of,
)
from stubs import expect_backwards

# --- reads ---------------------------------------------------------------------------------------


@checks.check
async def ranges_prefixes_and_keys(client):
    with table("ranges", ["stats"]) as table_id:
        data = opened(client, table_id)
        await fill(data, KEYS)
        same(await keys_of(data), KEYS, "all")
        for wanted, *bounds in (
            (KEYS[1:4], b"a#1", b"b"),
            (KEYS[1:5], b"a#1", b"b", True, True),
            (KEYS[2:4], b"a#1", b"b", False, False),
            (KEYS[6:], b"c\x00"),
            (KEYS[:2], None, b"a#2"),
            (KEYS[1:3], b"a#", b"a$"),
            ([], b"d", b"e"),
        ):
            same(await keys_of(data, row_ranges=RowRange(*bounds)), wanted, f"range {bounds}")
        query = {
            "row_keys": [b"\xff", b"a#2", b"nowhere"],
            "row_ranges": [RowRange(b"a#1", b"a$"), RowRange(b"a#2", b"b#", True, True)],
        }
        same(await keys_of(data, **query), [*KEYS[1:5], b"\xff"], "overlapping parts")
        same(await keys_of(data, **query, limit=2), KEYS[1:3], "overlap, limit")
        same(await keys_of(data, limit=3), KEYS[:3], "limit")


@checks.check
async def a_reversed_read_is_backwards(client):
    """The client has no word for it yet; the protocol does."""
    with table("reversed", ["stats"]) as table_id:
        data = opened(client, table_id)
        await fill(data, KEYS)
        await maybe(data.mutate_row(b"b", cell(b"2", micros=2000)))
        expect_backwards(table_id, KEYS, b"b")


@checks.check
async def sharded_reads_give_every_row_once(client):
    with table("sharded", ["stats"], splits=[b"r300", b"r600"]) as table_id:
        data = opened(client, table_id)
        keys = [b"r%03d" % n for n in range(1000)]
        await fill(data, keys)
        shards = ReadRowsQuery().shard(await maybe(data.sample_row_keys()))
        holds(len(shards) >= 3, f"{len(shards)} shards of a table with two splits")
        rows = await maybe(data.read_rows_sharded(shards))
        same([row.row_key for row in rows], keys, "rows")


def filtered(name, row_filter, wanted):
    async def run(_client):
        rows = await read(kept["filters"], row_filter=row_filter)
        filters.same_cells([one for row in rows for one in cells_of(row)], wanted)

    checks.case(f"filter_{name}", run)


def refused_filter(name, row_filter):
    async def run(_client):
        with refused(exceptions.InvalidArgument):
            await read(kept["filters"], row_filter=row_filter)

    checks.case(f"filter_refused_{name}", run)


@checks.check
async def filters_have_rows(_client):
    for key, family, column, micros, value in filters.CELLS:
        await maybe(kept["filters"].mutate_row(key, cell(value, column, family, micros)))


@checks.check
async def every_filter_is_tried(_client):
    filters.expect_every_kind(row_filters, Build)


for case in filters.cases(row_filters, Build):
    filtered(*case)
for case in filters.refused_cases(row_filters, Build):
    refused_filter(*case)


@checks.check
async def filter_row_sample(_client):
    data = kept["scan"]
    query = {"row_ranges": RowRange(scan_key(0), scan_key(2000))}
    keys = await keys_of(data, **query, row_filter=row_filters.RowSampleFilter(0.5))
    holds(700 < len(keys) < 1300, f"{len(keys)} rows of 2000 at 0.5")
    same(keys, sorted(set(keys)), "order")


# --- long scans ----------------------------------------------------------------------------------


@checks.check
async def a_slow_reader_gets_every_row(_client):
    scan = await scan_of(kept["scan"], operation_timeout=100, attempt_timeout=100)
    expected = 0
    while (row := await scan.next()) is not None:
        if expected in (1, SCAN_ROWS // 2):
            await asyncio.sleep(2)
        elif expected % 500 == 0:
            await asyncio.sleep(0.01)
        same(row.row_key, scan_key(expected), "key")
        holds(row.cells[0].value == SCAN_VALUE, f"value of row {expected}")
        expected += 1
    same(expected, SCAN_ROWS, "rows")


@checks.check
async def a_deadline_ends_a_slow_scan(_client):
    data = kept["scan"]
    scan = await scan_of(data, operation_timeout=1.5, attempt_timeout=None)
    started = time.monotonic()
    rows = 0
    with refused(exceptions.DeadlineExceeded):
        while await scan.next() is not None:
            rows += 1
            if rows % 100 == 0:
                await asyncio.sleep(0.1)
            holds(time.monotonic() - started < 100, "it goes on after 100 s")
    holds(rows < SCAN_ROWS, "all rows were read")
    same(await maybe(data.row_exists(scan_key(7))), True, "a read after it")


@checks.check
async def abandoned_scans_leave_the_server_well(_client):
    """Over TLS the client waits, in close, for its attempt to time out."""
    data = kept["scan"]
    for turn in range(4):
        query = ReadRowsQuery(row_ranges=RowRange(scan_key(turn)))
        scan = await scan_of(data, query, attempt_timeout=1)
        same((await scan.next()).row_key, scan_key(turn), "first row")
        await scan.close()
    same(await keys_of(data, limit=5), [scan_key(n) for n in range(5)], "a read after them")


@checks.check
async def cancelled_scans_leave_the_server_well(_client):
    data, raw = kept["scan"], raw_client()
    for turn in range(50):
        start = {"row_ranges": [{"start_key_closed": scan_key(turn)}]}
        scan = raw.read_rows({"table_name": table_name(data.table_id), "rows": start})
        same(next(iter(scan)).chunks[0].row_key, scan_key(turn), "first row")
        scan.cancel()
    same(await keys_of(data, limit=5), [scan_key(n) for n in range(5)], "a read after them")
