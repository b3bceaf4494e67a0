#!/usr/bin/env python3
"""Medians as a table in Markdown: table.py RESULTS CANDIDATE...; RESULTS has lines "candidate measurement value unit"."""
import statistics
import sys

values, units = {}, {}
for line in open(sys.argv[1]):
    words = line.split()
    if len(words) == 4:
        values.setdefault(words[1], {}).setdefault(words[0], []).append(float(words[2]))
        units[words[1]] = words[3]
names = sys.argv[2:]
print("| | unit |", " | ".join(names), "|")
print("|---|---|" + "---:|" * len(names))
for measurement, found in values.items():
    cells = [f"{statistics.median(found[name]):.3g}" if name in found else "-" for name in names]
    print(f"| {measurement} | {units[measurement]} |", " | ".join(cells), "|")
