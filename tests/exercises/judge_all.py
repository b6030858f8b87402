"""Every answer of every exercise, judged with many seeds: a table, and the answers that change.

    python -m tests.exercises.judge_all --seeds 20 [--to answers.jsonl] [exercise ...]

A grader draws its own seed, so an answer's points must not depend on it. An answer changes if it
gets other points with one seed than with another, or a status or hint that the exercise does not
list for it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from helpers import exercises, labs
from helpers.exercises.base import NOTEBOOK_SEED
from tests import exercises as answers
from tests.exercises.answers import Answer

SLOW = 2  # seeds for an answer that runs into its time limit: each takes seconds


def seeds(count: int) -> list[int]:
    """Return the notebook's seed, and random ones like a grader's."""
    rng = random.Random(20)
    return [NOTEBOOK_SEED, *(rng.getrandbits(48) for _ in range(count - 1))]


def judged(name: str, answer: Answer, tried: Sequence[int]) -> dict[str, Any]:
    """Judge an answer with all seeds; return the counts of its statuses and the unexpected ones."""
    exercise = exercises.find(name)
    text = answers.text_of(exercise, answer)
    tried = tried[:SLOW] if answer.status == "time" else tried
    statuses: Counter[str] = Counter()
    unlike: list[dict[str, Any]] = []
    for seed in tried:
        verdict = exercise.judge(text, seed)
        statuses[verdict.status] += 1
        words = " ".join(str(verdict).lower().split())
        says = " ".join(answer.says.lower().split())
        if verdict.status != answer.status or says not in words:
            unlike.append({"seed": seed, "status": verdict.status, "said": words[:300]})
    share = {"pass": 2, "budget": 1}
    levels = {share.get(status, 0) for status in statuses}
    return {
        "exercise": name, "lab": labs.number(exercise.lab),
        "what": answer.what, "must": answer.status,
        "seeds": len(tried), "statuses": dict(statuses), "unlike": unlike,
        "points_change": levels != {share.get(answer.status, 0)},
    }  # fmt: skip


def rows(names: Sequence[str], tried: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer of the exercises."""
    for name in names:
        exercise = exercises.find(name)
        for answer in (*answers.right(exercise), *answers.wrong(exercise)):
            yield judged(name, answer, tried)


def main() -> int:
    """Judge the answers and print a table; return 1 if an answer's points change."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*", help="none for all")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--to", type=Path, help="a file of one JSON object an answer")
    options = parser.parse_args()
    judgements: list[dict[str, Any]] = []
    began = time.monotonic()
    out = options.to.open("a", encoding="utf-8") if options.to else None
    for row in rows(options.exercises or exercises.names(), seeds(options.seeds)):
        judgements.append(row)
        if out:
            print(json.dumps(row), file=out, flush=True)
        if row["unlike"]:
            first = row["unlike"][0]
            print(
                f"{row['exercise']}: {row['what']}: must {row['must']}, got {row['statuses']}; "
                f"seed {first['seed']}: {first['said'][:200]}",
                flush=True,
            )
    print("\n| exercise | answers | judged | points change | another status or hint |")
    print("| --- | --- | --- | --- | --- |")
    for name in dict.fromkeys(row["exercise"] for row in judgements):
        mine = [row for row in judgements if row["exercise"] == name]
        print(
            f"| {name} | {len(mine)} | {sum(row['seeds'] for row in mine)} | "
            f"{sum(row['points_change'] for row in mine)} | "
            f"{sum(bool(row['unlike']) for row in mine)} |"
        )
    count = sum(row["seeds"] for row in judgements)
    print(f"\n{count:,} verdicts in {time.monotonic() - began:.0f} s")
    return int(any(row["points_change"] for row in judgements))


if __name__ == "__main__":
    sys.exit(main())
