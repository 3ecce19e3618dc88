package bigtent.clients;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Checks that the official Java client of Cloud Bigtable works against a server, unmodified: one
 * line for each check, "ok NAME" or "not ok NAME: why", and 0 only if every one is ok. Arguments
 * are beginnings of names, to run only those.
 */
public final class Main {
  private static final List<Map<String, Check>> SUBJECTS =
      List.of(
          TableChecks.ALL,
          WriteChecks.ALL,
          ReadChecks.ALL,
          FilterChecks.ALL,
          ErrorChecks.ALL,
          QuotaChecks.ALL,
          ViewChecks.ALL,
          ChangeStreamChecks.ALL,
          BackupChecks.ALL);
  private static final List<Map<String, Check>> SUBJECTS_OVER_TLS =
      List.of(TableChecks.OVER_TLS, ErrorChecks.OVER_TLS);

  private Main() {}

  private static List<Map<String, Check>> subjects(World world) {
    List<Map<String, Check>> subjects = new ArrayList<>(SUBJECTS);
    if (!world.target.emulated()) {
      subjects.addAll(SUBJECTS_OVER_TLS);
    }
    return subjects;
  }

  private static boolean wanted(String name, String[] prefixes) {
    return prefixes.length == 0 || Arrays.stream(prefixes).anyMatch(name::startsWith);
  }

  private static String reason(Throwable failure) {
    String text = failure instanceof Expect.Failure ? failure.getMessage() : failure.toString();
    text = String.valueOf(text).replace('\n', ' ');
    return text.length() > 1500 ? text.substring(0, 1500) + "..." : text;
  }

  private static boolean passes(String name, Check check, World world) {
    try {
      check.run(world);
      System.out.println("ok " + name);
      return true;
    } catch (Exception failure) {
      System.out.println("not ok " + name + ": " + reason(failure));
      return false;
    }
  }

  public static void main(String[] prefixes) throws Exception {
    int ran = 0;
    int failed = 0;
    try (World world = new World(Target.fromEnvironment())) {
      for (Map<String, Check> subject : subjects(world)) {
        for (Map.Entry<String, Check> entry : subject.entrySet()) {
          if (wanted(entry.getKey(), prefixes)) {
            ran++;
            failed += passes(entry.getKey(), entry.getValue(), world) ? 0 : 1;
          }
        }
      }
    } catch (Expect.Failure leftBehind) {
      System.err.println("java: " + leftBehind.getMessage());
      System.exit(1);
    }
    System.err.printf("java: %d of %d checks failed%n", failed, ran);
    System.exit(failed == 0 && ran > 0 ? 0 : 1);
  }
}
