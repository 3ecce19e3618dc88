package bigtent.clients;

import com.google.cloud.bigtable.data.v2.models.Query;
import com.google.cloud.bigtable.data.v2.models.Row;
import com.google.cloud.bigtable.data.v2.models.RowCell;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;

/** What is expected, and how rows look as text. */
final class Expect {
  private Expect() {}

  /** A promise that does not hold. */
  static final class Failure extends RuntimeException {
    Failure(String why) {
      super(why);
    }
  }

  static void that(boolean holds, String otherwise) {
    if (!holds) {
      throw new Failure(otherwise);
    }
  }

  static void equal(String what, Object got, Object expected) {
    that(Objects.equals(got, expected), what + ": " + got + ", expected " + expected);
  }

  /** The action must fail with just this exception of the client. */
  static void refused(Class<? extends Exception> expected, String what, Callable<?> action) {
    try {
      action.call();
    } catch (Exception failure) {
      that(
          expected.isInstance(failure),
          what + ": " + failure + ", expected " + expected.getSimpleName());
      return;
    }
    throw new Failure(what + ": done, expected " + expected.getSimpleName());
  }

  static void refused(Class<? extends Exception> expected, String what, Runnable action) {
    refused(
        expected,
        what,
        () -> {
          action.run();
          return null;
        });
  }

  /** Bytes as text of one char a byte. */
  static String text(ByteString bytes) {
    return bytes.toString(java.nio.charset.StandardCharsets.ISO_8859_1);
  }

  static ByteString bytes(String text) {
    return ByteString.copyFrom(text, java.nio.charset.StandardCharsets.ISO_8859_1);
  }

  /** key family:qualifier@micros=value[label] ..., families sorted. */
  static String text(Row row) {
    if (row == null) {
      return "none";
    }
    List<RowCell> cells = new ArrayList<>(row.getCells());
    cells.sort(Comparator.comparing(RowCell::getFamily));
    StringBuilder line = new StringBuilder(text(row.getKey()));
    for (RowCell cell : cells) {
      line.append(' ').append(cell.getFamily()).append(':').append(text(cell.getQualifier()));
      line.append('@').append(cell.getTimestamp()).append('=').append(text(cell.getValue()));
      if (!cell.getLabels().isEmpty()) {
        line.append(cell.getLabels());
      }
    }
    return line.toString();
  }

  static void row(World world, String table, String key, String expected) {
    equal("row " + key, text(world.data.readRow(TableId.of(table), key)), expected);
  }

  static List<String> rows(World world, Query query) {
    List<String> lines = new ArrayList<>();
    for (Row row : world.data.readRows(query)) {
      lines.add(text(row));
    }
    return lines;
  }

  static String keys(World world, Query query) {
    List<String> keys = new ArrayList<>();
    for (Row row : world.data.readRows(query)) {
      keys.add(text(row.getKey()));
    }
    return String.join(",", keys);
  }
}
