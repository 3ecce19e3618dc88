# Bigtent. `make help` lists the targets.
#
# Every variant has its own tree: build/release, build/test, build/asan, build/tsan.
# DEV=1 turns warnings into errors; V=1 shows the commands.

VARIANT ?= release
B        = build/$(VARIANT)
CC      ?= gcc
CXX     ?= g++
VERSION  = 0.1.0

# Intel's Multi-Buffer Crypto Library seals values several times as fast as OpenSSL, which does it
# alone on other processors, and with WITH_IPSEC_MB=0 (then from a clean tree).
WITH_IPSEC_MB ?= $(if $(filter x86_64,$(shell uname -m)),1,0)
IPSEC_MB := $(filter 1,$(WITH_IPSEC_MB))

# HTTP/1.1 is h2o's: H2O=package is the system's libh2o-evloop, H2O=source the one that deps/h2o builds
# from source, for systems without such a package (Debian 13).
ifndef H2O
H2O := $(shell pkg-config --exists libh2o-evloop 2>/dev/null || \
         { [ ! -e build/deps/h2o/libh2o-evloop.a ] && apt-cache show libh2o-evloop-dev >/dev/null 2>&1; } && \
         echo package || echo source)
endif
ifeq ($(filter package source,$(H2O)),)
$(error H2O is "package" or "source", not "$(H2O)")
endif

# --- what the machine needs -------------------------------------------------------------------
DEPS_H2O_package = libh2o-evloop-dev
DEPS_H2O_source  = patch xz-utils
DEPS_BUILD = gcc g++ make pkg-config $(DEPS_H2O_$(H2O)) libnghttp2-dev libssl-dev librocksdb-dev \
             libre2-dev libjansson-dev libcurl4-openssl-dev libyaml-dev zlib1g-dev liblz4-dev libzstd-dev \
             libjemalloc-dev libprotobuf-c-dev libprotobuf-dev protobuf-c-compiler protobuf-compiler \
             $(if $(IPSEC_MB),libipsec-mb-dev)
DEPS_TEST  = check libsubunit-dev curl iso-codes tzdata zsh fish mandoc
DEPS_LINT  = clang-format
DEPS_BENCH = nghttp2-client
# For make openapi alone; npm may also be that of a node from elsewhere.
DEPS_OPENAPI = curl python3-venv $(if $(shell command -v npm),,nodejs npm)
# For make test-clients alone, besides tests/clients/*/debian-packages; everything else its clients
# need is pinned there. Go, Maven and Java may come from elsewhere.
DEPS_CLIENTS = python3-venv
CLIENT_HAS   = $(if $(shell command -v go),golang) $(if $(shell command -v mvn),maven) \
               $(if $(shell command -v javac),default-jdk-headless)
# Only for `make metrics-check`, in the way of `make fuzz`.
DEPS_METRICS = curl prometheus
# Only for `make page-check`, in the same way. The fonts: without any, Chromium draws empty boxes.
DEPS_PAGE  = chromium fonts-dejavu-core poppler-utils python3 python3-pil
# Only for `make fuzz`, which installs them when it first runs.
DEPS_FUZZ  = clang-14 libclang-rt-14-dev
# Only for `make tidy`, in the same way.
DEPS_TIDY  = clang-tidy-14
# Only for `make other-release`, in the same way.
DEPS_OTHER = mmdebstrap
DEPS       = $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LINT) $(DEPS_BENCH)

DEPS_STAMP = build/.deps-present
FUZZ_STAMP = build/.deps-fuzz-present
TIDY_STAMP = build/.deps-tidy-present
OTHER_STAMP = build/.deps-other-present
METRICS_STAMP = build/.deps-metrics-present
PAGE_STAMP = build/.deps-page-present
DEPS_DONE  = $(DEPS_STAMP)

# --- compiler ---------------------------------------------------------------------------------
ifeq ($(H2O),source)
include deps/h2o/h2o.mk
H2O_INC  = -isystem $(H2O_SOURCE)/include
H2O_LIB  = $(H2O_ARCHIVE)
else
H2O_PKG  = libh2o-evloop
H2O_LIB  = -lh2o-evloop
endif
PKGS     = $(H2O_PKG) libnghttp2 openssl jansson zlib
PKG_INC := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(PKGS) 2>/dev/null))
# RE2 is static: its hooks (storage/pattern.cc) are not exported by Debian's shared library. Newer
# ones need libraries of their own.
RE2_LIBS := $(sort $(filter-out -lre2 -lpthread,$(shell pkg-config --libs-only-l --static re2 2>/dev/null)))
LIBS     = $(H2O_LIB) -lnghttp2 -lprotobuf-c -lrocksdb -l:libre2.a $(RE2_LIBS) -ljansson -lssl -lcrypto -lz -llz4 -lm -lpthread \
           -ldl -lstdc++ $(if $(IPSEC_MB),-lIPSec_MB) $(MALLOC_$(VARIANT))
CLI_LIBS = -lcurl -lyaml -ljansson -lcrypto -lpthread -lz -lzstd

# Sanitizers bring their own.
MALLOC_release = -ljemalloc
MALLOC_test    = -ljemalloc

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

COMMON_FLAGS = -g $(OPT_$(VARIANT)) -fstack-protector-strong -fPIE $(FORTIFY_$(VARIANT)) -I. \
               -isystem $(PROTO_GEN) -MMD -MP
CFLAGS_ALL = -std=gnu17 $(COMMON_FLAGS) $(WARN) $(H2O_INC) $(PKG_INC) -DH2O_USE_LIBUV=0 -DH2O_USE_EPOLL=1 \
             -DBIGTENT_VERSION='"$(VERSION)"' $(if $(IPSEC_MB),-DSTO_WITH_IPSEC_MB) $(CFLAGS)
# RE2 and parts of RocksDB have no C interface.
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
ROOMS      = base storage storage/rocksdb tenancy auth migrations gateway gateway/api gateway/grpc gateway/metrics
ROOM_SRC  := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c $(r)/*.cc))
LIB_SRC   := $(filter-out gateway/main.c,$(ROOM_SRC))
CLI_SRC   := $(wildcard cli/*.c)
BASE_SRC  := $(filter base/%,$(ROOM_SRC))
TEST_ROOM ?= *
TEST_SRC  := $(filter-out tests/check/%,$(wildcard tests/$(TEST_ROOM)/test_*.c))
CHECK_SRC := $(wildcard tests/check/test_*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c) $(filter-out tests/isolation/test_%,$(wildcard tests/isolation/*.c))
BENCH_SRC := $(wildcard tests/bench/*.c)
HOSTILE_SRC := $(wildcard tests/hostile/*.c)
FUZZ_SRC  := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_SUPPORT_SRC = tests/support/every_proto.c tests/support/filter_oracle.c \
                   tests/support/row_body_model.c $(filter-out cli/main.c,$(CLI_SRC))

obj = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))
# tests/base/test_buf.c -> base_buf: the file defines `Suite *suite_base_buf(void)`.
suites = $(foreach f,$(sort $(1)),$(patsubst %/,%,$(dir $(f:tests/%=%)))_$(patsubst test_%.c,%,$(notdir $(f))))
# SUITE_LIST: a file that names the suites that the test program has; the others are not compiled.
ifneq ($(SUITE_LIST),)
LISTED   := $(shell grep -v '^\#' $(SUITE_LIST))
TEST_SRC := $(foreach f,$(TEST_SRC),$(if $(filter $(LISTED),$(call suites,$(f))),$(f)))
endif

.PHONY: all built deps deps-install deps-built run demo docs docs-check test check long asan asan-gate tsan tsan-threads selftest nightly fuzz fuzz-binaries coverage bench soak hostile \
        other-release openapi metrics-check page-check \
        clients test-clients test-duckdb lint tidy format install uninstall clean help binaries test-binary check-binary
.DEFAULT_GOAL := all

all: ## build bigtentd and bigtent into build/release, or name the packages that are missing
	@$(call find_missing,$(DEPS_BUILD)) \
	if [ -n "$$missing" ]; then echo "missing packages:$$missing (\`make deps\` installs them)"; exit 1; fi
	@if [ -n "$(H2O_ARCHIVE)" ] && [ ! -e "$(H2O_ARCHIVE)" ]; then \
	  echo "h2o is missing, and not packaged here (\`make deps\` downloads its source and builds it)"; exit 1; fi
	@$(MAKE) --no-print-directory binaries

# Installs what is missing, and says so before: for those that do everything in one command.
built: $(DEPS_STAMP)
	@$(MAKE) --no-print-directory binaries

binaries: $(B)/bigtentd $(B)/bigtent

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-10s %s\n",$$1,$$2}'

# --- dependencies -----------------------------------------------------------------------------
SUDO = $(if $(filter-out 0,$(shell id -u)),sudo)
find_missing = missing=""; for p in $(1); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done;

deps: ## install the Debian packages that are missing; build h2o where there is no package of it
	@$(call find_missing,$(DEPS)) \
	if [ -n "$$missing" ]; then \
	  $(SUDO) apt-get update -qq || { echo "missing:$$missing"; exit 1; }; \
	  $(MAKE) --no-print-directory deps-install; \
	else echo "no package is missing"; fi
	@$(MAKE) --no-print-directory deps-built
	@mkdir -p build && touch $(DEPS_DONE)

# In a make of its own: whether there is a package of h2o is known only after apt-get update.
deps-install:
	@$(call find_missing,$(DEPS)) \
	if [ -n "$$missing" ]; then \
	  echo "installing:$$missing"; \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi

# And whether it is there, only after deps-install.
deps-built: $(H2O_ARCHIVE)
	@:

$(DEPS_STAMP): Makefile
	@$(MAKE) --no-print-directory deps

$(FUZZ_STAMP): $(DEPS_STAMP)
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_FUZZ)" DEPS_DONE=$@

$(TIDY_STAMP): $(DEPS_STAMP)
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_TIDY)" DEPS_DONE=$@

$(OTHER_STAMP): $(DEPS_STAMP)
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_OTHER)" DEPS_DONE=$@

$(METRICS_STAMP): $(DEPS_STAMP)
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_METRICS)" DEPS_DONE=$@

$(PAGE_STAMP): $(DEPS_STAMP)
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_PAGE)" DEPS_DONE=$@

# --- generated sources ------------------------------------------------------------------------
# Messages and services: C from protobuf-c, and what reflection tells, as one descriptor set.
PROTO_DIR    = gateway/grpc/proto
PROTO_GEN    = $(B)/gen/proto
PROTO_INC   := $(or $(shell pkg-config --variable=includedir libprotobuf-c 2>/dev/null),/usr/include)
PROTO_FILES := $(patsubst $(PROTO_DIR)/%,%,$(shell find $(PROTO_DIR) -name '*.proto' | sort)) \
               $(patsubst %,google/protobuf/%.proto,any duration empty field_mask timestamp wrappers)
PROTO_OBJ    = $(patsubst %.proto,$(B)/obj/gen/proto/%.pb-c.o,$(PROTO_FILES))
PROTO_STAMP  = $(PROTO_GEN)/.generated
PROTO_SOURCES = $(shell find $(PROTO_DIR) -name '*.proto')

$(PROTO_STAMP): $(PROTO_SOURCES)
	$(say) PROTO $(PROTO_DIR)
	@rm -rf $(PROTO_GEN) && mkdir -p $(PROTO_GEN)
	@protoc -I$(PROTO_DIR) -I$(PROTO_INC) --c_out=$(PROTO_GEN) $(PROTO_FILES)
	@touch $@

$(patsubst %.proto,$(PROTO_GEN)/%.pb-c.c,$(PROTO_FILES)): $(PROTO_STAMP) ;

$(B)/obj/gen/proto/%.o: $(PROTO_GEN)/%.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(filter-out -W%,$(CFLAGS_ALL)) -w -c $< -o $@

$(B)/gen/descriptor_set.c: $(PROTO_STAMP) gateway/grpc/embed.sh
	@gateway/grpc/embed.sh $(PROTO_DIR) $(PROTO_INC) $(PROTO_FILES) > $@.new && mv $@.new $@

# The description of the API is written as JSON and linked as text.
OPENAPI_PARTS = $(wildcard gateway/api/openapi/*.json)
$(B)/gen/openapi_parts.c: gateway/api/openapi/embed.awk $(OPENAPI_PARTS)
	@mkdir -p $(dir $@)
	@awk -f $< $(sort $(OPENAPI_PARTS)) > $@.new && mv $@.new $@

$(B)/obj/gen/%.o: $(B)/gen/%.c | $(PROTO_STAMP)
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

GEN_OBJ = $(B)/obj/gen/openapi_parts.o $(B)/obj/gen/descriptor_set.o $(PROTO_OBJ)

# --- compile and link -------------------------------------------------------------------------
# Generated headers must be there before what includes them is compiled for the first time.
$(B)/obj/%.o: %.c | $(PROTO_STAMP) $(H2O_ARCHIVE)
	@mkdir -p $(dir $@)
	$(say) CC $<
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(B)/obj/%.o: %.cc | $(PROTO_STAMP)
	@mkdir -p $(dir $@)
	$(say) CXX $<
	$(Q)$(CXX) $(CXXFLAGS_ALL) -c $< -o $@

# Another h2o than before: http1_seam.o, and with it all programs that contain h2o, are made again.
$(B)/.h2o-$(H2O): $(H2O_ARCHIVE)
	@mkdir -p $(@D) && rm -f $(B)/.h2o-* && touch $@
$(call obj,gateway/http1_seam.c): $(B)/.h2o-$(H2O)

LIB_OBJ = $(call obj,$(LIB_SRC)) $(GEN_OBJ)

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

$(B)/run_tests: $(B)/tests/runner.o $(call obj,$(TEST_SRC) $(SUPPORT_SRC) $(filter-out cli/main.c,$(CLI_SRC))) $(LIB_OBJ)
$(B)/run_check: $(B)/check/runner.o $(call obj,$(CHECK_SRC) $(SUPPORT_SRC)) $(LIB_OBJ)
$(B)/run_tests $(B)/run_check:
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--wrap=_mark_point,--wrap=clock_gettime,--wrap=base_monotonic_ns -o $@ $^ -lcheck -lsubunit -lcurl -lyaml -lzstd -lm -lrt $(LIBS)

# In front of the libc of a server whose disk fails; never sanitized: it is loaded before the runtime.
$(B)/disk_fault.so: tests/faults/disk_fault.c tests/faults/disk_fault.h
	$(say) LINK $@
	@mkdir -p $(dir $@)
	$(Q)$(CC) -std=gnu17 -g -O1 -fPIC -shared -pthread $(WARN) -I. -o $@ $< -ldl

test-binary: $(B)/run_tests $(B)/disk_fault.so
check-binary: $(B)/run_check

test: $(DEPS_STAMP) ## run every test that needs nothing but the machine (TEST_ROOM=base for one room)
	@$(MAKE) --no-print-directory VARIANT=test binaries test-binary
	@tests/run.sh build/test

check: test ## make test, then the long proofs of the data model (OPERATIONS=1000000)
	@$(MAKE) --no-print-directory long

long: $(DEPS_STAMP) ## the long proofs alone
	@$(MAKE) --no-print-directory VARIANT=test binaries check-binary
	@JOBS=$${JOBS:-1} tests/run.sh build/test run_check

# asan-gate: those that parse untrusted bytes, hand memory between threads, or purge (tests/gate-asan).
asan asan-gate: $(DEPS_STAMP) ## the suites under AddressSanitizer and UBSan; asan-gate: a few minutes of them
	@$(MAKE) --no-print-directory VARIANT=asan $(if $(filter asan-gate,$@),SUITE_LIST=tests/gate-asan) binaries test-binary
	@ROUNDS=$${ROUNDS:-3} ROUNDS_DIVISOR=5 CK_TIMEOUT_MULTIPLIER=20 tests/run.sh build/asan

# tsan-threads: those in which threads meet (tests/threaded).
tsan tsan-threads: $(DEPS_STAMP) ## the suites under ThreadSanitizer; tsan-threads: those in which threads meet
	@$(MAKE) --no-print-directory VARIANT=tsan $(if $(filter tsan-threads,$@),SUITE_LIST=tests/threaded) binaries test-binary
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp history_size=7" \
	 ROUNDS=$${ROUNDS:-3} ROUNDS_DIVISOR=8 CK_TIMEOUT_MULTIPLIER=30 tests/run.sh build/tsan

# --- the gate and the night ---------------------------------------------------------------------
selftest: ## do run.sh, nightly.sh, lint.sh and fetch.sh notice what they must
	@tests/run_selftest.sh
	@deps/h2o/selftest.sh
	@tests/lint/selftest.sh

nightly: ## everything that the gate (.ci/run) leaves out, one step after the other (STEPS="asan fuzz")
	@tests/nightly.sh $(STEPS)

other-release: built $(OTHER_STAMP) ## this tree and its data directories on the other Debian release, in a fresh root
	@tests/releases/other.sh build/release

# --- fuzzing ----------------------------------------------------------------------------------
# Linked as C++: checks of the C++ files need that part of the runtime.
# An archive: a target links what it reaches and nothing else, so that what libFuzzer counts is what
# the target can reach.
$(B)/libbigtent.a: $(call obj,$(LIB_SRC) $(FUZZ_SUPPORT_SRC)) $(GEN_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

FUZZ_BINARIES = $(patsubst tests/fuzz/%.c,$(B)/%,$(FUZZ_SRC))
$(FUZZ_BINARIES): $(B)/fuzz_%: $(call obj,tests/fuzz/fuzz_%.c) $(B)/libbigtent.a
	$(say) LINK $@
	$(Q)$(CXX) $(filter-out -fsanitize=% -fno-sanitize=%,$(LDFLAGS_ALL)) -fsanitize=fuzzer,address,undefined \
	  -o $@ $< $(B)/libbigtent.a $(LIBS) -lcurl -lyaml -lzstd

fuzz-binaries: $(FUZZ_BINARIES)

fuzz: $(FUZZ_STAMP) ## libFuzzer over every parser and codec (FUZZ_SECONDS=60 each; FUZZ_TARGET=query)
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzz-binaries
	@tests/fuzz/run.sh build/fuzz

# --- coverage ---------------------------------------------------------------------------------
coverage: $(DEPS_STAMP) ## run the suites and print which lines of each room they reached
	@$(MAKE) --no-print-directory VARIANT=coverage binaries test-binary
	@find build/coverage -name '*.gcda' -delete
	@ROUNDS=$${ROUNDS:-3} ROUNDS_DIVISOR=3 tests/run.sh build/coverage
	@tests/coverage.sh build/coverage $(ROOMS) cli

# --- run, demo, bench -------------------------------------------------------------------------
run: built ## serve on https://127.0.0.1:8443 with two sample tenants
	@cli/run.sh build/release

demo: built ## the whole story against a server of its own, step by step
	@tests/demo/demo.sh build/release

# What docs/bigtable-compatibility.md says of the code, the code writes.
MADE_TEXT   = docs/bigtable-compatibility.md
MADE_TABLES = methods statuses limits

$(B)/docs-tables: $(call obj,tests/docs/tables.c) $(LIB_OBJ)
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

docs docs-check: all

docs: ## write the tables of docs/bigtable-compatibility.md anew
	@$(MAKE) --no-print-directory $(B)/docs-tables
	@for t in $(MADE_TABLES); do tests/docs/made.sh write $(MADE_TEXT) $$t $(B)/docs-tables $$t || exit 1; done

docs-check: ## what docs/ shows is what a server answers, and what the code says
	@$(MAKE) --no-print-directory $(B)/docs-tables
	@for t in $(MADE_TABLES); do tests/docs/made.sh check $(MADE_TEXT) $$t $(B)/docs-tables $$t || exit 1; done
	@tests/docs/guide.sh build/release docs/guide.md docs/operations.md
	@tests/docs/audit.sh build/release

$(B)/bench: $(call obj,$(BENCH_SRC)) $(LIB_OBJ)
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcurl $(LIBS)

# --- attacks -----------------------------------------------------------------------------------
# Assertions of tests/support/ end in tests/hostile/guard.c: libcheck is not linked.
HOSTILE_SUPPORT = $(patsubst %,tests/support/%.c,server process raw_tls http http_answer scrape)

$(B)/hostile: $(call obj,$(HOSTILE_SRC) $(HOSTILE_SUPPORT)) $(call obj,$(BASE_SRC))
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcurl $(LIBS)

hostile: $(DEPS_STAMP) ## one tenant's attacks beside a victim (SHORT=1, CASE=name, MINUTES=10 of the mixture, SEED=n)
	@$(MAKE) --no-print-directory binaries $(B)/hostile
	@$(B)/hostile $(if $(SHORT),--short) $(if $(CASE),--case $(CASE)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(SEED),--seed $(SEED)) $(HOSTILE_OPTIONS)

# --- the description of the API ------------------------------------------------------------------
TOOLS = build/tools/openapi

$(TOOLS)/.ready: tests/openapi/requirements.txt tests/openapi/package.json tests/openapi/package-lock.json
	@$(MAKE) --no-print-directory deps DEPS="$(DEPS_OPENAPI)"
	@rm -rf $(TOOLS) && mkdir -p $(TOOLS)
	@python3 -m venv $(TOOLS)/venv
	@$(TOOLS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@cp tests/openapi/package.json tests/openapi/package-lock.json $(TOOLS)
	@cd $(TOOLS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

openapi: built $(TOOLS)/.ready ## is /openapi.json valid, and does the server do what it says
	@tests/openapi/check.sh build/release $(TOOLS)

# --- metrics ---------------------------------------------------------------------------------
metrics-check: built $(METRICS_STAMP) ## do promtool and prometheus like /metrics
	@tests/metrics/check.sh build/release

# --- the page of a certificate -------------------------------------------------------------------
page-check: built $(PAGE_STAMP) ## is the page of a certificate whole in Chromium, on screens and on paper
	@tests/page/check.sh build/release build/page

# --- exports, read by others --------------------------------------------------------------------
DUCKDB_TOOLS = build/tools/duckdb

$(DUCKDB_TOOLS)/.ready: tests/duckdb/requirements.txt
	@$(MAKE) --no-print-directory deps DEPS=python3-venv DEPS_DONE=build/.deps-duckdb-present
	@rm -rf $(DUCKDB_TOOLS) && mkdir -p $(DUCKDB_TOOLS)
	@python3 -m venv $(DUCKDB_TOOLS)/venv
	@$(DUCKDB_TOOLS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

test-duckdb: built $(DUCKDB_TOOLS)/.ready ## does DuckDB read what bigtent export writes
	@tests/duckdb/check.sh build/release $(DUCKDB_TOOLS)/venv

# --- official clients ----------------------------------------------------------------------------
# A folder of tests/clients with a `run` is a client; its `install`, if it has one, puts what its files
# pin into build/tools/clients/<client>.
CLIENT_TOOLS = build/tools/clients
CLIENTS = $(patsubst tests/clients/%/run,%,$(wildcard tests/clients/*/run))
CLIENT_PINS = install debian-packages requirements.txt package.json package-lock.json go.mod go.sum pom.xml

.SECONDEXPANSION:
$(CLIENT_TOOLS)/%/.ready: $$(wildcard $$(addprefix tests/clients/$$*/,$(CLIENT_PINS)))
	@$(MAKE) --no-print-directory deps DEPS_DONE=build/.deps-clients-present \
	  DEPS="$(DEPS_CLIENTS) $(filter-out $(CLIENT_HAS),$(shell cat tests/clients/$*/debian-packages 2>/dev/null))"
	@mkdir -p $(@D)
	@if [ -x tests/clients/$*/install ]; then tests/clients/$*/install $(CLIENT_TOOLS); fi
	@mkdir -p $(@D) && touch $@

clients: $(CLIENTS:%=$(CLIENT_TOOLS)/%/.ready) ## install them, without a run

test-clients: built $(CLIENTS:%=$(CLIENT_TOOLS)/%/.ready) ## official Bigtable clients against a server (CLIENTS="python node")
	@tests/clients/run.sh build/release $(CLIENT_TOOLS) $(CLIENTS)
	@if [ -n "$(filter differential,$(CLIENTS))" ]; then tests/docs/made.sh check $(MADE_TEXT) differences \
	  $(abspath $(CLIENT_TOOLS))/bin/clients-differential -list; fi

# Go, for the official emulator, is installed as for the client that needs it, too.
bench: built $(if $(filter json_api encryption neighbours offboard drop transfer hot busy scale soak,$(BENCH_ONLY)),,$(CLIENT_TOOLS)/differential/.ready) ## the figures of docs/benchmarks.md, in one run (BENCH_ONLY=clients)
	@$(MAKE) --no-print-directory $(B)/bench
	@tests/bench/bench.sh build/release

soak: built ## everything at once on a full machine, and what the server holds each half minute (BENCH_SOAK=30, minutes)
	@$(MAKE) --no-print-directory bench BENCH_ONLY=soak

# --- tidiness ---------------------------------------------------------------------------------
lint: $(DEPS_STAMP) ## layers, room cards, names, sizes, formatting
	@tests/lint/lint.sh

# As the compiler of the test variant sees them; a file at a time, so a header is looked at with its users.
tidy: $(TIDY_STAMP) ## clang-tidy over every C file, by .clang-tidy
	@$(MAKE) --no-print-directory VARIANT=test build/test/tests/suites.inc \
	  build/test/gen/proto/.generated
	@tests/lint/tidy.sh clang-tidy-14 $(filter-out -D_FORTIFY%,$(filter -std=% -I% -D%,$(CFLAGS_ALL))) $(H2O_INC) -Ibuild/test/tests \
	  -Ibuild/test/gen/proto

format: ## let clang-format decide
	@clang-format -i $$(git ls-files '*.c' '*.cc' '*.h')

PREFIX ?= /usr/local
BASH_COMPLETION = share/bash-completion/completions/bigtent
ZSH_COMPLETION  = share/zsh/site-functions/_bigtent
FISH_COMPLETION = share/fish/vendor_completions.d/bigtent.fish
install: all ## install under PREFIX
	install -D -m 755 build/release/bigtentd $(DESTDIR)$(PREFIX)/sbin/bigtentd
	install -D -m 755 build/release/bigtent $(DESTDIR)$(PREFIX)/bin/bigtent
	install -D -m 644 docs/man/bigtent.1 $(DESTDIR)$(PREFIX)/share/man/man1/bigtent.1
	install -D -m 644 docs/man/bigtentd.8 $(DESTDIR)$(PREFIX)/share/man/man8/bigtentd.8
	mkdir -p build/release/completion
	for s in bash zsh fish; do build/release/bigtent completion $$s > build/release/completion/$$s || exit 1; done
	install -D -m 644 build/release/completion/bash $(DESTDIR)$(PREFIX)/$(BASH_COMPLETION)
	install -D -m 644 build/release/completion/zsh $(DESTDIR)$(PREFIX)/$(ZSH_COMPLETION)
	install -D -m 644 build/release/completion/fish $(DESTDIR)$(PREFIX)/$(FISH_COMPLETION)

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/sbin/bigtentd $(DESTDIR)$(PREFIX)/bin/bigtent \
	  $(DESTDIR)$(PREFIX)/share/man/man1/bigtent.1 $(DESTDIR)$(PREFIX)/share/man/man8/bigtentd.8 \
	  $(DESTDIR)$(PREFIX)/$(BASH_COMPLETION) $(DESTDIR)$(PREFIX)/$(ZSH_COMPLETION) \
	  $(DESTDIR)$(PREFIX)/$(FISH_COMPLETION)

clean: ## remove build/ except the data of make run, and what deps/ downloaded
	@find build -mindepth 1 -maxdepth 1 ! -name run ! -name downloads -exec rm -rf {} + 2>/dev/null; true

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
