# make help     what there is (the default)
# make setup    install what the build needs (Debian 12, Ubuntu 24.04): apt packages, .venv
# make build    the release build, in build/
# make test     setup, build, and every test
# make demo     setup, build, and a tour on two small models
# make bench    setup, build, and the kernels and rewritten models timed against stock code
# make fuzz     setup, and libFuzzer on all that reads text, SECONDS (600) each target; needs clang
# make wheel    setup, build, and the Python wheel with the programs in it, in dist/
# make format   clang-format on all C++ sources
# make clean    remove the build folders
#
# KM_TORCH_DIR=DIR   build against the libtorch whose TorchConfig.cmake is in DIR
# BENCH=--quick      a tenth of the bench's time, noisier
# JOBS=N             how many compilers and tests run at a time (default: one a core)

JOBS ?= $(shell nproc)

.PHONY: help setup build test demo bench fuzz wheel format clean
help:
	@sed -n 's/^# \?//p; /^$$/q' Makefile

setup:
	@scripts/setup.sh

build: setup
	cmake --preset release $(if $(KM_TORCH_DIR),-DTorch_DIR=$(KM_TORCH_DIR))
	cmake --build --preset release --parallel $(JOBS)

test: build
	@ctest --preset release --parallel $(JOBS)

demo: build
	@scripts/demo.sh

bench: build
	@cmake --build --preset release --target bench_sites
	@.venv/bin/python3 bench/run.py $(BENCH)

SECONDS ?= 600
fuzz: setup
	@KM_TORCH_DIR=$(KM_TORCH_DIR) JOBS=$(JOBS) scripts/fuzz.sh $(SECONDS)

wheel: build
	@cmake --build --preset release --target wheel

format:
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

clean:
	rm -rf build build-debug build-sanitize build-fuzz demo-out dist
