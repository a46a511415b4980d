"""OpenBLAS's kernels, which differ from processor to processor in how they round."""

import pathlib

# What is stored with the tests was computed with those for AVX-512. Where the processor has it, but OpenBLAS does not
# know the processor and takes others, it is told to: to be in the environment before OpenBLAS is loaded.
STORED = {"OPENBLAS_CORETYPE": "SkylakeX"} if "avx512bw" in pathlib.Path("/proc/cpuinfo").read_text() else {}
