#!/usr/bin/env python3
"""Greedy copies, then the largest copy to the least loaded rank: eplb's policy `trtllm`."""
import json
import sys


def place_layer(load, slots, ranks):
    """The expert of each slot, from the experts' load."""
    if not any(load):
        copies = sorted(slot % len(load) for slot in range(slots))
    else:
        count = [1] * len(load)
        for _ in range(slots - len(load)):  # The next copy to the largest load a copy.
            winner = max(range(len(load)), key=lambda expert: (load[expert] / count[expert], expert))
            count[winner] += 1
        copies = [expert for expert, copies in enumerate(count) for _ in range(copies)]
    of_copy = [load[expert] / copies.count(expert) for expert in copies]
    rank_load = [0.0] * ranks
    held = [[] for _ in range(ranks)]
    for copy in sorted(range(slots), key=lambda copy: -of_copy[copy]):
        open_ranks = [rank for rank in range(ranks) if len(held[rank]) < slots // ranks]
        rank = min(open_ranks, key=lambda rank: rank_load[rank])
        held[rank].append(copies[copy])
        rank_load[rank] += of_copy[copy]
    return [expert for rank in held for expert in rank]


for line in sys.stdin:
    problem = json.loads(line)
    shape = problem["shape"]
    window = problem["history"][-problem["window_parts"]:]
    layers = []
    for layer in range(shape["layers"]):
        load = [sum(part) for part in zip(*(part[layer] for part in window))]
        layers.append(place_layer(load, shape["slots"], shape["ranks"]))
    print(json.dumps({"physical_to_logical_map": layers}), flush=True)
