"""Reads said by the generated client: what the libraries have no word for, or take no more of."""

from common import features, holds, raw_client, same, table_name


def chunks_of(table_id, **request):
    """The chunks of every message of a read, in their order."""
    answers = raw_client().read_rows(
        {"table_name": table_name(table_id), **request}, metadata=features(reverse_scans=True)
    )
    return [chunk for answer in answers for chunk in answer.chunks]


def backwards(table_id, **request):
    """Keys and timestamps of a reversed read, of rows whose cells are small."""
    keys, times, is_first = [], [], True
    for chunk in chunks_of(table_id, reversed=True, **request):
        keys += [chunk.row_key] if is_first else []
        times.append(chunk.timestamp_micros)
        is_first = chunk.commit_row
    return keys, times


def expect_backwards(table_id, keys, twice):
    """A table of these keys with one cell each, but two in the row `twice`, the newer at 2000."""
    every = [micros for key in keys[::-1] for micros in ([2000, 1000] if key == twice else [1000])]
    same(backwards(table_id), (keys[::-1], every), "all")
    at = keys.index(twice)
    part = {"row_ranges": [{"start_key_closed": keys[at - 2], "end_key_open": keys[at + 1]}]}
    wanted = (keys[at - 2 : at + 1][::-1], [2000, 1000, 1000, 1000])
    same(backwards(table_id, rows=part), wanted, "part")
    same(backwards(table_id, rows_limit=2)[0], keys[:-3:-1], "limit")


def expect_divided(table_id, key, value):
    """The only cell of a row comes in several chunks, each but the last with the size of all."""
    chunks = chunks_of(table_id, rows={"row_keys": [key]})
    holds(len(chunks) > 1, f"one chunk of {len(value)} bytes")
    same({chunk.value_size for chunk in chunks[:-1]}, {len(value)}, "sizes told")
    same(chunks[-1].value_size, 0, "size told by the last chunk")
    same([chunk.commit_row for chunk in chunks], [False] * (len(chunks) - 1) + [True], "commits")
    holds(b"".join(chunk.value for chunk in chunks) == value, "other bytes")
