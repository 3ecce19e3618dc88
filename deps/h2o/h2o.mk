# h2o built from source, for systems that do not package it (docs/decisions/0059): an event loop,
# sockets, TLS and HTTP/1.1, as a static library with headers. All variants link the same one.
H2O_DIR     = build/deps/h2o
H2O_SOURCE  = $(H2O_DIR)/source
H2O_ARCHIVE = $(H2O_DIR)/libh2o-evloop.a

H2O_SRC = deps/cloexec/cloexec.c deps/picohttpparser/picohttpparser.c \
          $(patsubst %,lib/common/%.c,cache filecache hostinfo memory multithread socket string time timeout url) \
          $(patsubst %,lib/core/%.c,config context headers request token util) \
          lib/handler/chunked.c lib/handler/mimemap.c lib/http1.c lib/left_out.c
H2O_OBJ = $(H2O_SRC:%.c=$(H2O_DIR)/obj/%.o)

# As Debian compiles it, but into a static library for position-independent executables.
H2O_CFLAGS = -std=gnu11 -O2 -g -w -fPIE -fvisibility=hidden -fno-omit-frame-pointer -fstack-protector-strong \
             -D_FORTIFY_SOURCE=2 -D_GNU_SOURCE -DH2O_USE_LIBUV=0 -DH2O_USE_EPOLL=1 -I$(H2O_SOURCE)/include \
             $(patsubst %,-I$(H2O_SOURCE)/deps/%,cloexec golombset klib libyrmcds picohttpparser yoml)

$(H2O_DIR)/.unpacked: deps/h2o/fetch.sh deps/h2o/bigtent.patch
	@mkdir -p $(H2O_DIR)
	@deps/h2o/fetch.sh build/downloads $(H2O_SOURCE)
	@touch $@

$(H2O_DIR)/obj/%.o: $(H2O_DIR)/.unpacked deps/h2o/h2o.mk
	@mkdir -p $(@D)
	$(Q)$(CC) $(H2O_CFLAGS) -c $(H2O_SOURCE)/$*.c -o $@

$(H2O_ARCHIVE): $(H2O_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^
