#!/bin/sh
# Plant one violation of every rule in a small tree and see that lint.sh finds it, and nothing else.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT INT TERM
failed=0
cases=0

card() {
    printf '/*\n * %s - a subject.\n *\n' "$1"
    printf ' * %s\n' 'Does:     something.' 'Owns:     nothing.' "May use:  $2" \
        'Knows no: anything.' 'Threads:  any.' 'Blocks:   no.' 'Fails by: no.' 'Limits:   none.' \
        'Promises: 1. One.'
    printf ' */\n'
}

source_of() {
    for header; do printf '#include "%s"\n\n' "$header"; done
    printf '#include "base/banned.h"\n'
}

clean_tree() {
    tree="$work/tree"
    rm -rf "$tree"
    mkdir -p "$tree/base" "$tree/storage/rocksdb" "$tree/tenancy" "$tree/gateway" "$tree/cli" \
        "$tree/tests/storage"
    cp "$here/../../.clang-format" "$tree/"
    card base/banned.h nothing. > "$tree/base/banned.h"
    card base/err.h nothing. > "$tree/base/err.h"
    card base/buf.h 'base/err.h.' > "$tree/base/buf.h"
    card storage/table.h 'base/.' > "$tree/storage/table.h"
    card tenancy/scope.h 'base/, storage/.' > "$tree/tenancy/scope.h"
    source_of base/buf.h base/err.h > "$tree/base/buf.c"
    source_of storage/table.h base/buf.h > "$tree/storage/table.c"
    source_of tenancy/scope.h storage/table.h > "$tree/tenancy/scope.c"
    source_of base/err.h > "$tree/cli/main.c"
    source_of base/err.h > "$tree/storage/rocksdb/ranges.c"
    source_of base/err.h > "$tree/gateway/loop.c"
}

# expect NAME PATTERN: the tree as it is now has exactly one finding, and it matches.
expect() {
    cases=$((cases + 1))
    "$here/lint.sh" "$tree" > "$work/out" 2>&1
    status=$?
    if [ $status -ne 1 ] || [ "$(wc -l < "$work/out")" -ne 2 ] || ! grep -qE "$2" "$work/out"; then
        echo "$1: expected one finding like \"$2\", exit 1; got exit $status:"
        sed 's/^/    /' "$work/out"
        failed=$((failed + 1))
    fi
    clean_tree
}

expect_clean() {
    cases=$((cases + 1))
    if ! "$here/lint.sh" "$tree" > "$work/out" 2>&1 || ! grep -q 'nothing found$' "$work/out"; then
        echo "$1: expected nothing; got:"
        sed 's/^/    /' "$work/out"
        failed=$((failed + 1))
    fi
    clean_tree
}

before() { # LINE FILE: put LINE and an empty line first in FILE
    { printf '%s\n\n' "$1"; cat "$tree/$2"; } > "$work/new" && mv "$work/new" "$tree/$2"
}

replace() { # SCRIPT FILE
    sed "$1" "$tree/$2" > "$work/new" && mv "$work/new" "$tree/$2"
}

clean_tree
expect_clean "a clean tree"

before '#include "tenancy/scope.h"' storage/rocksdb/ranges.c
expect "upward include" '^storage/rocksdb/ranges.c:1: storage/ may not include upward'
before '#include "storage/table.h"' cli/main.c
expect "cli includes a room" '^cli/main.c:1: cli/ may include only base/'
before '#include "cli/x.h"' gateway/loop.c
expect "a room includes cli" '^gateway/loop.c:1: nothing may include cli/'
before '#include "err.h"' gateway/loop.c
expect "include not from the root" '^gateway/loop.c:1: .*written from the root'
before '#include <h2o.h>' tenancy/scope.c
expect "h2o outside gateway" '^tenancy/scope.c:1: h2o belongs'
before '#include <nghttp2/nghttp2.h>' cli/main.c
expect "nghttp2 outside gateway" '^cli/main.c:1: nghttp2 belongs'
before '#include <rocksdb/c.h>' storage/table.c
expect "rocksdb outside its folder" '^storage/table.c:1: rocksdb belongs'
before '#include <re2/re2.h>' storage/table.c
expect "re2 outside its file" '^storage/table.c:1: re2 belongs'
echo 'int x;' > "$tree/storage/table.cc"
expect "C++ elsewhere" '^storage/table.cc:1: C.. belongs'
before '#include <intel-ipsec-mb.h>' storage/table.c
expect "ipsec-mb outside its file" '^storage/table.c:1: ipsec-mb belongs'
before '#include <jansson.h>' storage/table.c
expect "jansson in storage" '^storage/table.c:1: base/ and storage/ know no JSON'
before '#include <h2o.h>' gateway/loop.c
before '#include <nghttp2/nghttp2.h>' gateway/loop.c
before '#include <jansson.h>' gateway/loop.c
before '#include <rocksdb/c.h>' storage/rocksdb/ranges.c
expect_clean "libraries where they belong"

before 'extern int x;' base/err.h
expect "no card" '^base/err.h:1: does not open with a room card'
replace 's|base/err.h -|base/error.h -|' base/err.h
expect "card of another file" '^base/err.h:2: the card does not begin'
for key in Does Owns 'May use' 'Knows no' Threads Blocks 'Fails by' Limits Promises; do
    [ "$key" = 'May use' ] && continue # an absent "May use" is two findings: the includes as well
    replace "/^ \* $key:/d" base/buf.h
    expect "card without $key" "^base/buf.h:1: the room card lacks \"$key:\""
done
replace '/^ \* May use:/d' base/banned.h
expect "card without May use" '^base/banned.h:1: the room card lacks "May use:"'
replace 's|^\( \* Limits:\).*|\1|' base/err.h
expect "empty line in a card" '^base/err.h:11: the card.s "Limits:" says nothing'
before '#include "base/err.h"' storage/table.c
replace 's|May use:  base/.|May use:  base/buf.h.|' storage/table.h
expect "May use too narrow" '^storage/table.c:1: base/err.h is not under "May use"'
printf '\n#include "base/err.h"\n' >> "$tree/base/banned.h"
expect "include against nothing" '^base/banned.h:[0-9]*: the card of base/banned.h may use nothing'

for call in rocksdb_delete_range_cf rocksdb_writebatch_delete_range_cf \
    rocksdb_delete_file_in_range_cf rocksdb_compact_range_cf_opt; do
    echo "int x = $call(1);" >> "$tree/storage/table.c"
    expect "$call elsewhere" "^storage/table.c:[0-9]*: $call belongs"
    echo "int x = $call(1);" >> "$tree/storage/rocksdb/ranges.c"
    printf '/* not %s(1) */\nconst char *name = "%s(";\n' "$call" "$call" >> "$tree/storage/table.c"
    expect_clean "$call in its place, in comments and texts"
done
echo 'int x = sto_scope_open(1);' >> "$tree/gateway/loop.c"
expect "a scope is made outside tenancy" '^gateway/loop.c:[0-9]*: sto_scope_open is called'
echo 'int x = sto_scope_open(1);' >> "$tree/tenancy/scope.c"
echo 'int x = sto_scope_open(1);' > "$tree/tests/storage/test_scope.c"
expect_clean "scopes where they belong"

letter='a kind of document has a row in storage/places.h'
for text in 'struct slice x = SLICE_LIT("z/");' 'const char *x = "z/%s";' "static const char x[] = {'z', '/'};" \
    "struct sto_range x = sto_range_of_docs(scope, 'z');"; do
    echo "$text" >> "$tree/tenancy/scope.c"
    expect "a document's letter: $text" "^tenancy/scope.c:[0-9]*: $letter"
done
printf "static void f(char *key)\n{\n    key[0] = 'z';\n}\n" >> "$tree/storage/table.c"
expect "a document's letter in a key" "^storage/table.c:[0-9]*: $letter"
printf '/* "z/" */\nconst char *x = "zz/", *y = "/z/";\n' >> "$tree/storage/table.c"
card storage/places.h nothing. > "$tree/storage/places.h"
echo "static const char x[] = {'z', '/'};" >> "$tree/storage/places.h"
echo "static const char x[] = {'z', '/'};" >> "$tree/tests/storage/test_places.c"
expect_clean "letters in the table of places, in comments and in tests"

echo '#include "base/err.h"' > "$tree/cli/main.c"
expect "banned.h is missing" '^cli/main.c:1: base/banned.h must be the last include'
printf '\n#include <stdio.h>\n' >> "$tree/cli/main.c"
expect "banned.h is not last" '^cli/main.c:[0-9]*: base/banned.h must be the last include'

for word in 'TO''DO' 'FIX''ME' 'XX''X'; do
    echo "/* $word: later */" >> "$tree/base/buf.c"
    expect "$word" '^base/buf.c:[0-9]*: unfinished work'
    echo "# $word later" > "$tree/run.sh"
    expect "$word in a script" '^run.sh:1: unfinished work'
done
echo 'char path[] = "/tmp/XX''XXXX";' >> "$tree/base/buf.c"
expect_clean "a template of mkstemp is no unfinished work"

lines() { awk -v n="$1" -v text="$2" 'BEGIN { for (i = 1; i <= n; i++) print text i ";" }'; }
lines 801 'extern int x' > "$tree/tests/long.h"
expect "file of 801 lines" '^tests/long.h:801: file of 801 lines; the limit is 800'
lines 501 'extern int x' > "$tree/tests/long.h"
expect "file of 501 lines" '^tests/long.h:501: .*does not say why'
{ echo '/* Long lines because reasons. */'; lines 799 'extern int x'; } > "$tree/tests/long.h"
expect_clean "file of 800 lines that says why"
lines 500 'extern int x' > "$tree/tests/long.h"
expect_clean "file of 500 lines"
{ printf 'int f(void)\n{\n'; lines 69 '    f'; printf '}\n'; } > "$tree/tests/f.h"
expect "function of 71 lines" '^tests/f.h:2: function of 71 lines'
{ printf 'int f(void)\n{\n'; lines 68 '    f'; printf '}\n'; } > "$tree/tests/f.h"
expect_clean "function of 70 lines"
# A long word in a comment is nothing that clang-format could break.
awk 'BEGIN { printf "// "; for (i = 0; i < 98; i++) printf "a"; print "" }' > "$tree/tests/w.h"
expect "line of 101 columns" '^tests/w.h:1: 101 columns'
awk 'BEGIN { printf "// "; for (i = 0; i < 97; i++) printf "\303\244"; print "" }' > "$tree/tests/w.h"
expect_clean "line of 100 columns and more bytes"
printf '%s\n' storage_table storage_gone > "$tree/tests/longest"
echo 'int x;' > "$tree/tests/storage/test_table.c"
before '#include "base/banned.h"' tests/storage/test_table.c
expect "a long suite that is gone" '^tests/longest:2: there is no suite "storage_gone"'
echo 'int x;' > "$tree/tests/storage/test_table.c"
before '#include "base/banned.h"' tests/storage/test_table.c
# shellcheck disable=SC2016
printf '%s\n' 'Suites `storage_table`,' '`storage_t*`, `storage_gone`; a `schema_bytes`.' > "$tree/SECURITY.md"
expect "a cited suite that is gone" '^SECURITY.md:2: there is no suite "storage_gone"'
echo 'int   x;' > "$tree/tests/w.h"
expect "unformatted" '^tests/w.h:1: not as clang-format'
# --- tests that sleep or measure ----------------------------------------------------------------
# test_of LINE...: tests/storage/test_waits.c with a test of these lines.
test_of() {
    {
        printf '#include "base/err.h"\n\n#include "base/banned.h"\n\n'
        printf 'START_TEST(it_waits)\n{\n'
        printf '    %s\n' "$@"
        printf '}\nEND_TEST\n'
    } > "$tree/tests/storage/test_waits.c"
}
allow() { # allow ENTRY...
    mkdir -p "$tree/tests/lint"
    printf '%s\n' '# A comment.' '' "$@" > "$tree/tests/lint/waits-allowed"
}
sleeps='^tests/storage/test_waits.c:7: a test waits for an event'
measures='^tests/storage/test_waits.c:[0-9]*: an assertion bounds the time'
since='uint64_t took = base_monotonic_ns() - began;'

for call in 'sleep(1)' 'usleep(1)' 'nanosleep(&t, NULL)' 'clock_nanosleep(0, 0, &t, NULL)' 'thrd_sleep(&t, NULL)' \
    'process_sleep_ms(5)' 'edge_sleep_ms(5)' 'tent_pause_ms(5)' 'poll(NULL, 0, 5)' 'select(0, NULL, NULL, NULL, &t)'; do
    test_of "(void)$call;"
    expect "$call in a test" "$sleeps"
done
test_of 'usleep(1);'
mv "$tree/tests/storage/test_waits.c" "$tree/tests/storage/waits.h"
expect "a sleep in a header of tests" '^tests/storage/waits.h:7: a test waits'
test_of 'ck_assert_int_lt(edge_ms_since(began), 500);'
expect "an upper bound of a span" "$measures"
test_of 'ck_assert_int_gt(500, edge_ms_since(began));'
expect "the same, turned round" "$measures"
test_of "$since" 'ck_assert_msg(took < 500, "%d ms", 1);'
expect "a bound of a variable" "$measures"
test_of "$since" 'uint64_t ms = took / 1000000;' 'ck_assert_uint_le(ms, 500);'
expect "a bound of what was computed from one" "$measures"
test_of 'uint64_t now = base_monotonic_ns();' 'ck_assert(good && now - began < 500);'
expect "a bound of a difference of readings" "$measures"
test_of 'ck_assert_msg(base_monotonic_ns() < end,' \
    '              "waited in vain for what a text of this length names in one line");'
expect "a deadline in a test" "$measures"
test_of 'ck_assert_msg(h->seconds < 20, "%f", h->seconds);'
expect "a bound of an answer's time" "$measures"
test_of 'ck_assert_uint_eq(left_of(rate, base_monotonic_ns()), 5);'
expect "an equality at the time of now" "$measures"
test_of 'ck_assert_uint_lt(waited(), 500);'
before "$(printf 'static uint64_t waited(void)\n{\n    return base_monotonic_ns() - began;\n}')" tests/storage/test_waits.c
expect "a bound of a function's span" "$measures"

test_of "$since" 'ck_assert_uint_ge(took, 500);' 'ck_assert(took >= 500);' 'ck_assert_uint_le(500, took);'
expect_clean "lower bounds of time"
test_of '/* usleep(1); */' 'log("usleep(1);");' 'my_usleep(1);' 'process_await(is_there, NULL, "it");' \
    'size_t took = end.bytes - begin.bytes;' 'ck_assert_uint_lt(took, 500);' 'poll(&p, 1, 5);' \
    'ck_assert_int_ge(b->end->seconds, b->begin->seconds);'
expect_clean "what only looks like it"
test_of 'usleep(1);'
for place in tests/bench/run.c tests/hostile/run.c tests/support/process.c storage/pace.c; do
    mkdir -p "$tree/$(dirname $place)"
    cp "$tree/tests/storage/test_waits.c" "$tree/$place"
done
rm "$tree/tests/storage/test_waits.c"
expect_clean "sleeps in helpers, measurements and no test"

for entry in tests/storage/test_waits.c tests/storage/test_waits.c:it_waits; do
    test_of 'usleep(1);' 'usleep(2);'
    allow "$entry: a reason"
    expect_clean "what is allowed as $entry"
    test_of 'wait();'
    allow "$entry: a reason"
    expect "an entry that allows nothing any more" "^tests/lint/waits-allowed:3: allows nothing any more: $entry"
done
allow 'tests/storage/test_gone.c: a reason'
expect "an entry of a file that is gone" '^tests/lint/waits-allowed:3: allows nothing any more'
allow 'tests/storage/test_waits.c: '
expect "an entry without a reason" '^tests/lint/waits-allowed:3: is not .FILE: reason'
test_of 'usleep(1);'
allow 'tests/storage/test_waits.c:another: a reason'
replace '/^#/d' tests/lint/waits-allowed
cases=$((cases + 1))
"$here/lint.sh" "$tree" > "$work/out" 2>&1
if ! grep -qE "$sleeps" "$work/out" || ! grep -q 'waits-allowed:2: allows nothing' "$work/out"; then
    echo "an entry of another function: expected two findings; got:"
    sed 's/^/    /' "$work/out"
    failed=$((failed + 1))
fi
clean_tree

mkdir "$work/bin"
printf '#!/bin/sh\necho broken\nexit 1\n' > "$work/bin/clang-format"
chmod +x "$work/bin/clang-format"
path=$PATH
PATH="$work/bin:$PATH"
expect "clang-format fails" '^.clang-format:1: clang-format failed: broken'
PATH=$path

if [ $failed -ne 0 ]; then
    echo "lint selftest: $failed of $cases cases failed"
    exit 1
fi
echo "lint selftest: $cases cases, every rule finds its violation"
