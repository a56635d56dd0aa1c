"""RecurRank, Algorithm 1 of li2019, line by line on lists of items.

RecurRank has no fast kernels, so this is what its plain ones are compared with.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from clickrank.numerics.g_optimal import GOptimalDesign
from clickrank.policies import RecurRank
from clickrank.types import Ints

PHASES = 32  # numbers of phases set aside for each epoch


def mixed(item: int, salt: int) -> int:
    value = (item * 48271 + salt * 40692 + 1) % (2**31 - 1)
    for _ in range(3):
        value = (value * value + salt + 1) % (2**31 - 1)
    return value


class Instance:
    """One call of RecurRank(ℓ, 𝒜, 𝒦)."""

    def __init__(self, run: NaiveRecurRank, phase: int, items: list[int], positions: list[int]):
        """Plan; the design itself is tested on its own."""
        self.run, self.phase, self.items, self.positions = run, phase, items, positions
        self.needed: dict[int, int] = {}
        self.data: dict[int, list[int]] = {}
        self.plan: dict[int, int] = {}
        if len(items) == 1:
            return
        design = GOptimalDesign.of(run.features, items=np.array(items))
        d = max(run.features.shape[1], design.leverage)
        delta = run.delta / (2 * run.n_positions * 2**phase)
        total = d / (2 * 2.0 ** (-2 * phase)) * math.log(len(items) / delta)
        for item, weight in zip(design.items.tolist(), design.weights.tolist(), strict=True):
            self.needed[item] = math.ceil(weight * total)
            self.data[item] = []
        if run.program:
            self.plan_as_the_program(list(self.needed))

    def plan_as_the_program(self, items: list[int]) -> None:
        """Each item equally often, on top of what earlier phases have seen."""
        k, ell = self.run.n_positions, self.phase
        inside = 2 * len(self.items) * k * ell * (ell + 1) / self.run.delta
        budget = int(4**ell * self.run.features.shape[1] * math.log(inside))
        for i, item in enumerate(items):
            self.data[item] = list(self.run.past.get(item, []))
            more = budget // len(items) + (i < budget % len(items))
            self.needed[item] = len(self.data[item]) + more

    def missing(self) -> dict[int, int]:
        return {item: n - len(self.data[item]) for item, n in self.needed.items()}

    def draw(self, rng: np.random.Generator) -> int:
        if sum(self.plan.values()) == 0:
            self.plan = self.missing()
        deck = [item for item, n in self.plan.items() for _ in range(n)]
        item = deck[int(rng.random() * len(deck))]
        self.plan[item] -= 1
        return item

    def estimates(self) -> dict[int, float]:
        d = self.run.features.shape[1]
        v, s = np.zeros((d, d)), np.zeros(d)
        for item, clicks in self.data.items():
            x = self.run.features[item]
            v += len(clicks) * np.outer(x, x)
            s += sum(clicks) * x
        theta = np.linalg.pinv(v, rcond=1e-9, hermitian=True) @ s
        values = self.run.features @ theta
        return {item: round(values[item] * 2**30) / 2**30 for item in self.items}

    def children(self, salt: int) -> list[Instance]:
        """Lines 5 to 8; as the proof of Lemma 3 has it, or as printed."""
        value = self.estimates()
        self.run.past |= self.data
        m, gap = len(self.positions), 2 * 2.0**-self.phase
        order = sorted(self.items, key=lambda item: (-value[item], mixed(item, salt)))
        if self.run.printed:
            kept = order
        else:
            kept = [a for a in order if sum(value[b] - value[a] >= gap for b in order) < m]
        groups = [[kept[0]]]
        for one, two in itertools.pairwise(kept):
            if value[one] - value[two] >= gap and not self.run.program:
                groups.append([])
            groups[-1].append(two)
        out, start = [], 0
        for group in groups:
            positions = self.positions[start : start + len(group)]
            if positions:
                best = group[: len(positions)]
                rest = [item for item in self.items if item in group and item not in best]
                out.append(Instance(self.run, self.phase + 1, best + rest, positions))
            start += len(group)
        return out


class NaiveRecurRank:
    """All instances in parallel."""

    def __init__(self, spec: RecurRank, n_items: int, n_positions: int) -> None:
        """Start with one instance of all items and positions."""
        self.n_items, self.n_positions = n_items, n_positions
        self.features = spec.features.values
        self.delta = spec.failure or 1 / math.sqrt(spec.horizon or 1)
        self.printed = spec.elimination == "printed"
        self.program = spec.variant == "program"
        self.past: dict[int, list[int]] = {}
        self.instances = [Instance(self, 1, list(range(n_items)), list(range(self.n_positions)))]

    def rank(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        ranking: list[int] = []
        memo = [0] * self.n_positions + [int(rng.random() * 2**16)]
        d = self.features.shape[1]
        for each in self.instances:
            if not each.needed:
                ranking += each.items
                continue
            measured = each.draw(rng)
            slot = list(each.needed).index(measured)
            memo[each.positions[0]] = each.phase * (d * (d + 1) // 2) + slot
            others = each.items
            if each.phase == 1:  # Fisher and Yates, with the measured item in front
                others = list(range(self.n_items))
                others[0], others[measured] = others[measured], others[0]
                for i in range(1, self.n_positions):
                    j = i + int(rng.random() * (self.n_items - i))
                    others[i], others[j] = others[j], others[i]
            rest = [item for item in others if item != measured]
            ranking += [measured, *rest[: len(each.positions) - 1]]
        return ranking, memo

    def update(self, ranking: list[int], memo: list[int], clicks: Ints) -> None:
        d = self.features.shape[1]
        now: list[Instance] = []
        for each in self.instances:
            first = each.positions[0]
            item = ranking[first]
            phase = memo[first] // (d * (d + 1) // 2) % PHASES
            if each.needed and phase == each.phase and each.missing()[item] > 0:
                each.data[item].append(int(clicks[first]))
                if not any(each.missing().values()):
                    now += each.children(memo[-1])
                    continue
            now.append(each)
        self.instances = now
