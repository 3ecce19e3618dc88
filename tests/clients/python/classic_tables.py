"""Tables, samples and drops, with the classic API."""

import datetime

from google.cloud.bigtable import column_family

from classic_tools import (
    cells_of,
    checks,
    fill,
    keys_of,
    made,
    put,
    tables,
)
from common import (
    INSTANCE,
    KEYS,
    eventually,
    holds,
    same,
)

# --- tables --------------------------------------------------------------------------------------


@checks.check
def gc_rules_come_back(instance):
    age = column_family.MaxAgeGCRule(datetime.timedelta(days=7))
    versions = column_family.MaxVersionsGCRule(3)
    rules = {
        "versions": versions,
        "age": age,
        "either": column_family.GCRuleUnion([age, versions]),
        "both": column_family.GCRuleIntersection([age, versions]),
        "nested": column_family.GCRuleUnion(
            [versions, column_family.GCRuleIntersection([age, column_family.MaxVersionsGCRule(1)])]
        ),
        "all": None,
    }
    table = made(instance, "gc", rules)
    holds(table.exists(), "the table does not exist")
    families = table.list_column_families()
    same({name: family.gc_rule for name, family in families.items()}, rules, "rules")


@checks.check
def families_are_added_changed_and_dropped(instance):
    table = made(instance, "families", ["stats", "gone"])
    put(table, b"r", [("stats", b"c", 1000, b"kept"), ("gone", b"c", 1000, b"dropped")])
    added = table.column_family("added", gc_rule=column_family.MaxVersionsGCRule(1))
    added.create()
    changed = table.column_family("added", gc_rule=column_family.MaxVersionsGCRule(2))
    changed.update()
    table.column_family("gone").delete()
    families = table.list_column_families()
    same(sorted(families), ["added", "stats"], "families")
    same(families["added"].gc_rule, column_family.MaxVersionsGCRule(2), "rule")
    same([cell[1] for cell in cells_of(table.read_row(b"r"))], ["stats"], "families of the row")


@checks.check
def versions_beyond_the_rule_are_not_kept(instance):
    table = made(instance, "versions", {"stats": column_family.MaxVersionsGCRule(2)})
    for micros in (1000, 2000, 3000):
        put(table, b"r", [("stats", b"c", micros, b"%d" % micros)])
    eventually(
        lambda: [cell[4] for cell in cells_of(table.read_row(b"r"))] == [b"3000", b"2000"],
        10,
        "two versions",
    )


@checks.check
def tables_are_listed_and_deleted(instance):
    table = made(instance, "listed")
    holds(table.table_id in [one.table_id for one in instance.list_tables()], "it is not listed")
    tables.pop(table.table_id).delete()
    holds(not table.exists(), "it exists after the delete")
    holds(table.table_id not in [one.table_id for one in instance.list_tables()], "still listed")


@checks.check
def the_instance_is_there(instance):
    client = instance._client
    holds(instance.exists(), "the instance does not exist")
    instance.reload()
    listed, failed = client.list_instances()
    same(([one.instance_id for one in listed], list(failed)), ([INSTANCE], []), "instances")
    clusters, _ = instance.list_clusters()
    holds(len(clusters) >= 1, "no cluster")
    holds(not client.instance("no-such-instance").exists(), "an unknown instance exists")


@checks.check
def replication_is_ready(instance):
    states = made(instance, "states").get_cluster_states()
    same({repr(state) for state in states.values()}, {"READY"}, "states")


# --- samples, drops ------------------------------------------------------------------------------


@checks.check
def samples_of_a_new_table_are_its_splits(instance):
    table = made(instance, "splits", splits=[b"g", b"p"])
    samples = list(table.sample_row_keys())
    same([sample.row_key for sample in samples], [b"g", b"p", b""], "keys")
    offsets = [sample.offset_bytes for sample in samples]
    same(offsets, sorted(offsets), "offsets")


@checks.check
def drops_by_prefix_take_that_prefix(instance):
    table = made(instance, "drop")
    fill(table, KEYS)
    table.drop_by_prefix(b"a#", timeout=200)
    same(keys_of(table.read_rows()), [key for key in KEYS if not key.startswith(b"a#")], "left")
    fill(table, [b"a#1"])
    same(table.read_row(b"a#1").row_key, b"a#1", "written after the drop")
    table.drop_by_prefix(b"\xff", timeout=200)
    same(keys_of(table.read_rows())[-1], b"c\x00\x00", "last key")
    table.truncate(timeout=200)
    same(keys_of(table.read_rows()), [], "after truncate")
    holds(table.exists(), "the table went with its rows")
