# Bigtent. `make help` lists the targets.
#
# Every variant has its own tree: build/release, build/test, build/asan, build/tsan.
# DEV=1 turns warnings into errors; V=1 shows the commands.

VARIANT ?= release
B        = build/$(VARIANT)
CC      ?= gcc
CXX     ?= g++
VERSION  = 0.1.0

# --- what the machine needs -------------------------------------------------------------------
DEPS_BUILD = gcc g++ make pkg-config libh2o-evloop-dev libnghttp2-dev libssl-dev librocksdb-dev \
             libre2-dev libjansson-dev libcurl4-openssl-dev zlib1g-dev
DEPS_TEST  = check libsubunit-dev curl iso-codes tzdata
DEPS_LINT  = clang-format
DEPS_BENCH = nghttp2-client
# For make openapi alone; npm may also be that of a node from elsewhere.
DEPS_OPENAPI = curl python3-venv $(if $(shell command -v npm),,nodejs npm)
# Only for `make fuzz`, which installs them when it first runs.
DEPS_FUZZ  = clang-14 libclang-rt-14-dev
DEPS       = $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LINT) $(DEPS_BENCH)

DEPS_STAMP = build/.deps-present
FUZZ_STAMP = build/.deps-fuzz-present
DEPS_DONE  = $(DEPS_STAMP)

# --- compiler ---------------------------------------------------------------------------------
PKGS     = libh2o-evloop libnghttp2 openssl jansson zlib
PKG_INC := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(PKGS) 2>/dev/null))
LIBS     = -lh2o-evloop -lnghttp2 -lrocksdb -lre2 -ljansson -lssl -lcrypto -lz -lm -lpthread \
           -ldl -lstdc++
CLI_LIBS = -lcurl -ljansson -lpthread -lz

OPT_release = -O2
OPT_test    = -O1
OPT_asan    = -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan    = -O1 -fsanitize=thread -fno-omit-frame-pointer
# pointer-overflow: clang counts NULL + 0 among it, the end of an empty slice, which C2y defines
# (N3322) and both compilers promise; gcc's, in build/asan, knows the difference.
OPT_fuzz    = -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow \
              -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_coverage = -O0 --coverage

FORTIFY_release = -D_FORTIFY_SOURCE=3
FORTIFY_test    = -D_FORTIFY_SOURCE=3

# libFuzzer is clang's.
ifeq ($(VARIANT),fuzz)
CC  = clang-14
CXX = clang++-14
endif

WARN     = -Wall -Wextra
DEV_WARN = -Werror -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wvla -Wundef -Wswitch-enum
ifeq ($(DEV),1)
WARN = $(DEV_WARN)
$(B)/obj/base/%.o $(B)/obj/storage/%.o $(B)/obj/tenancy/%.o: WARN += -Wconversion -Wno-sign-conversion
endif

COMMON_FLAGS = -g $(OPT_$(VARIANT)) -fstack-protector-strong -fPIE $(FORTIFY_$(VARIANT)) -I. -MMD -MP
CFLAGS_ALL = -std=gnu17 $(COMMON_FLAGS) $(WARN) $(PKG_INC) -DH2O_USE_LIBUV=0 -DH2O_USE_EPOLL=1 \
             -DBIGTENT_VERSION='"$(VERSION)"' $(CFLAGS)
# One file, storage/pattern.cc: RE2 has no C interface.
C_ONLY_WARN = -Wstrict-prototypes -Wmissing-prototypes
CXXFLAGS_ALL = -std=c++17 $(COMMON_FLAGS) $(filter-out $(C_ONLY_WARN),$(WARN)) $(CXXFLAGS)
LDFLAGS_ALL = -pie -Wl,-z,relro,-z,now $(filter -fsanitize% --coverage,$(OPT_$(VARIANT))) $(LDFLAGS)

ifeq ($(V),1)
Q =
say = @:
else
Q = @
say = @printf '  %-6s %s\n'
endif

# --- sources ----------------------------------------------------------------------------------
ROOMS      = base storage storage/rocksdb tenancy auth migrations gateway gateway/api
ROOM_SRC  := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c $(r)/*.cc))
LIB_SRC   := $(filter-out gateway/main.c,$(ROOM_SRC))
CLI_SRC   := $(wildcard cli/*.c)
BASE_SRC  := $(filter base/%,$(ROOM_SRC))
TEST_ROOM ?= *
TEST_SRC  := $(filter-out tests/check/%,$(wildcard tests/$(TEST_ROOM)/test_*.c))
CHECK_SRC := $(wildcard tests/check/test_*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_SUPPORT_SRC = tests/support/filter_oracle.c tests/support/row_body_model.c

obj = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))
# tests/base/test_buf.c -> base_buf: the file defines `Suite *suite_base_buf(void)`.
suites = $(foreach f,$(sort $(1)),$(patsubst %/,%,$(dir $(f:tests/%=%)))_$(patsubst test_%.c,%,$(notdir $(f))))

.PHONY: all deps run demo docs-check test check long asan tsan fuzz fuzz-binaries coverage bench openapi \
        lint format install uninstall clean help binaries test-binary check-binary
.DEFAULT_GOAL := all

all: $(DEPS_STAMP) ## build bigtentd and bigtent into build/release
	@$(MAKE) --no-print-directory binaries

binaries: $(B)/bigtentd $(B)/bigtent

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-10s %s\n",$$1,$$2}'

# --- dependencies -----------------------------------------------------------------------------
deps: ## install the Debian packages that are missing
	@missing=""; for p in $(DEPS); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing:$$missing"; \
	  sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -qq && \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null || exit 1; \
	else echo "nothing is missing"; fi
	@mkdir -p build && touch $(DEPS_DONE)

$(DEPS_STAMP): Makefile
	@$(MAKE) --no-print-directory deps

$(FUZZ_STAMP): $(DEPS_STAMP)
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_FUZZ)" DEPS_DONE=$@

# --- compile and link -------------------------------------------------------------------------
$(B)/obj/%.o: %.c
	@mkdir -p $(dir $@)
	$(say) CC $<
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(B)/obj/%.o: %.cc
	@mkdir -p $(dir $@)
	$(say) CXX $<
	$(Q)$(CXX) $(CXXFLAGS_ALL) -c $< -o $@

# The description of the API is written as JSON and linked as text.
OPENAPI_PARTS = $(wildcard gateway/api/openapi/*.json)
$(B)/gen/openapi_parts.c: gateway/api/openapi/embed.awk $(OPENAPI_PARTS)
	@mkdir -p $(dir $@)
	@awk -f $< $(sort $(OPENAPI_PARTS)) > $@.new && mv $@.new $@

$(B)/obj/gen/openapi_parts.o: $(B)/gen/openapi_parts.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

LIB_OBJ = $(call obj,$(LIB_SRC)) $(B)/obj/gen/openapi_parts.o

$(B)/bigtentd: $(LIB_OBJ) $(call obj,gateway/main.c)
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(B)/bigtent: $(call obj,$(BASE_SRC) $(CLI_SRC))
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(CLI_LIBS)

# --- tests ------------------------------------------------------------------------------------
# Two programs from one runner: the tests, and the long suites of tests/check/.
$(B)/tests/suites.inc: SOURCES = $(TEST_SRC)
$(B)/check/suites.inc: SOURCES = $(CHECK_SRC)
$(B)/tests/suites.inc $(B)/check/suites.inc: FORCE
	@mkdir -p $(dir $@)
	@{ for s in $(call suites,$(SOURCES)); do echo "SUITE($$s)"; done; } > $@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@
FORCE:

$(B)/%/runner.o: tests/runner.c $(B)/%/suites.inc
	$(say) CC $< '($*)'
	$(Q)$(CC) $(CFLAGS_ALL) -I$(B)/$* -c $< -o $@

$(B)/run_tests: $(B)/tests/runner.o $(call obj,$(TEST_SRC) $(SUPPORT_SRC)) $(LIB_OBJ)
$(B)/run_check: $(B)/check/runner.o $(call obj,$(CHECK_SRC) $(SUPPORT_SRC)) $(LIB_OBJ)
$(B)/run_tests $(B)/run_check:
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcheck -lsubunit -lcurl -lm -lrt $(LIBS)

test-binary: $(B)/run_tests
check-binary: $(B)/run_check

test: $(DEPS_STAMP) ## run every test that needs nothing but the machine (TEST_ROOM=base for one room)
	@$(MAKE) --no-print-directory VARIANT=test binaries test-binary
	@tests/run.sh build/test

check: test ## make test, then the long proofs of the data model (OPERATIONS=1000000)
	@$(MAKE) --no-print-directory long

long: $(DEPS_STAMP) ## the long proofs alone
	@$(MAKE) --no-print-directory VARIANT=test binaries check-binary
	@tests/run.sh build/test run_check

asan: $(DEPS_STAMP) ## the suites under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory VARIANT=asan binaries test-binary
	@ROUNDS=$${ROUNDS:-3} CK_TIMEOUT_MULTIPLIER=5 tests/run.sh build/asan

tsan: $(DEPS_STAMP) ## the suites under ThreadSanitizer
	@$(MAKE) --no-print-directory VARIANT=tsan binaries test-binary
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp" ROUNDS=$${ROUNDS:-3} \
	 CK_TIMEOUT_MULTIPLIER=8 tests/run.sh build/tsan

# --- fuzzing ----------------------------------------------------------------------------------
# An archive: a target links what it reaches and nothing else, so that what libFuzzer counts is what
# the target can reach.
$(B)/libbigtent.a: $(call obj,$(LIB_SRC) $(FUZZ_SUPPORT_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

FUZZ_BINARIES = $(patsubst tests/fuzz/%.c,$(B)/%,$(FUZZ_SRC))
$(FUZZ_BINARIES): $(B)/fuzz_%: $(call obj,tests/fuzz/fuzz_%.c) $(B)/libbigtent.a
	$(say) LINK $@
	$(Q)$(CC) $(filter-out -fsanitize=% -fno-sanitize=%,$(LDFLAGS_ALL)) -fsanitize=fuzzer,address,undefined \
	  -o $@ $< $(B)/libbigtent.a $(LIBS)

fuzz-binaries: $(FUZZ_BINARIES)

fuzz: $(FUZZ_STAMP) ## libFuzzer over every parser and codec (FUZZ_SECONDS=60 each; FUZZ_TARGET=query)
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzz-binaries
	@tests/fuzz/run.sh build/fuzz

# --- coverage ---------------------------------------------------------------------------------
coverage: $(DEPS_STAMP) ## run the suites and print which lines of each room they reached
	@$(MAKE) --no-print-directory VARIANT=coverage binaries test-binary
	@find build/coverage -name '*.gcda' -delete
	@ROUNDS=$${ROUNDS:-3} CK_TIMEOUT_MULTIPLIER=3 tests/run.sh build/coverage
	@tests/coverage.sh build/coverage $(ROOMS) cli

# --- run, demo, bench -------------------------------------------------------------------------
run: all ## serve on https://127.0.0.1:8443 with two sample tenants
	@cli/run.sh build/release

demo: all ## the whole story against a server of its own, step by step
	@tests/demo/demo.sh build/release

docs-check: all ## what docs/guide.md shows is what a server answers
	@tests/docs/guide.sh build/release docs/guide.md

$(B)/bench: $(call obj,$(BENCH_SRC)) $(LIB_OBJ)
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcurl $(LIBS)

bench: all ## the figures of docs/benchmarks.md, in one run
	@$(MAKE) --no-print-directory $(B)/bench
	@tests/bench/bench.sh build/release

# --- the description of the API ------------------------------------------------------------------
TOOLS = build/tools/openapi

$(TOOLS)/.ready: tests/openapi/requirements.txt tests/openapi/package.json tests/openapi/package-lock.json
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_OPENAPI)"
	@rm -rf $(TOOLS) && mkdir -p $(TOOLS)
	@python3 -m venv $(TOOLS)/venv
	@$(TOOLS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@cp tests/openapi/package.json tests/openapi/package-lock.json $(TOOLS)
	@npm ci --prefix $(TOOLS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

openapi: all $(TOOLS)/.ready ## is /openapi.json valid, and does the server do what it says
	@tests/openapi/check.sh build/release $(TOOLS)

# --- tidiness ---------------------------------------------------------------------------------
lint: $(DEPS_STAMP) ## layers, room cards, names, sizes, formatting
	@tests/lint/lint.sh

format: ## let clang-format decide
	@clang-format -i $$(git ls-files '*.c' '*.cc' '*.h')

PREFIX ?= /usr/local
install: all ## install under PREFIX
	install -D -m 755 build/release/bigtentd $(DESTDIR)$(PREFIX)/sbin/bigtentd
	install -D -m 755 build/release/bigtent $(DESTDIR)$(PREFIX)/bin/bigtent
	install -D -m 644 docs/man/bigtent.1 $(DESTDIR)$(PREFIX)/share/man/man1/bigtent.1
	install -D -m 644 docs/man/bigtentd.8 $(DESTDIR)$(PREFIX)/share/man/man8/bigtentd.8

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/sbin/bigtentd $(DESTDIR)$(PREFIX)/bin/bigtent \
	  $(DESTDIR)$(PREFIX)/share/man/man1/bigtent.1 $(DESTDIR)$(PREFIX)/share/man/man8/bigtentd.8

clean: ## remove build/ except the data of make run
	@find build -mindepth 1 -maxdepth 1 ! -name run -exec rm -rf {} + 2>/dev/null; true

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
