"""Tables, samples and drops, with the data client and the generated admin client."""

import asyncio
import time

from google.protobuf import duration_pb2, field_mask_pb2

from common import (
    KEYS,
    SCAN_ROWS,
    bigtable_admin_v2,
    exceptions,
    holds,
    instance_name,
    maybe,
    raw_client,
    refused,
    same,
    table,
    table_admin,
    table_name,
)
from data_tools import (
    GcRule,
    cell,
    checks,
    fill,
    kept,
    keys_of,
    opened,
)

# --- tables --------------------------------------------------------------------------------------


def versions(count):
    return GcRule(max_num_versions=count)


def age(seconds):
    return GcRule(max_age=duration_pb2.Duration(seconds=seconds))


@checks.check
async def gc_rules_come_back(client):
    rules = {
        "versions": versions(3),
        "age": age(3600),
        "either": GcRule(union=GcRule.Union(rules=[age(3600), versions(3)])),
        "both": GcRule(intersection=GcRule.Intersection(rules=[age(3600), versions(3)])),
    }
    rules["nested"] = GcRule(union=GcRule.Union(rules=[versions(9), rules["both"]]))
    with table("gc", rules) as table_id:
        admin = table_admin()
        got = admin.get_table(name=table_name(table_id))
        same({name: family.gc_rule for name, family in got.column_families.items()}, rules, "rules")
        same(got.name, table_name(table_id), "name")
        listed = [one.name for one in admin.list_tables(parent=instance_name())]
        holds(table_name(table_id) in listed, "it is not listed")


@checks.check
async def old_and_surplus_cells_are_collected(client):
    now = time.time_ns() // 1_000_000 * 1000
    old = now - 7200 * 1_000_000
    rules = {
        "versions": versions(1),
        "age": age(3600),
        "either": GcRule(union=GcRule.Union(rules=[age(3600), versions(2)])),
        "both": GcRule(intersection=GcRule.Intersection(rules=[age(3600), versions(1)])),
    }
    wanted = {
        "versions": [now],
        "age": [now, now - 1000, now - 2000],
        "either": [now, now - 1000],
        "both": [now, now - 1000, now - 2000],
    }
    with table("collect", rules) as table_id:
        data = opened(client, table_id)
        for family in rules:
            for micros in (old, now - 2000, now - 1000, now):
                await maybe(data.mutate_row(b"r", cell(b"v", family=family, micros=micros)))
        end = time.monotonic() + 90
        while True:
            row = await maybe(data.read_row(b"r"))
            got = {name: [c.timestamp_micros for c in row if c.family == name] for name in rules}
            if got == wanted or time.monotonic() > end:
                break
            await asyncio.sleep(0.2)
        same(got, wanted, "versions")


@checks.check
async def family_changes_are_all_or_nothing(client):
    change = bigtable_admin_v2.ModifyColumnFamiliesRequest.Modification
    family = bigtable_admin_v2.ColumnFamily
    with table("modify", ["stats"]) as table_id:
        admin = table_admin()

        def modify(*modifications):
            return admin.modify_column_families(
                name=table_name(table_id), modifications=list(modifications)
            )

        with refused(exceptions.NotFound):
            modify(
                change(id="new", create=family()),
                change(id="absent", update=family(gc_rule=versions(1))),
            )
        got = admin.get_table(name=table_name(table_id))
        same(sorted(got.column_families), ["stats"], "families after a refusal")
        got = modify(
            change(id="new", create=family(gc_rule=versions(1))),
            change(id="new", update=family(gc_rule=versions(2))),
            change(id="stats", drop=True),
        )
        same(dict(got.column_families)["new"].gc_rule, versions(2), "rule")
        same(sorted(got.column_families), ["new"], "families")


@checks.check
async def a_protected_table_is_not_deleted(client):
    with table("protected", ["stats"]) as table_id:
        admin = table_admin()

        def protect(wanted):
            changed = bigtable_admin_v2.Table(name=table_name(table_id), deletion_protection=wanted)
            mask = field_mask_pb2.FieldMask(paths=["deletion_protection"])
            admin.update_table(table=changed, update_mask=mask).result(timeout=100)

        protect(True)
        try:
            with refused(exceptions.FailedPrecondition):
                admin.delete_table(name=table_name(table_id))
        finally:
            protect(False)


@checks.check
async def writes_are_consistent_at_once(client):
    with table("consistent", ["stats"]) as table_id:
        admin = table_admin()
        token = admin.generate_consistency_token(name=table_name(table_id)).consistency_token
        answer = admin.check_consistency(name=table_name(table_id), consistency_token=token)
        same(answer.consistent, True, "consistent")


@checks.check
async def an_instance_can_be_warmed(client):
    raw_client().ping_and_warm(name=instance_name())


# --- samples, drops ------------------------------------------------------------------------------


@checks.check
async def samples_end_with_the_table(client):
    samples = await maybe(kept["scan"].sample_row_keys())
    keys, offsets = [key for key, _ in samples], [offset for _, offset in samples]
    same(keys[-1], b"", "last key")
    same(keys[:-1], sorted(set(keys[:-1])), "order")
    same(offsets, sorted(offsets), "offsets")
    holds(offsets[-1] > SCAN_ROWS * 10, f"{offsets[-1]} bytes in all")


@checks.check
async def samples_of_a_new_table_are_its_splits(client):
    with table("splits", ["stats"], splits=[b"g", b"p"]) as table_id:
        samples = await maybe(opened(client, table_id).sample_row_keys())
        same([key for key, _ in samples], [b"g", b"p", b""], "keys")


@checks.check
async def drops_take_what_they_name(client):
    with table("drop", ["stats"]) as table_id:
        data, admin = opened(client, table_id), table_admin()

        def drop(**what):
            admin.drop_row_range({"name": table_name(table_id), **what}, timeout=200)

        await fill(data, KEYS)
        drop(row_key_prefix=b"a#")
        left = [key for key in KEYS if not key.startswith(b"a#")]
        same(await keys_of(data), left, "left")
        await fill(data, [b"a#1"])
        same(await maybe(data.row_exists(b"a#1")), True, "written after the drop")
        drop(row_key_prefix=b"\xff")
        same((await keys_of(data))[-1], b"c\x00\x00", "last key")
        with refused(exceptions.InvalidArgument):
            drop()
        with refused(exceptions.InvalidArgument):
            drop(row_key_prefix=b"")
        drop(delete_all_data_from_table=True)
        same(await keys_of(data), [], "after all")
