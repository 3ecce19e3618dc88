package bigtent.clients;

import static com.google.cloud.bigtable.data.v2.models.Filters.FILTERS;

import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.cloud.bigtable.data.v2.models.Filters.Filter;
import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.TableId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Every filter the client has. */
final class FilterChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();

  private static final String ONE =
      "r1 f:a@3000=x3 f:a@2000=x2 f:a@1000=x1 f:b@1000=y g:a@2000=z";
  private static final String TWO = "r2 f:b@1000=y2 g:bin\377\n@1000=\377\n\0";

  static {
    ALL.put("filter_cells", w -> expectAll(w, "cells", cellFilters()));
    ALL.put("filter_counts", w -> expectAll(w, "counts", countFilters()));
    ALL.put("filter_compositions", w -> expectAll(w, "compositions", compositions()));
    ALL.put("filter_sink", w -> expectAll(w, "sink", sinks()));
    ALL.put("filter_row_sample", FilterChecks::sample);
    ALL.put("filter_refused", FilterChecks::refused);
  }

  private FilterChecks() {}

  private record Case(String name, Filter filter, String... rows) {}

  private static String filterTable(World w, String name) {
    String table = w.table("filter-" + name, "f", "g");
    w.data.mutateRow(
        RowMutation.create(TableId.of(table), "r1")
            .setCell("f", "a", 1000, "x1")
            .setCell("f", "a", 2000, "x2")
            .setCell("f", "a", 3000, "x3")
            .setCell("f", "b", 1000, "y")
            .setCell("g", "a", 2000, "z"));
    w.data.mutateRow(
        RowMutation.create(TableId.of(table), "r2")
            .setCell("f", "b", 1000, "y2")
            .setCell("g", Expect.bytes("bin\377\n"), 1000, Expect.bytes("\377\n\0")));
    return table;
  }

  private static void expectAll(World w, String name, List<Case> cases) {
    String table = filterTable(w, name);
    List<String> wrong = new ArrayList<>();
    for (Case c : cases) {
      try {
        List<String> rows = Expect.rows(w, Query.create(TableId.of(table)).filter(c.filter));
        if (!rows.equals(List.of(c.rows))) {
          wrong.add(c.name + ": " + rows + ", expected " + List.of(c.rows));
        }
      } catch (RuntimeException failure) {
        wrong.add(c.name + ": " + failure);
      }
    }
    Expect.that(wrong.isEmpty(), String.join("; ", wrong));
  }

  private static List<Case> cellFilters() {
    String g2 = "r2 g:bin\377\n@1000=\377\n\0";
    return List.of(
        new Case("pass", FILTERS.pass(), ONE, TWO),
        new Case("block", FILTERS.block()),
        new Case("key regex", FILTERS.key().regex("r[13]"), ONE),
        new Case("key exactly", FILTERS.key().exactMatch("r2"), TWO),
        new Case("family regex", FILTERS.family().regex("g|h"), "r1 g:a@2000=z", g2),
        new Case("family exactly", FILTERS.family().exactMatch("g"), "r1 g:a@2000=z", g2),
        new Case("column regex", FILTERS.qualifier().regex("b"), "r1 f:b@1000=y", "r2 f:b@1000=y2"),
        new Case("column of any bytes", FILTERS.qualifier().regex("bin\\C*"), g2),
        new Case(
            "column exactly", FILTERS.qualifier().exactMatch(Expect.bytes("bin\377\n")), g2),
        new Case(
            "column range",
            FILTERS.qualifier().rangeWithinFamily("f").startOpen("a").endClosed("b"),
            "r1 f:b@1000=y",
            "r2 f:b@1000=y2"),
        new Case("value regex", FILTERS.value().regex("y.?"), "r1 f:b@1000=y", "r2 f:b@1000=y2"),
        new Case("value exactly", FILTERS.value().exactMatch(Expect.bytes("\377\n\0")), g2),
        new Case(
            "value range",
            FILTERS.value().range().startClosed("x2").endOpen("y2"),
            "r1 f:a@3000=x3 f:a@2000=x2 f:b@1000=y"),
        new Case(
            "times",
            FILTERS.timestamp().range().startClosed(2000L).endOpen(3000L),
            "r1 f:a@2000=x2 g:a@2000=z"),
        new Case(
            "time exactly", FILTERS.timestamp().exact(3000L), "r1 f:a@3000=x3"),
        new Case(
            "strip",
            FILTERS.chain().filter(FILTERS.qualifier().regex("b")).filter(FILTERS.value().strip()),
            "r1 f:b@1000=",
            "r2 f:b@1000="),
        new Case(
            "label",
            FILTERS.chain().filter(FILTERS.value().regex("y")).filter(FILTERS.label("mark-1")),
            "r1 f:b@1000=y[mark-1]"));
  }

  private static List<Case> countFilters() {
    String behind = "r2 g:bin\377\n@1000=\377\n\0";
    return List.of(
        new Case(
            "newest of a column",
            FILTERS.limit().cellsPerColumn(1),
            "r1 f:a@3000=x3 f:b@1000=y g:a@2000=z",
            TWO),
        new Case(
            "first of a row", FILTERS.limit().cellsPerRow(1), "r1 f:a@3000=x3", "r2 f:b@1000=y2"),
        new Case(
            "behind the first of a row",
            FILTERS.offset().cellsPerRow(1),
            "r1 f:a@2000=x2 f:a@1000=x1 f:b@1000=y g:a@2000=z",
            behind),
        new Case("behind all of a row", FILTERS.offset().cellsPerRow(5)));
  }

  private static List<Case> compositions() {
    Filter hasA = FILTERS.qualifier().exactMatch("a");
    Filter y = FILTERS.value().regex("y.*");
    return List.of(
        new Case(
            "chain",
            FILTERS
                .chain()
                .filter(hasA)
                .filter(FILTERS.family().exactMatch("f"))
                .filter(FILTERS.limit().cellsPerColumn(1)),
            "r1 f:a@3000=x3"),
        new Case(
            "interleave",
            FILTERS.interleave().filter(y).filter(FILTERS.family().exactMatch("g")),
            "r1 f:b@1000=y g:a@2000=z",
            "r2 f:b@1000=y2 g:bin\377\n@1000=\377\n\0"),
        new Case(
            "interleave keeps duplicates",
            FILTERS.interleave().filter(y).filter(y),
            "r1 f:b@1000=y f:b@1000=y",
            "r2 f:b@1000=y2 f:b@1000=y2"),
        new Case(
            "condition",
            FILTERS.condition(hasA).then(y).otherwise(FILTERS.value().strip()),
            "r1 f:b@1000=y",
            "r2 f:b@1000= g:bin\377\n@1000="),
        new Case("condition, else only", FILTERS.condition(hasA).otherwise(y), "r2 f:b@1000=y2"));
  }

  private static List<Case> sinks() {
    Filter toSink =
        FILTERS.chain().filter(FILTERS.qualifier().exactMatch("a")).filter(FILTERS.sink());
    return List.of(
        new Case(
            "what goes down the sink passes the rest by",
            FILTERS
                .chain()
                .filter(FILTERS.interleave().filter(toSink).filter(FILTERS.pass()))
                .filter(FILTERS.value().regex("y")),
            ONE));
  }

  private static void sample(World w) {
    String table = w.table("sampled", "f");
    w.fill(table, 400);
    int seen =
        Expect.rows(w, Query.create(TableId.of(table)).filter(FILTERS.key().sample(0.5))).size();
    // A fair coin leaves this range once in 10^22 runs.
    Expect.that(seen > 100 && seen < 300, seen + " of 400 rows");
  }

  private static void refused(World w) {
    String table = filterTable(w, "refused");
    Filter deep = FILTERS.chain().filter(FILTERS.pass()).filter(FILTERS.pass());
    for (int i = 0; i < 30; i++) {
      deep = FILTERS.interleave().filter(deep).filter(FILTERS.pass());
    }
    Map<String, Filter> invalid = new LinkedHashMap<>();
    invalid.put("a broken expression", FILTERS.value().regex("("));
    invalid.put("a label in capitals", FILTERS.label("LOUD"));
    invalid.put("no cell of a column", FILTERS.limit().cellsPerColumn(0));
    invalid.put("nested too deeply", deep);
    invalid.forEach(
        (name, filter) ->
            Expect.refused(
                InvalidArgumentException.class,
                name,
                () -> Expect.rows(w, Query.create(TableId.of(table)).filter(filter))));
  }
}
