"""Timing several ways of computing one thing against each other, interleaved."""
import gc
import statistics
import time

import torch


def medians(functions, seconds):
    """Median seconds of one call of each function. The functions take turns, so that what else the machine
    does hits all of them alike; short ones are called several times a turn."""
    for f in functions:
        for _ in range(3):
            f()
    repeats = []
    for f in functions:
        start = time.perf_counter()
        f()
        repeats.append(max(1, int(2e-4 / (time.perf_counter() - start))))
    times = [[] for _ in functions]
    gc.disable()
    try:
        end = time.perf_counter() + seconds * len(functions)
        while time.perf_counter() < end or len(times[0]) < 5:
            for f, repeat, record in zip(functions, repeats, times):
                start = time.perf_counter()
                for _ in range(repeat):
                    f()
                record.append((time.perf_counter() - start) / repeat)
    finally:
        gc.enable()
    return [statistics.median(t) for t in times]


def machine():
    """One line on what the numbers were measured on."""
    return (f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, "
            f"{torch.get_num_threads()} thread(s)")
