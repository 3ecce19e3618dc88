"""What the data client is refused, and how it says so."""

import time

from google.cloud.bigtable.data import (
    RowMutationEntry,
    RowRange,
)
from google.cloud.bigtable.data.exceptions import MutationsExceptionGroup
from google.cloud.bigtable.data.read_modify_write_rules import AppendValueRule

from common import (
    HASTY,
    INSTANCE,
    bigtable_admin_v2,
    exceptions,
    holds,
    instance_name,
    key_of,
    maybe,
    raw_client,
    refused,
    retry_delay_s,
    same,
    table,
    table_admin,
    table_name,
)
from data_tools import (
    cell,
    checks,
    fill,
    keys_of,
    make_client,
    opened,
)

# --- refusals ------------------------------------------------------------------------------------


@checks.check
async def unknown_names_are_not_found(client):
    data = opened(client, "no-such-table")
    for attempt in (
        lambda: data.read_row(b"r"),
        lambda: data.mutate_row(b"r", cell(b"1")),
        lambda: data.read_modify_write_row(b"r", AppendValueRule("stats", b"c", b"v")),
        lambda: data.check_and_mutate_row(b"r", None, true_case_mutations=cell(b"1")),
        lambda: data.sample_row_keys(),
    ):
        with refused(exceptions.NotFound):
            await maybe(attempt())
    with refused(MutationsExceptionGroup) as refusal:
        await fill(data, [b"r"])
    same(type(refusal.error.exceptions[0].__cause__), exceptions.NotFound, "cause")
    with refused(exceptions.NotFound):
        table_admin().get_table(name=table_name("no-such-table"))


@checks.check
async def a_second_table_of_the_name_already_exists(client):
    with table("twice", ["stats"]) as table_id, refused(exceptions.AlreadyExists):
        table_admin().create_table(
            parent=instance_name(), table_id=table_id, table=bigtable_admin_v2.Table()
        )


@checks.check
async def bad_arguments_are_invalid(client):
    with table("invalid", ["stats"]) as table_id:
        data = opened(client, table_id)
        for key, change in (
            (b"k" * 4097, cell(b"1")),
            (b"r", cell(b"1", b"q" * (16 * 1024 + 1))),
            (b"r", cell(b"1", micros=1)),
        ):
            with refused(exceptions.InvalidArgument):
                await maybe(data.mutate_row(key, change))
        with refused(exceptions.InvalidArgument):
            await keys_of(data, row_keys=[b""])
        with refused(exceptions.InvalidArgument):
            list(raw_client().read_rows({"table_name": table_name(table_id), "rows_limit": -1}))
        same(await keys_of(data), [], "rows")
        await maybe(data.mutate_row(b"k" * 4096, cell(b"1", b"q" * 16 * 1024)))
        same(await keys_of(data), [b"k" * 4096], "rows")


@checks.check
async def sql_is_refused_at_once(client):
    started = time.monotonic()
    with refused(exceptions.MethodNotImplemented):
        await maybe(client.execute_query("SELECT 1 AS one", INSTANCE))
    holds(time.monotonic() - started < 10, "it took 10 s")


@checks.over_tls
async def a_made_up_key_is_unauthenticated(_client):
    stranger = make_client(key="btt_" + "0" * 55)
    try:
        data = opened(stranger, "any")
        with refused(exceptions.Unauthenticated):
            await maybe(data.read_row(b"r"))
        with refused(exceptions.Unauthenticated):
            await maybe(data.mutate_row(b"r", cell(b"1")))
        with refused(exceptions.Unauthenticated):
            table_admin(key="btt_" + "0" * 55).get_table(name=table_name("any"))
    finally:
        await maybe(stranger.close())


@checks.over_tls
async def a_key_without_the_scope_is_denied(client):
    reader = make_client(key=key_of("acme-reader"))
    try:
        with table("scope", ["stats"]) as table_id:
            await fill(opened(client, table_id), [b"r"])
            data = opened(reader, table_id)
            same(await maybe(data.row_exists(b"r")), True, "what it may read")
            with refused(exceptions.PermissionDenied):
                await maybe(data.mutate_row(b"r", cell(b"2")))
            with refused(MutationsExceptionGroup) as refusal:
                await fill(data, [b"r"])
            cause = refusal.error.exceptions[0].__cause__
            same(type(cause), exceptions.PermissionDenied, "cause")
            with refused(exceptions.PermissionDenied):
                table_admin(key=key_of("acme-reader")).delete_table(name=table_name(table_id))
            same(await keys_of(opened(client, table_id)), [b"r"], "rows")
    finally:
        await maybe(reader.close())


# --- quotas --------------------------------------------------------------------------------------


def is_rate_refusal(error):
    """One error, or what became of several attempts."""
    for one in getattr(error, "exceptions", [error]):
        same(type(one), exceptions.ResourceExhausted, "cause")


async def is_told_to_wait(data):
    """As any call but those of plain writes, whose RetryInfo the classic API stumbles over."""
    with refused(exceptions.ResourceExhausted) as refusal:
        for _ in range(1000):
            await maybe(data.read_modify_write_row(b"log", AppendValueRule("stats", b"log", b".")))
    wait_s = retry_delay_s(refusal.error)
    holds(wait_s and 0 < wait_s < 30, f"RetryInfo says {wait_s}")


@checks.check
async def a_rate_limit_is_told_and_honoured(_client):
    """By itself the client does not retry RESOURCE_EXHAUSTED; it does when asked to."""
    hasty = make_client(project=HASTY)
    retryable = [
        exceptions.ResourceExhausted,
        exceptions.ServiceUnavailable,
        exceptions.DeadlineExceeded,
    ]
    try:
        with table("hasty", ["stats"], project=HASTY) as table_id:
            data = opened(hasty, table_id)
            refusals = 0
            for _ in range(20):
                try:
                    await fill(data, [b"first%02d" % n for n in range(50)])
                except MutationsExceptionGroup as group:
                    refusals += 1
                    for one in group.exceptions:
                        is_rate_refusal(one.__cause__)
                    break
            same(refusals, 1, "refusals")
            await is_told_to_wait(data)
            for batch in range(6):
                entries = [
                    RowMutationEntry(b"r%d#%02d" % (batch, n), cell(b"1")) for n in range(50)
                ]
                await maybe(
                    data.bulk_mutate_rows(entries, operation_timeout=60, retryable_errors=retryable)
                )
            keys = await keys_of(data, row_ranges=RowRange(b"r", b"s"))
            same(keys, [b"r%d#%02d" % (b, n) for b in range(6) for n in range(50)], "rows")
    finally:
        await maybe(hasty.close())
