package bigtent.clients;

import com.google.api.gax.rpc.ServerStream;
import com.google.cloud.bigtable.data.v2.models.KeyOffset;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Range.ByteStringRange;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Reads: ranges, order, limits, size. */
final class ReadChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();

  static {
    ALL.put("read_ranges_with_every_bound", ReadChecks::ranges);
    ALL.put("read_prefixes", ReadChecks::prefixes);
    ALL.put("read_row_lists_and_many_ranges", ReadChecks::sets);
    ALL.put("read_reversed", ReadChecks::reversed);
    ALL.put("read_limited_and_by_pages", ReadChecks::limited);
    ALL.put("read_cell_of_20_megabytes", ReadChecks::bigCell);
    ALL.put("read_100000_rows_slowly", ReadChecks::slowScan);
    ALL.put("read_sample_keys_and_shards", ReadChecks::samples);
  }

  private ReadChecks() {}

  private static void expect(World w, String table, ByteStringRange range, String keys) {
    Query query = Query.create(TableId.of(table)).range(range);
    Expect.equal(range.toString(), Expect.keys(w, query), keys);
  }

  private static ByteStringRange range() {
    return ByteStringRange.unbounded();
  }

  private static void ranges(World w) {
    String table = w.table("ranges", "f");
    w.putRows(table, "a", "b", "b\0", "c", "d");
    expect(w, table, range().startClosed("b").endOpen("c"), "b,b\0");
    expect(w, table, range().startClosed("b").endClosed("c"), "b,b\0,c");
    expect(w, table, range().startOpen("b").endOpen("c"), "b\0");
    expect(w, table, range().startOpen("b").endClosed("c"), "b\0,c");
    expect(w, table, range().startClosed("b").endClosed("b"), "b");
    expect(w, table, range().startClosed("c"), "c,d");
    expect(w, table, range().startOpen("c"), "d");
    expect(w, table, range().endOpen("b"), "a");
    expect(w, table, range().endClosed("b"), "a,b");
    expect(w, table, range(), "a,b,b\0,c,d");
  }

  private static void prefixes(World w) {
    String table = w.table("prefixes", "f");
    w.putRows(table, "a", "a#1", "a#2", "b");
    Query query = Query.create(TableId.of(table));
    Expect.equal("a#", Expect.keys(w, query.clone().prefix("a#")), "a#1,a#2");
    Expect.equal("a", Expect.keys(w, query.clone().prefix("a")), "a,a#1,a#2");
    Expect.equal("x", Expect.keys(w, query.clone().prefix("x")), "");
  }

  private static void sets(World w) {
    String table = w.table("sets", "f");
    w.putRows(table, "a", "b", "c", "d", "e", "f");
    Query query = Query.create(TableId.of(table));
    Expect.equal(
        "keys in any order, twice, absent",
        Expect.keys(w, query.clone().rowKey("e").rowKey("b").rowKey("zz").rowKey("b")),
        "b,e");
    Expect.equal(
        "overlapping ranges",
        Expect.keys(w, query.clone().range("d", "f").range("a", "c").range("b", "e").rowKey("a")),
        "a,b,c,d,e");
  }

  private static void reversed(World w) {
    String table = w.table("reversed", "f");
    w.putRows(table, "a", "b", "b\0", "c", "d");
    w.put(table, "b", "f", "q", 2000, "newer");
    Query query = Query.create(TableId.of(table)).reversed(true);
    Expect.equal("everything", Expect.keys(w, query.clone()), "d,c,b\0,b,a");
    Expect.equal("[b, d) two", Expect.keys(w, query.clone().range("b", "d").limit(2)), "c,b\0");
    Expect.equal("keys", Expect.keys(w, query.clone().rowKey("a").rowKey("d")), "d,a");
    Expect.equal(
        "cells stay newest first",
        Expect.rows(w, query.clone().rowKey("b")),
        List.of("b f:q@2000=newer f:q@1000=b"));
  }

  private static void limited(World w) {
    String table = w.table("limited", "f");
    w.putRows(table, "a", "b", "c", "d", "e");
    Query query = Query.create(TableId.of(table));
    Expect.equal("two", Expect.keys(w, query.clone().limit(2)), "a,b");
    Expect.equal("more than there are", Expect.keys(w, query.clone().limit(99)), "a,b,c,d,e");
    List<String> pages = new ArrayList<>();
    Query.QueryPaginator pager = query.clone().createPaginator(2);
    ByteString last;
    do {
      last = ByteString.EMPTY;
      String keys = "";
      for (Row row : w.data.readRows(pager.getNextQuery())) {
        keys += Expect.text(row.getKey());
        last = row.getKey();
      }
      pages.add(keys);
    } while (pager.advance(last));
    Expect.that(
        String.join(",", pages).startsWith("ab,cd,e"), "pages " + pages + ", expected ab, cd, e");
  }

  private static void bigCell(World w) {
    String table = w.table("big", "f");
    byte[] noise = new byte[20 << 20];
    new Random(1).nextBytes(noise);
    ByteString value = ByteString.copyFrom(noise);
    ByteString column = ByteString.copyFromUtf8("big");
    w.data.mutateRow(
        RowMutation.create(TableId.of(table), "r")
            .setCell("f", column, 1000, value)
            .setCell("f", "small", 1000, "behind it"));
    w.putRows(table, "q", "s");
    int rows = 0;
    for (Row row : w.data.readRows(Query.create(TableId.of(table)))) {
      rows++;
      if (Expect.text(row.getKey()).equals("r")) {
        Expect.equal("cells", row.getCells().size(), 2);
        Expect.that(row.getCells().get(0).getValue().equals(value), "the value differs");
        Expect.equal(
            "the cell behind it", Expect.text(row.getCells().get(1).getValue()), "behind it");
      }
    }
    Expect.equal("rows", rows, 3);
  }

  private static void slowScan(World w) throws Exception {
    int next = 0;
    ServerStream<Row> stream = w.data.readRows(Query.create(TableId.of(w.longTable())));
    for (Row row : stream) {
      String key = String.format("row-%06d", next++);
      Expect.equal("key", Expect.text(row.getKey()), key);
      Expect.equal("value", Expect.text(row.getCells().get(0).getValue()), World.LONG_VALUE);
      if (next == 1000) {
        Thread.sleep(3000);
      } else if (next % 500 == 0) {
        Thread.sleep(20);
      }
    }
    Expect.equal("rows", next, World.LONG_ROWS);
  }

  private static void samples(World w) {
    String table = w.table("samples", "f");
    w.fill(table, 2000);
    List<KeyOffset> samples = w.data.sampleRowKeys(TableId.of(table));
    String last = "";
    long offset = 0;
    for (KeyOffset sample : samples.subList(0, samples.size() - 1)) {
      String key = Expect.text(sample.getKey());
      Expect.that(last.compareTo(key) < 0, key + " behind " + last);
      Expect.that(offset <= sample.getOffsetBytes(), "offsets fall at " + key);
      last = key;
      offset = sample.getOffsetBytes();
    }
    Expect.equal("the end", samples.get(samples.size() - 1).getKey(), ByteString.EMPTY);
    int rows = 0;
    for (Query shard : Query.create(TableId.of(table)).shard(samples)) {
      rows += Expect.rows(w, shard).size();
    }
    Expect.equal("rows of all shards", rows, 2000);
  }
}
