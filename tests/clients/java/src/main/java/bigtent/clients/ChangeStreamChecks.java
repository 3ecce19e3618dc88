package bigtent.clients;

import com.google.api.gax.rpc.FailedPreconditionException;
import com.google.api.gax.rpc.InvalidArgumentException;
import com.google.api.gax.rpc.ServerStream;
import com.google.cloud.bigtable.admin.v2.models.CreateTableRequest;
import com.google.cloud.bigtable.admin.v2.models.UpdateTableRequest;
import com.google.cloud.bigtable.data.v2.models.ChangeStreamContinuationToken;
import com.google.cloud.bigtable.data.v2.models.ChangeStreamMutation;
import com.google.cloud.bigtable.data.v2.models.ChangeStreamMutation.MutationType;
import com.google.cloud.bigtable.data.v2.models.ChangeStreamRecord;
import com.google.cloud.bigtable.data.v2.models.CloseStream;
import com.google.cloud.bigtable.data.v2.models.DeleteCells;
import com.google.cloud.bigtable.data.v2.models.DeleteFamily;
import com.google.cloud.bigtable.data.v2.models.Entry;
import com.google.cloud.bigtable.data.v2.models.Heartbeat;
import com.google.cloud.bigtable.data.v2.models.Range.ByteStringRange;
import com.google.cloud.bigtable.data.v2.models.ReadChangeStreamQuery;
import com.google.cloud.bigtable.data.v2.models.RowMutation;
import com.google.cloud.bigtable.data.v2.models.SetCell;
import com.google.cloud.bigtable.data.v2.models.TableId;
import com.google.protobuf.ByteString;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Change streams. */
final class ChangeStreamChecks {
  static final Map<String, Check> ALL = new LinkedHashMap<>();

  static {
    ALL.put("changes_enable_change_disable_retention", ChangeStreamChecks::retention);
    ALL.put("changes_partitions_cover_the_table", ChangeStreamChecks::partitions);
    ALL.put("changes_of_every_kind_in_order", ChangeStreamChecks::changes);
    ALL.put("changes_go_on_behind_a_token", ChangeStreamChecks::resume);
    ALL.put("changes_heartbeat_and_end", ChangeStreamChecks::heartbeat);
    ALL.put("changes_of_a_large_value", ChangeStreamChecks::largeValue);
    ALL.put("changes_refused_without_a_stream", ChangeStreamChecks::refused);
  }

  private ChangeStreamChecks() {}

  private static org.threeten.bp.Duration days(int days) {
    return org.threeten.bp.Duration.ofDays(days);
  }

  private static String streamed(World w, String subject) {
    CreateTableRequest request =
        CreateTableRequest.of(w.name(subject))
            .addFamily("f")
            .addFamily("g")
            .addChangeStreamRetention(days(1));
    return w.admin.createTable(request).getId();
  }

  /** Without its stream a table can be deleted. */
  private static void end(World w, String table) {
    w.admin.updateTable(UpdateTableRequest.of(table).disableChangeStreamRetention());
  }

  private static void retention(World w) {
    String table = streamed(w, "retention");
    Expect.equal("created", w.admin.getTable(table).getChangeStreamRetention(), days(1));
    w.admin.updateTable(UpdateTableRequest.of(table).addChangeStreamRetention(days(7)));
    Expect.equal("changed", w.admin.getTable(table).getChangeStreamRetention(), days(7));
    Expect.refused(
        InvalidArgumentException.class,
        "eight days",
        () -> w.admin.updateTable(UpdateTableRequest.of(table).addChangeStreamRetention(days(8))));
    end(w, table);
    org.threeten.bp.Duration none = w.admin.getTable(table).getChangeStreamRetention();
    Expect.that(none == null || none.isZero(), "disabled: " + none);
  }

  private static List<ByteStringRange> partitionsOf(World w, String table) {
    List<ByteStringRange> partitions = new ArrayList<>();
    for (ByteStringRange range : w.data.generateInitialChangeStreamPartitions(table)) {
      partitions.add(range);
    }
    return partitions;
  }

  private static void partitions(World w) {
    String table = streamed(w, "partitions");
    w.fill(table, 2000);
    List<ByteStringRange> partitions = partitionsOf(w, table);
    Expect.that(!partitions.isEmpty(), "no partitions");
    ByteString end = ByteString.EMPTY;
    for (ByteStringRange partition : partitions) {
      Expect.equal("start of " + partition, partition.getStart(), end);
      end = partition.getEnd();
    }
    Expect.equal("end of all", end, ByteString.EMPTY);
    end(w, table);
  }

  /** The partition of row r. */
  private static ByteStringRange partition(World w, String table) {
    for (ByteStringRange range : partitionsOf(w, table)) {
      String start = Expect.text(range.getStart());
      String end = Expect.text(range.getEnd());
      if (start.compareTo("r") <= 0 && (end.isEmpty() || "r".compareTo(end) < 0)) {
        return range;
      }
    }
    throw new Expect.Failure("no partition has row r");
  }

  private static String text(Entry entry) {
    if (entry instanceof SetCell set) {
      return "set " + set.getFamilyName() + ":" + Expect.text(set.getQualifier()) + "@"
          + set.getTimestamp() + "=" + Expect.text(set.getValue());
    }
    if (entry instanceof DeleteCells delete) {
      return "delete " + delete.getFamilyName() + ":" + Expect.text(delete.getQualifier());
    }
    if (entry instanceof DeleteFamily delete) {
      return "delete " + delete.getFamilyName();
    }
    return entry.toString();
  }

  private static String text(ChangeStreamMutation mutation) {
    Expect.equal("type", mutation.getType(), MutationType.USER);
    StringBuilder line = new StringBuilder(Expect.text(mutation.getRowKey()));
    mutation.getEntries().forEach(entry -> line.append(' ').append(text(entry)));
    return line.toString();
  }

  /** So many changes of a stream; then it is cancelled. */
  private static List<ChangeStreamMutation> take(
      World w, ReadChangeStreamQuery query, int count) {
    ReadChangeStreamQuery bounded =
        query
            .endTime(Instant.now().plusSeconds(20))
            .heartbeatDuration(Duration.ofSeconds(1));
    List<ChangeStreamMutation> changes = new ArrayList<>();
    ServerStream<ChangeStreamRecord> stream = w.data.readChangeStream(bounded);
    for (ChangeStreamRecord record : stream) {
      if (record instanceof ChangeStreamMutation mutation) {
        changes.add(mutation);
      }
      if (changes.size() == count) {
        stream.cancel();
        break;
      }
    }
    return changes;
  }

  private static List<String> texts(List<ChangeStreamMutation> changes) {
    return changes.stream().map(ChangeStreamChecks::text).toList();
  }

  private static ReadChangeStreamQuery since(World w, String table, Instant start) {
    return ReadChangeStreamQuery.create(table)
        .streamPartition(partition(w, table))
        .startTime(start);
  }

  private static void changes(World w) {
    Instant start = Instant.now().minusSeconds(1);
    String table = streamed(w, "changes");
    RowMutation write = RowMutation.create(TableId.of(table), "r");
    w.data.mutateRow(write.setCell("f", "a", 2000, "one").setCell("g", "b", 1000, "two"));
    RowMutation delete = RowMutation.create(TableId.of(table), "r");
    w.data.mutateRow(delete.deleteCells("g", "b").deleteFamily("g"));
    w.putRows(table, "r");
    Expect.equal(
        "changes",
        texts(take(w, since(w, table, start), 3)),
        List.of(
            "r set f:a@2000=one set g:b@1000=two",
            "r delete g:b delete g",
            "r set f:q@1000=r"));
    end(w, table);
  }

  private static void resume(World w) {
    Instant start = Instant.now().minusSeconds(1);
    String table = streamed(w, "resume");
    for (String value : new String[] {"1", "2", "3"}) {
      w.put(table, "r", "f", "q", 1000, value);
    }
    ChangeStreamMutation first = take(w, since(w, table, start), 1).get(0);
    Expect.equal("first", text(first), "r set f:q@1000=1");
    ByteStringRange range = partition(w, table);
    ReadChangeStreamQuery again =
        ReadChangeStreamQuery.create(table)
            .streamPartition(range)
            .continuationTokens(
                List.of(ChangeStreamContinuationToken.create(range, first.getToken())));
    Expect.equal(
        "behind it", texts(take(w, again, 2)), List.of("r set f:q@1000=2", "r set f:q@1000=3"));
    end(w, table);
  }

  private static void heartbeat(World w) {
    String table = streamed(w, "heartbeat");
    int heartbeats = 0;
    CloseStream close = null;
    ReadChangeStreamQuery query =
        since(w, table, Instant.now())
            .endTime(Instant.now().plusSeconds(6))
            .heartbeatDuration(Duration.ofSeconds(1));
    for (ChangeStreamRecord record : w.data.readChangeStream(query)) {
      if (record instanceof Heartbeat heartbeat) {
        heartbeats++;
        Expect.that(
            !heartbeat.getChangeStreamContinuationToken().getToken().isEmpty(), "no token");
      } else if (record instanceof CloseStream last) {
        close = last;
      } else {
        throw new Expect.Failure("a change without a write: " + record);
      }
    }
    Expect.that(heartbeats > 0, "no heartbeat");
    Expect.that(close != null, "no end");
    Expect.equal("end", close.getStatus().getCode().name(), "OK");
    end(w, table);
  }

  private static void largeValue(World w) {
    Instant start = Instant.now().minusSeconds(1);
    String table = streamed(w, "large");
    byte[] noise = new byte[8 << 20];
    new Random(2).nextBytes(noise);
    ByteString value = ByteString.copyFrom(noise);
    w.data.mutateRow(
        RowMutation.create(TableId.of(table), "r")
            .setCell("f", ByteString.copyFromUtf8("q"), 1000, value));
    ChangeStreamMutation change = take(w, since(w, table, start), 1).get(0);
    Expect.that(
        change.getEntries().get(0) instanceof SetCell set && set.getValue().equals(value),
        "the value differs");
    end(w, table);
  }

  private static void refused(World w) {
    String table = w.table("plain", "f");
    Expect.refused(
        FailedPreconditionException.class, "partitions", () -> partitionsOf(w, table));
    Expect.refused(
        FailedPreconditionException.class,
        "changes",
        () ->
            take(
                w,
                ReadChangeStreamQuery.create(table)
                    .streamPartition(ByteStringRange.unbounded())
                    .startTime(Instant.now()),
                1));
  }
}
