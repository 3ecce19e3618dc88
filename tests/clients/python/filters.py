"""Every filter the client can express, on known rows, with the cells that must come back.

Used by both APIs: `names` is the module with the classes of filters, `build` makes those whose
constructors differ.
"""

from common import bigtable_v2, in_family_order, same

FAMILIES = ["raw", "stats"]

# (row, family, qualifier, timestamp, value), in the order of a read.
CELLS = [
    (b"a#1", "raw", b"bin\x00ary", 3000, b"\x00\xff"),
    (b"a#1", "stats", b"cell", 2000, b"2"),
    (b"a#1", "stats", b"cell", 1000, b"1"),
    (b"a#1", "stats", b"os", 1000, b"PQ2A"),
    (b"a#2", "stats", b"cell", 1000, b"7"),
    (b"a#2", "stats", b"wifi", 2000, b""),
    (b"b\n1", "raw", b"text", 5000, b"line\nbreak"),
    (b"b#2", "raw", b"mask", 1000, b"\x0f\xf0"),
    (b"b#2", "stats", b"os", 1000, b"OPM1"),
    (b"\xff\xfe", "raw", b"text", 1000, b"end"),
]


def keep(condition, labels=()):
    return [(*cell, list(labels)) for cell in CELLS if condition(*cell)]


def rows_of(cells):
    return {cell[0] for cell in cells}


def first_of_row(cells, count, skip=0):
    kept, seen = [], {}
    for cell in cells:
        seen[cell[0]] = seen.get(cell[0], 0) + 1
        if skip < seen[cell[0]] <= skip + count:
            kept.append(cell)
    return kept


def plain_cases(f, build):
    """name, filter, cells"""
    yield "pass_all", f.PassAllFilter(True), keep(lambda *_: True)
    yield "block_all", f.BlockAllFilter(True), []
    yield (
        "row_key_regex_dot_is_no_newline",
        f.RowKeyRegexFilter(b".*"),
        keep(lambda row, *_: b"\n" not in row),
    )
    yield "row_key_regex_any_byte", f.RowKeyRegexFilter(rb"\C*"), keep(lambda *_: True)
    yield "row_key_regex_is_a_full_match", f.RowKeyRegexFilter(b"a#"), []
    yield (
        "row_key_regex_of_bytes",
        f.RowKeyRegexFilter(b"\\xff\\xfe"),
        keep(lambda row, *_: row == b"\xff\xfe"),
    )
    yield (
        "family_name_regex",
        f.FamilyNameRegexFilter("sta.*"),
        keep(lambda row, family, *_: family == "stats"),
    )
    yield (
        "column_qualifier_regex",
        f.ColumnQualifierRegexFilter(b"c.*|os"),
        keep(lambda row, family, column, *_: column in (b"cell", b"os")),
    )
    yield (
        "column_range_closed",
        build.columns("stats", b"cell", b"os"),
        keep(lambda row, family, column, *_: family == "stats" and b"cell" <= column <= b"os"),
    )
    yield (
        "column_range_open",
        build.columns("stats", b"cell", b"wifi", False, False),
        keep(lambda row, family, column, *_: family == "stats" and b"cell" < column < b"wifi"),
    )
    yield "column_range_of_all", build.columns("raw"), keep(lambda row, family, *_: family == "raw")
    yield (
        "timestamp_range",
        build.times(1000, 3000),
        keep(lambda row, family, column, at, value: 1000 <= at < 3000),
    )
    yield (
        "timestamp_range_without_end",
        build.times(2000, None),
        keep(lambda row, family, column, at, value: at >= 2000),
    )
    yield (
        "value_regex",
        f.ValueRegexFilter(b"[0-9]|O.*"),
        keep(lambda *cell: cell[4] in (b"2", b"1", b"7", b"OPM1")),
    )
    yield "value_literal", build.literal(b"\x00\xff"), keep(lambda *cell: cell[4] == b"\x00\xff")
    yield (
        "value_range_closed",
        f.ValueRangeFilter(b"1", b"2"),
        keep(lambda *cell: b"1" <= cell[4] <= b"2"),
    )
    yield (
        "value_range_open",
        f.ValueRangeFilter(b"1", b"7", inclusive_start=False, inclusive_end=False),
        keep(lambda *cell: b"1" < cell[4] < b"7"),
    )
    yield (
        "value_bitmask",
        f.ValueBitmaskFilter(b"\x0e\xf0"),
        keep(lambda *cell: cell[4] == b"\x0f\xf0"),
    )
    yield (
        "strip_value",
        f.StripValueTransformerFilter(True),
        [(*cell[:4], b"", []) for cell in CELLS],
    )
    yield "apply_label", f.ApplyLabelFilter("seen-by-1"), keep(lambda *_: True, ["seen-by-1"])


def counting_cases(f, build):
    stats = keep(lambda row, family, *_: family == "stats")
    only_stats = f.FamilyNameRegexFilter("stats")
    twice = [cell for cell in stats for _ in range(2)]
    both = f.RowFilterUnion([f.PassAllFilter(True), f.PassAllFilter(True)])
    yield (
        "cells_per_row_offset",
        f.RowFilterChain([only_stats, f.CellsRowOffsetFilter(1)]),
        (first_of_row(stats, 99, skip=1)),
    )
    yield (
        "cells_per_row_limit",
        f.RowFilterChain([only_stats, f.CellsRowLimitFilter(2)]),
        (first_of_row(stats, 2)),
    )
    yield (
        "cells_per_column_limit",
        f.CellsColumnLimitFilter(1),
        keep(lambda *cell: cell[2:4] != (b"cell", 1000) or cell[0] == b"a#2"),
    )
    yield "interleave_keeps_duplicates", f.RowFilterChain([only_stats, both]), twice
    yield (
        "duplicates_are_counted",
        f.RowFilterChain([only_stats, both, f.CellsRowLimitFilter(3)]),
        first_of_row(twice, 3),
    )


def combined_cases(f, build):
    stats = keep(lambda row, family, *_: family == "stats")
    with_os = rows_of(keep(lambda *cell: cell[2] == b"os"))
    has_os = f.ColumnQualifierRegexFilter(b"os")
    yield (
        "chain",
        f.RowFilterChain([f.FamilyNameRegexFilter("stats"), has_os, f.ValueRegexFilter(b"P.*")]),
        keep(lambda *cell: cell[4] == b"PQ2A"),
    )
    yield (
        "interleave_of_labels",
        f.RowFilterUnion(
            [
                f.RowFilterChain([f.ValueRegexFilter(b"7"), f.ApplyLabelFilter("seven")]),
                f.RowFilterChain([f.ValueRegexFilter(b"1"), f.ApplyLabelFilter("one")]),
            ]
        ),
        keep(lambda *cell: cell[4] == b"1", ["one"])
        + keep(lambda *cell: cell[4] == b"7", ["seven"]),
    )
    yield (
        "condition_both_ways",
        build.condition(has_os, f.ApplyLabelFilter("os"), f.StripValueTransformerFilter(True)),
        [(*cell, ["os"]) if cell[0] in with_os else (*cell[:4], b"", []) for cell in CELLS],
    )
    yield (
        "condition_without_else",
        build.condition(has_os, f.PassAllFilter(True), None),
        keep(lambda row, *_: row in with_os),
    )
    yield (
        "condition_without_then",
        build.condition(has_os, None, f.PassAllFilter(True)),
        keep(lambda row, *_: row not in with_os),
    )
    sunk = [
        copy
        for cell in stats
        for copy in [(*cell[:5], ["sunk"])] + ([cell] if cell[2] == b"os" else [])
    ]
    yield (
        "sink",
        f.RowFilterChain(
            [
                f.FamilyNameRegexFilter("stats"),
                f.RowFilterUnion(
                    [
                        f.PassAllFilter(True),
                        f.RowFilterChain([f.ApplyLabelFilter("sunk"), f.SinkFilter(True)]),
                    ]
                ),
                has_os,
            ]
        ),
        sunk,
    )


def cases(f, build):
    yield from plain_cases(f, build)
    yield from counting_cases(f, build)
    yield from combined_cases(f, build)


def kinds_in(message):
    """The kinds of a filter and of all it is made of."""
    kind = message.WhichOneof("filter")
    parts = {
        "chain": lambda: message.chain.filters,
        "interleave": lambda: message.interleave.filters,
        "condition": lambda: [
            getattr(message.condition, part.name) for part, _ in message.condition.ListFields()
        ],
    }
    inner = parts[kind]() if kind in parts else []
    return {kind}.union(*map(kinds_in, inner))


def expect_every_kind(f, build):
    """The protocol has no filter that is not tried; a sample is drawn by a check of its own."""
    tried = {"row_sample_filter"}
    for _, row_filter, _ in cases(f, build):
        message = row_filter._to_pb()
        tried |= kinds_in(type(message).pb(message))
    same(tried, {field.name for field in every_filter()}, "kinds of filters")


def every_filter():
    return bigtable_v2.RowFilter.pb().DESCRIPTOR.oneofs_by_name["filter"].fields


def refused_cases(f, build):
    """name, filter: the server says INVALID_ARGUMENT."""
    deep = f.PassAllFilter(True)
    for _ in range(21):
        deep = f.RowFilterChain([f.PassAllFilter(True), deep])
    yield "chain_of_one", f.RowFilterChain([f.PassAllFilter(True)])
    yield "interleave_of_one", f.RowFilterUnion([f.PassAllFilter(True)])
    yield "deeper_than_20", deep
    yield "larger_than_20480_bytes", f.ValueRegexFilter(b"x" * 20480)
    yield "colon_in_family", f.FamilyNameRegexFilter("stats:.*")
    yield "broken_regex", f.ValueRegexFilter(b"(unclosed")
    yield "label_in_capitals", f.ApplyLabelFilter("LABEL")
    yield "label_of_16", f.ApplyLabelFilter("abcdefghijklmnop")
    yield "negative_limit", f.CellsRowLimitFilter(-1)
    yield "sample_of_all", f.RowSampleFilter(1.0)
    yield (
        "sink_in_condition",
        build.condition(f.PassAllFilter(True), f.SinkFilter(True), f.PassAllFilter(True)),
    )


def same_cells(got, wanted):
    """Copies of one cell may come in either order: labels decide."""

    def settled(cells):
        cells = in_family_order(cells)
        groups, out = [], []
        for cell in cells:
            if groups and groups[-1][0][:4] == cell[:4]:
                groups[-1].append(cell)
            else:
                groups.append([cell])
        for group in groups:
            out += sorted(group, key=lambda one: one[5])
        return out

    same(settled(got), settled(wanted), "cells")
