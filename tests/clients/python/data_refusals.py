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
    OWED_ROWS,
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
    holds(time.monotonic() - started < 60, "it took a minute")


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


async def write_patiently(data, keys):
    """By itself the client does not retry RESOURCE_EXHAUSTED; it does when asked to."""
    entries = [RowMutationEntry(key, cell(b"1")) for key in keys]
    errors = [exceptions.ResourceExhausted, exceptions.ServiceUnavailable]
    await maybe(data.bulk_mutate_rows(entries, operation_timeout=60, retryable_errors=errors))


async def is_refused_for_its_rate(data):
    """After one bulk on credit: another bulk, and an append, whose RetryInfo says how long."""
    await write_patiently(data, [b"first%03d" % n for n in range(OWED_ROWS)])
    with refused(MutationsExceptionGroup) as refusal:
        await fill(data, [b"second"])
    causes = [one.__cause__ for one in refusal.error.exceptions]
    same([type(one) for one in causes], [exceptions.ResourceExhausted], "causes")
    with refused(exceptions.ResourceExhausted) as refusal:
        await maybe(data.read_modify_write_row(b"log", AppendValueRule("stats", b"log", b".")))
    wait_s = retry_delay_s(refusal.error)
    holds(wait_s and 0 < wait_s < 30, f"RetryInfo says {wait_s}")


@checks.check
async def a_rate_limit_is_told_and_honoured(_client):
    hasty = make_client(project=HASTY)
    try:
        with table("hasty", ["stats"], project=HASTY) as table_id:
            data = opened(hasty, table_id)
            await is_refused_for_its_rate(data)
            keys = [b"r%03d" % n for n in range(300)]
            for start in range(0, 300, 50):
                await write_patiently(data, keys[start : start + 50])
            same(await keys_of(data, row_ranges=RowRange(b"r", b"s")), keys, "rows")
            same(await maybe(data.row_exists(b"second")), False, "what was refused was written")
            same(await maybe(data.row_exists(b"log")), False, "what was refused was written")
    finally:
        await maybe(hasty.close())
