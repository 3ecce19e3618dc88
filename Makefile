# Bigtent. `make help` lists the targets.
#
# Every variant has its own tree: build/release, build/test, build/asan, build/tsan.
# DEV=1 turns warnings into errors; V=1 shows the commands.

VARIANT ?= release
B        = build/$(VARIANT)
CC      ?= gcc
VERSION  = 0.1.0

# --- what the machine needs -------------------------------------------------------------------
DEPS_BUILD = gcc make pkg-config libh2o-evloop-dev libnghttp2-dev libssl-dev librocksdb-dev \
             libjansson-dev libcurl4-openssl-dev zlib1g-dev
DEPS_TEST  = check libsubunit-dev curl iso-codes tzdata
DEPS_LINT  = clang-format
DEPS_BENCH = nghttp2-client
DEPS       = $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LINT) $(DEPS_BENCH)

DEPS_STAMP = build/.deps-present

# --- compiler ---------------------------------------------------------------------------------
PKGS     = libh2o-evloop libnghttp2 openssl jansson zlib
PKG_INC := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(PKGS) 2>/dev/null))
LIBS     = -lh2o-evloop -lnghttp2 -lrocksdb -ljansson -lssl -lcrypto -lz -lpthread -ldl
CLI_LIBS = -lcurl -ljansson -lpthread -lz

OPT_release = -O2
OPT_test    = -O1
OPT_asan    = -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan    = -O1 -fsanitize=thread -fno-omit-frame-pointer
OPT_coverage = -O0 --coverage

FORTIFY_release = -D_FORTIFY_SOURCE=3
FORTIFY_test    = -D_FORTIFY_SOURCE=3

WARN     = -Wall -Wextra
DEV_WARN = -Werror -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wvla -Wundef -Wswitch-enum
ifeq ($(DEV),1)
WARN = $(DEV_WARN)
$(B)/obj/base/%.o $(B)/obj/storage/%.o $(B)/obj/tenancy/%.o: WARN += -Wconversion -Wno-sign-conversion
endif

CFLAGS_ALL = -std=gnu17 -g $(OPT_$(VARIANT)) $(WARN) -fstack-protector-strong -fPIE \
             $(FORTIFY_$(VARIANT)) -I. $(PKG_INC) -DH2O_USE_LIBUV=0 -DH2O_USE_EPOLL=1 \
             -DBIGTENT_VERSION='"$(VERSION)"' -MMD -MP $(CFLAGS)
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
ROOM_SRC  := $(foreach r,$(ROOMS),$(wildcard $(r)/*.c))
LIB_SRC   := $(filter-out gateway/main.c,$(ROOM_SRC))
CLI_SRC   := $(wildcard cli/*.c)
BASE_SRC  := $(filter base/%,$(ROOM_SRC))
TEST_ROOM ?= *
TEST_SRC  := $(wildcard tests/$(TEST_ROOM)/test_*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
# tests/base/test_buf.c -> base_buf: the file defines `Suite *suite_base_buf(void)`.
SUITES = $(foreach f,$(sort $(TEST_SRC)),$(patsubst %/,%,$(dir $(f:tests/%=%)))_$(patsubst test_%.c,%,$(notdir $(f))))

.PHONY: all deps run demo test check asan tsan bench lint format install uninstall clean help \
        binaries test-binary
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
	@mkdir -p build && touch $(DEPS_STAMP)

$(DEPS_STAMP): Makefile
	@$(MAKE) --no-print-directory deps

# --- compile and link -------------------------------------------------------------------------
$(B)/obj/%.o: %.c
	@mkdir -p $(dir $@)
	$(say) CC $<
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(B)/bigtentd: $(call obj,$(LIB_SRC) gateway/main.c)
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(B)/bigtent: $(call obj,$(BASE_SRC) $(CLI_SRC))
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(CLI_LIBS)

# --- tests ------------------------------------------------------------------------------------
$(B)/tests/suites.inc: FORCE
	@mkdir -p $(dir $@)
	@{ for s in $(SUITES); do echo "SUITE($$s)"; done; } > $@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@
FORCE:

$(call obj,tests/runner.c): $(B)/tests/suites.inc
$(call obj,tests/runner.c): CFLAGS += -I$(B)/tests

$(B)/run_tests: $(call obj,tests/runner.c $(TEST_SRC) $(SUPPORT_SRC) $(LIB_SRC))
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcheck -lsubunit -lcurl -lm -lrt $(LIBS)

test-binary: $(B)/run_tests

test: $(DEPS_STAMP) ## run every test that needs nothing but the machine (TEST_ROOM=base for one room)
	@$(MAKE) --no-print-directory VARIANT=test binaries test-binary
	@tests/run.sh build/test

check: test ## the same as test

asan: $(DEPS_STAMP) ## the suites under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory VARIANT=asan binaries test-binary
	@ROUNDS=$${ROUNDS:-3} CK_TIMEOUT_MULTIPLIER=5 tests/run.sh build/asan

tsan: $(DEPS_STAMP) ## the suites under ThreadSanitizer
	@$(MAKE) --no-print-directory VARIANT=tsan binaries test-binary
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp" ROUNDS=$${ROUNDS:-3} \
	 CK_TIMEOUT_MULTIPLIER=8 tests/run.sh build/tsan

# --- run, demo, bench -------------------------------------------------------------------------
run: all ## serve on https://127.0.0.1:8443 with two sample tenants
	@cli/run.sh build/release

demo: all ## the whole story against a server of its own, step by step
	@tests/demo/demo.sh build/release

$(B)/bench: $(call obj,$(BENCH_SRC) $(LIB_SRC))
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcurl $(LIBS)

bench: all ## the figures of docs/benchmarks.md, in one run
	@$(MAKE) --no-print-directory $(B)/bench
	@tests/bench/bench.sh build/release

# --- tidiness ---------------------------------------------------------------------------------
lint: $(DEPS_STAMP) ## layers, room cards, names, sizes, formatting
	@tests/lint/lint.sh

format: ## let clang-format decide
	@clang-format -i $$(git ls-files '*.c' '*.h')

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
