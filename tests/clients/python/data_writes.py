"""Writes with the data client, and changes of one row that read it."""

import asyncio
import random
import struct
import time

from google.cloud.bigtable.data import (
    DeleteAllFromFamily,
    DeleteAllFromRow,
    DeleteRangeFromColumn,
    RowMutationEntry,
    SetCell,
    row_filters,
)
from google.cloud.bigtable.data.exceptions import MutationsExceptionGroup
from google.cloud.bigtable.data.mutations import AddToCell
from google.cloud.bigtable.data.read_modify_write_rules import AppendValueRule, IncrementRule

from common import (
    LARGE_BYTES,
    LARGE_BYTES_OF_LIBRARY,
    bigtable_admin_v2,
    exceptions,
    holds,
    instance_name,
    maybe,
    new_table_id,
    raw_client,
    refused,
    same,
    table,
    table_admin,
    table_name,
)
from data_tools import (
    ASYNC,
    cell,
    checks,
    fill,
    keys_of,
    opened,
    read,
)
from stubs import expect_divided

# --- writes --------------------------------------------------------------------------------------


@checks.check
async def a_row_is_written_and_read(client):
    with table("row", ["stats", "raw"]) as table_id:
        data = opened(client, table_id)
        before = time.time_ns() // 1000 - 60_000_000
        await maybe(
            data.mutate_row(
                "phone#4c410523#20190501",
                [
                    SetCell("stats", "connected_cell", 1),
                    SetCell("stats", "by_server", b"now", timestamp_micros=-1),
                    cell("PQ2A.190405.003", "os_build", micros=5000),
                    cell(b"\x00" * 3, b"\x00\xff", "raw", 0),
                ],
            )
        )
        row = await maybe(data.read_row("phone#4c410523#20190501"))
        found = {one.qualifier: one for one in row.cells}
        same(found[b"connected_cell"].value, struct.pack(">q", 1), "number")
        same(int(found[b"connected_cell"]), 1, "number")
        by_server = found[b"by_server"].timestamp_micros
        holds(before < by_server and by_server % 1000 == 0, f"the server's clock: {by_server}")
        for name, value, micros in (
            (b"os_build", b"PQ2A.190405.003", 5000),
            (b"\0\xff", b"\0" * 3, 0),
        ):
            same((found[name].value, found[name].timestamp_micros), (value, micros), f"{name}")
        same(await maybe(data.read_row("phone")), None, "a row that is not there")
        same(await maybe(data.row_exists("phone#4c410523#20190501")), True, "exists")
        same(await maybe(data.row_exists("phone")), False, "exists")


@checks.check
async def deletes_take_what_they_name(client):
    with table("deletes", ["stats", "raw"]) as table_id:
        data = opened(client, table_id)

        async def after(*changes):
            await maybe(data.mutate_row(b"r", list(changes)))
            row = await maybe(data.read_row(b"r"))
            return sorted((c.family, c.qualifier, c.timestamp_micros) for c in row or ())

        full = [cell(b"1", b"a", micros=micros) for micros in (1000, 2000, 3000)]
        full += [cell(b"1", b"b"), cell(b"1", b"c", "raw")]
        wanted = [("raw", b"c", 1000), ("stats", b"a", 3000), ("stats", b"b", 1000)]
        same(
            await after(*full, DeleteRangeFromColumn("stats", b"a", 1000, 3000)), wanted, "versions"
        )
        same(await after(DeleteRangeFromColumn("stats", b"a")), [wanted[0], wanted[2]], "column")
        same(await after(DeleteAllFromFamily("stats")), [wanted[0]], "family")
        same(await after(DeleteAllFromRow()), [], "row")
        same(await after(*full[:1], DeleteAllFromRow(), *full[3:4]), [wanted[2]], "in order")


@checks.check
async def a_refused_row_is_unchanged(client):
    with table("atomic", ["stats"]) as table_id:
        data = opened(client, table_id)
        with refused(exceptions.NotFound):
            await maybe(data.mutate_row(b"r", [cell(b"1"), cell(b"2", family="none")]))
        same(await maybe(data.read_row(b"r")), None, "row")


@checks.check
async def bulk_writes_say_which_row_failed(client):
    with table("bulk", ["stats"]) as table_id:
        data = opened(client, table_id)
        entries = [
            RowMutationEntry(b"r%03d" % n, cell(b"1", family="none" if n % 10 == 3 else "stats"))
            for n in range(100)
        ]
        with refused(MutationsExceptionGroup) as refusal:
            await maybe(data.bulk_mutate_rows(entries))
        failed = {one.index: type(one.__cause__) for one in refusal.error.exceptions}
        same(failed, {n: exceptions.NotFound for n in range(3, 100, 10)}, "failures")
        same(await keys_of(data), [b"r%03d" % n for n in range(100) if n % 10 != 3], "rows")


@checks.check
async def a_batcher_writes_everything(client):
    with table("batcher", ["stats"]) as table_id:
        data = opened(client, table_id)
        batcher = data.mutations_batcher(flush_limit_mutation_count=500)
        for number in range(5000):
            await maybe(batcher.append(RowMutationEntry(b"r%05d" % number, cell(b"%d" % number))))
        await maybe(batcher.close())
        same(await keys_of(data), [b"r%05d" % n for n in range(5000)], "rows")


@checks.check
async def too_many_mutations_are_refused(client):
    """The client counts as well; the generated one does not."""
    with table("many", ["stats"]) as table_id:
        data = opened(client, table_id)
        change = cell(b"1")._to_pb()
        with refused(exceptions.InvalidArgument):
            raw_client().mutate_row(
                table_name=table_name(table_id), row_key=b"r", mutations=[change] * 100_001
            )
        same(await maybe(data.read_row(b"r")), None, "row")
        raw_client().mutate_row(
            table_name=table_name(table_id), row_key=b"r", mutations=[change] * 100_000
        )
        same(len((await maybe(data.read_row(b"r"))).cells), 1, "cells")


@checks.check
async def sums_are_kept_by_the_server(client):
    admin = table_admin()
    kind = bigtable_admin_v2.Type
    big_endian = kind.Int64.Encoding.BigEndianBytes()
    number = kind.Int64(encoding=kind.Int64.Encoding(big_endian_bytes=big_endian))
    total = kind.Aggregate(input_type=kind(int64_type=number), sum=kind.Aggregate.Sum())
    family = bigtable_admin_v2.ColumnFamily(value_type=kind(aggregate_type=total))
    made = admin.create_table(
        parent=instance_name(),
        table_id=new_table_id("sums"),
        table=bigtable_admin_v2.Table(column_families={"hits": family}),
    )
    try:
        data = opened(client, made.name.rsplit("/", 1)[1])
        for amount in (5, 7, -2):
            await maybe(data.mutate_row(b"r", AddToCell("hits", b"page", amount, 1000)))
        row = await maybe(data.read_row(b"r"))
        same([(c.timestamp_micros, c.value) for c in row], [(1000, struct.pack(">q", 10))], "sum")
    finally:
        admin.delete_table(name=made.name)


@checks.check
async def large_cells_come_back_whole(client):
    with table("large", ["stats"]) as table_id:
        data = opened(client, table_id)
        big = {b"k%d" % n: random.Random(n).randbytes(LARGE_BYTES_OF_LIBRARY) for n in range(2)}
        for key, value in big.items():
            await maybe(data.mutate_row(key, [cell(value, b"big"), cell(b"beside", b"small")]))
        await fill(data, [b"k", b"k00", b"k2"])
        rows = {row.row_key: row for row in await read(data)}
        same(list(rows), [b"k", b"k0", b"k00", b"k1", b"k2"], "rows")
        for key, value in big.items():
            holds(rows[key].get_cells("stats", b"big")[0].value == value, f"{key}: other bytes")
            same(rows[key].get_cells("stats", b"small")[0].value, b"beside", "small cell")


@checks.check
async def a_cell_of_20_megabytes_is_divided_over_chunks(client):
    with table("divided", ["stats"]) as table_id:
        value = random.Random(2).randbytes(LARGE_BYTES)
        await maybe(opened(client, table_id).mutate_row(b"r", cell(value)))
        expect_divided(table_id, b"r", value)


# --- one row, atomically -------------------------------------------------------------------------


@checks.check
async def conditional_writes_take_one_branch(client):
    with table("conditional", ["stats"]) as table_id:
        data = opened(client, table_id)

        async def check(predicate, then, otherwise):
            return await maybe(
                data.check_and_mutate_row(
                    b"r", predicate, true_case_mutations=then, false_case_mutations=otherwise
                )
            )

        has = row_filters.ValueRegexFilter(b"yes")
        same(await check(None, cell(b"1", b"t"), cell(b"no", b"c")), False, "any cell of no row")
        same(await check(has, cell(b"1", b"t"), cell(b"yes", b"c")), False, "no match")
        same(await check(has, [cell(b"1", b"t"), cell(b"1", b"u")], None), True, "match")
        same(await check(has, None, cell(b"1", b"v")), True, "match without changes")
        row = await maybe(data.read_row(b"r"))
        same([c.qualifier for c in row], [b"c", b"t", b"u"], "columns")
        with refused(exceptions.InvalidArgument):
            await check(has, None, None)


@checks.check
async def appends_and_increments(client):
    with table("append", ["stats"]) as table_id:
        data = opened(client, table_id)
        future = (time.time_ns() // 1_000_000 + 3_600_000) * 1000
        await maybe(
            data.mutate_row(b"r", [cell(b"1", b"other"), cell(b"a", b"log", micros=future)])
        )
        row = await maybe(
            data.read_modify_write_row(
                b"r",
                [
                    AppendValueRule("stats", b"log", b"b"),
                    IncrementRule("stats", b"count", 3),
                    IncrementRule("stats", b"count", -5),
                ],
            )
        )
        same(row.row_key, b"r", "key")
        got = {c.qualifier: c for c in row}
        same(sorted(got), [b"count", b"log"], "columns of the answer: those changed")
        same(got[b"log"].value, b"ab", "log")
        holds(got[b"log"].timestamp_micros >= future, "an older timestamp than the cell had")
        same(got[b"count"].value, struct.pack(">q", -2), "count")


@checks.check
async def increments_need_eight_bytes(client):
    with table("seven", ["stats"]) as table_id:
        data = opened(client, table_id)
        await maybe(data.mutate_row(b"r", [cell(b"1234567", b"c"), cell(b"d", b"d")]))
        rules = [AppendValueRule("stats", b"d", b"more"), IncrementRule("stats", b"c", 1)]
        with refused(exceptions.FailedPrecondition):
            await maybe(data.read_modify_write_row(b"r", rules))
        row = await maybe(data.read_row(b"r"))
        same([c.value for c in row], [b"1234567", b"d"], "values")


@checks.check
async def increments_of_many_callers_add_up(client):
    with table("callers", ["stats"]) as table_id:
        data = opened(client, table_id)
        rule = IncrementRule("stats", b"count", 1)
        calls = [data.read_modify_write_row for _ in range(100)]
        if ASYNC:
            await asyncio.gather(*(call(b"r", rule) for call in calls))
        else:
            await asyncio.gather(*(asyncio.to_thread(call, b"r", rule) for call in calls))
        row = await maybe(data.read_row(b"r"))
        same(row.cells[0].value, struct.pack(">q", 100), "count")
