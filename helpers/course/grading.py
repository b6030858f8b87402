"""Grade all answers of a class: each text once, on one process, on several, or on a cluster
(Dask).

A crash, a time-out or too much memory of a submission is its verdict, and never tried again. A
worker that is lost takes no verdict with it: its answers are graded by another one. What could
not be graded says not_graded, with the reason, and has no points taken away from it. So does what
is left of a student whose answers have taken longer than a student may take.
"""

from __future__ import annotations

import contextlib
import platform
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from helpers import exercises, kernel_cells, kernels, labs
from helpers.course import (
    CourseError,
    box,
    decisions,
    figures,
    gpu,
    gradebook,
    grades,
    judge,
    pictures,
    python_answers,
    texts,
    workers,
    writing,
)
from helpers.course.box import Benches
from helpers.course.policy import Policy
from helpers.course.submissions import Answer
from helpers.quantities import quantity
from helpers.simulator.machine import library

Progress = Callable[[int, int, str], None]


class NoCluster(CourseError, RuntimeError):
    """No workers can be had; the message says what to install or to type."""


@dataclass(frozen=True)
class Plan:
    """How to grade. workers: processes on this machine, 1 for this one alone; cluster: the
    address of a Dask scheduler; shard: (i, n), only every n-th text from the i-th on, counted
    from 1; gpu: time what passes, on a GPU; student_s: seconds that the answers of one student may
    take in a run.
    """

    seed: int
    level: str
    workers: int = 1
    cluster: str = ""
    shard: tuple[int, int] = (1, 1)
    gpu: bool = False
    limits: box.Limits | None = None
    policy: Policy = field(default_factory=Policy)
    again: bool = False
    student_s: float = 1_200.0

    @property
    def how(self) -> str:
        """What a result depends on beside the text: a box that is none is recorded apart."""
        return ("no box" if self.level == "none" else "box") + (" gpu" if self.gpu else "")


@dataclass(frozen=True)
class Task:
    """One text for one exercise; students: who handed it in, none for a text of the course's."""

    key: str
    exercise: str
    text: str
    students: tuple[str, ...] = ()


class _Budget:
    """The seconds that each student's answers have taken."""

    def __init__(self, most_s: float):
        self._most_s = most_s
        self._taken_s: dict[str, float] = {}

    def charge(self, task: Task, seconds: float) -> None:
        """Count what a text took; those who handed it in share that."""
        for student in task.students:
            before = self._taken_s.get(student, 0.0)
            self._taken_s[student] = before + seconds / len(task.students)

    def is_spent(self, task: Task) -> bool:
        """Return whether nobody who handed in a text has any time left."""
        taken = [self._taken_s.get(student, 0.0) for student in task.students]
        return bool(taken) and min(taken) >= self._most_s

    @property
    def said(self) -> str:
        """Why an answer of such a student was not graded."""
        return (
            f"not graded: this student's other answers took more than {self._most_s:,g} s. The "
            "next run continues with the rest; --student-minutes gives more time"
        )


def grade(
    answers: Sequence[Answer],
    to: Path,
    plan: Plan,
    progress: Progress | None = None,
    ladders: bool = True,
    remarks: Sequence[str] = (),
) -> dict[str, int]:
    """Grade answers, and write a result for each; how many have which status. ladders: cost the
    course's own kernels, too; remarks: what was handed in and cannot be used.
    """
    began = time.monotonic()
    tasks, by_key = _tasks(answers, plan)
    store = to / ".results"
    known = {
        task.key: found
        for task in tasks
        if not plan.again and (found := grades.load(store / f"{task.key}.json")) is not None
    }
    waiting = [task for task in tasks if task.key not in known]
    waiting = waiting[plan.shard[0] - 1 :: plan.shard[1]]
    say = progress or (lambda done, total, what: None)
    say(
        0,
        len(waiting),
        f"{quantity(len(answers), 'answer')}, {quantity(len(tasks), 'different text')}, "
        f"{len(known):,} known already",
    )
    if waiting:
        library.build()  # workers of this machine then find it made
    done = 0
    for task, result in _stored(waiting, plan, store):
        known[task.key] = result
        done += 1
        say(done, len(waiting), f"{task.exercise}: {result['status']}")
    counts: dict[str, int] = {}
    decided = decisions.load(to)
    tried: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for number, answer in enumerate(answers):
        key = by_key.get(number)
        if key is not None and key not in known:
            continue  # another shard's
        result = _of_answer(answer, known[key] if key else None, plan)
        tried.setdefault((answer.student, answer.lab, answer.exercise), []).append(result)
    for (student, lab, name), results in tried.items():
        more = decided.get((student, labs.number(lab), ""))
        counts_as = gradebook.with_days(plan.policy, student, labs.number(lab), more)
        result = _chosen(results, counts_as)
        counts[result["status"]] = counts.get(result["status"], 0) + 1
        grades.save(grades.place(to, student, lab, name), result)
    _figures(answers, to, plan)
    _writing(answers, to)
    own = {**_ladders_before(to), **_ladders(answers, to, plan)} if ladders else {}
    about = _about(plan, counts, len(tasks), done, time.monotonic() - began, own)
    grades.save(to / grades.RUN, {**about, "told": list(remarks)})
    return counts


def _chosen(results: list[dict[str, Any]], policy: Policy) -> dict[str, Any]:
    """Return the one of several answers of a student to an exercise that counts: the last one, or
    that with the most points at its time.
    """

    def worth(one: Mapping[str, Any]) -> tuple[float, str]:
        at = datetime.fromisoformat(one["submitted"]) if one["submitted"] else None
        share, _ = policy.share_of_time(one["student"], labs.number(one["lab"]), at)
        worth = policy.share_of_points(one) * share
        return worth if policy.take == "best" else 0.0, one["submitted"]

    best = max(results, key=worth)
    if len(results) == 1:
        return {**best, "attempts": 1}
    said = f"{len(results)} notebooks have an answer; that of {best['notebook']} counts."
    note = " ".join(filter(None, [best["note"], said]))
    return {**best, "note": note, "attempts": len(results)}


def _is_final(result: Mapping[str, Any]) -> bool:
    """Return whether a result is the student's alone: there was a box, and a GPU if one was asked
    for.
    """
    return result["status"] != "not_graded" and not str(result.get("gpu", "")).startswith(
        "not timed"
    )


def _about(
    plan: Plan, counts: dict[str, int], tasks: int, graded: int, seconds: float, ladders: Any
) -> dict[str, Any]:
    return {
        "schema": grades.SCHEMA, "grader": grades.grader_version(), "box": plan.level,
        "workers": plan.workers,
        "shard": list(plan.shard), "statuses": counts, "texts": tasks, "graded_now": graded,
        "seconds": round(seconds, 1),
        "machine": platform.node(), "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "ladders": ladders,
    }


def _tasks(answers: Iterable[Answer], plan: Plan) -> tuple[list[Task], dict[int, str]]:
    """Return the different texts, and the key of each answer that has a text."""
    tasks: dict[str, Task] = {}
    keys: dict[int, str] = {}
    for number, answer in enumerate(answers):
        if answer.missing:
            continue
        key = grades.key(answer.text, answer.exercise, plan.seed, plan.how)
        keys[number] = key
        before = tasks.get(key, Task(key, answer.exercise, answer.text))
        students = tuple(dict.fromkeys((*before.students, answer.student)))
        tasks[key] = replace(before, students=students)
    return list(tasks.values()), keys


def _of_answer(answer: Answer, found: dict[str, Any] | None, plan: Plan) -> dict[str, Any]:
    """Return the result of one student's answer."""
    if found is None:
        exercise = exercises.find(answer.exercise)
        graded = grades.without_run(exercise, "refused", f"no answer: {answer.missing}")
        found = {**judge.plain(graded, plan.level), "maximum": answer.maximum}
    own = {
        "schema": grades.SCHEMA, "student": answer.student, "lab": answer.lab,
        "exercise": answer.exercise,
        "text_sha256": grades.sha256(answer.text), "seed": plan.seed,
        "grader": grades.grader_version(), "text": answer.text[:65_536],
        "cell": answer.by, "notebook": texts.line(answer.notebook), "note": answer.note,
        "submitted": answer.submitted,
    }
    return {**found, **own}


def _figures(answers: Sequence[Answer], to: Path, plan: Plan) -> None:
    """Keep the pictures of each lab that was handed in, and check the records in them against what
    was counted again.
    """
    handed: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        handed.setdefault((answer.student, answer.lab), []).append(answer)
    every: list[str] = []
    for (student, lab), mine in handed.items():
        mine = sorted(mine, key=lambda one: one.submitted, reverse=True)
        files = [Path(path) for path in dict.fromkeys(p for one in mine for p in one.figures)]
        books = [Path(path) for path in dict.fromkeys(one.source for one in mine if one.source)]
        found = pictures.of_lab(books, files, to)
        records = [_record(to, one) for one in found]
        known = _known(mine, to) if any(records) else {}
        for one, record in zip(found, records, strict=True):
            one["claim"] = _claim(record, one["name"], known)
        every += [one["picture"] for one in found if one["picture"]]
        if found or (to / student / lab / pictures.FILE).exists():
            grades.save(to / student / lab / pictures.FILE, {"pictures": found})
    pictures.look_at(to, plan.level, every)


def _known(mine: Sequence[Answer], to: Path) -> dict[str, figures.Again]:
    """Return what was found of the kernels of a student's lab, by the names of their cells."""
    found = {}
    for one in mine:
        result = grades.load(grades.place(to, one.student, one.lab, one.exercise))
        if result is not None:
            exercise = exercises.find(one.exercise)
            found[getattr(exercise, "cell_name", one.exercise)] = _again(result)
    return found


def _record(to: Path, picture: Mapping[str, Any]) -> dict[str, Any] | figures.ClaimError | None:
    """Return the record in a picture, or what is wrong with it; None where it has none."""
    if not picture["picture"].endswith(".png"):
        return None
    try:
        return figures.claimed(to / grades.FIGURES / picture["picture"], picture["name"])
    except figures.ClaimError as error:
        return error


def _claim(
    record: dict[str, Any] | figures.ClaimError | None,
    name: str,
    known: Mapping[str, figures.Again],
) -> dict[str, Any] | None:
    """Return what a record claims beside what is known, None where there is no record."""
    if record is None or isinstance(record, figures.ClaimError):
        return None if record is None else {"rows": [], "problems": [str(record)]}
    try:
        return figures.check(record, known)
    except Exception as error:  # one student's file must not stop the others
        return {"rows": [], "problems": [f"{name} cannot be checked ({type(error).__name__})"]}


def _writing(answers: Sequence[Answer], to: Path) -> None:
    """Keep what students wrote beside their answers: of each lab the last notebook that was handed
    in.
    """
    last: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        place = answer.student, answer.lab
        if place not in last or answer.submitted >= last[place].submitted:
            last[place] = answer
    for (student, lab), answer in last.items():
        grades.save(to / student / lab / writing.FILE, answer.writing)


def _again(result: Mapping[str, Any]) -> figures.Again:
    """Return what is known of a student's kernel, for the figures that show it."""
    text = str(result["text"])
    with contextlib.suppress(kernel_cells.CellError):  # of an answer in Python
        text = kernel_cells.parse(text).source
    right = result["status"] in ("pass", "budget", "not_graded")
    sha256, gpu = kernels.code_sha256(text), str(result.get("gpu", ""))
    return figures.Again(result.get("totals", {}), sha256, right, gpu)


def _ladders_before(to: Path) -> dict[str, Any]:
    """Return the costs of an earlier run, which may have had answers to other exercises."""
    before = grades.run_of(to)
    return before["ladders"] if before.get("grader") == grades.grader_version() else {}


def _ladders(answers: Sequence[Answer], to: Path, plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Return the cost of the course's own kernel for each exercise, which a class is drawn against.
    """
    tasks: dict[str, Task] = {}
    for name in dict.fromkeys(answer.exercise for answer in answers if answer.text):
        if name not in python_answers.PLAYERS:
            text = exercises.find(name).solution
            tasks[name] = Task(grades.key(text, name, plan.seed, plan.how), name, text)
    store = to / ".results"
    known = {task.key: grades.load(store / f"{task.key}.json") for task in tasks.values()}
    missing = [task for task in tasks.values() if known[task.key] is None]
    if plan.shard[0] == 1:
        known |= {task.key: result for task, result in _stored(missing, plan, store)}
    found = {name: known[task.key] or {} for name, task in tasks.items()}
    return {
        name: [
            {
                "what": "the course's solution", "cost": own["cost"], "time_ms": own.get("time_ms"),
                "status": own["status"],
            }
        ]
        for name, own in found.items()
        if own.get("cost") is not None
    }  # fmt: skip


# ---- where the work is done ----


def _stored(
    tasks: Sequence[Task], plan: Plan, store: Path
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Grade tasks, and keep each result that the next run need not try again."""
    for task, found in _graded(tasks, plan):
        result = {"schema": grades.SCHEMA, "exercise": task.exercise, **found}
        if _is_final(result):
            grades.save(store / f"{task.key}.json", result)
        yield task, result


def _graded(tasks: Sequence[Task], plan: Plan) -> Iterator[tuple[Task, dict[str, Any]]]:
    if not tasks:
        return
    budget = _Budget(plan.student_s)
    if plan.workers <= 1 and not plan.cluster:
        for task in tasks:
            if budget.is_spent(task):
                yield task, _not_graded(task.exercise, budget.said, plan)
                continue
            result = grade_one(task.exercise, task.text, plan)
            budget.charge(task, result["seconds"])
            yield task, result
    else:
        yield from _by_dask(tasks, plan, budget)


_local = threading.local()


def grade_one(exercise: str, text: str, plan: Plan) -> dict[str, Any]:
    """Grade one text in this process, whose bench for kernels stays for the next one."""
    began = time.monotonic()
    return {**_judged(exercise, text, plan), "seconds": round(time.monotonic() - began, 3)}


def _judged(exercise: str, text: str, plan: Plan) -> dict[str, Any]:
    try:
        benches = _benches(plan)
        found = judge.grade(exercise, text, plan.seed, benches)
    except box.NoBox as error:
        return _not_graded(exercise, str(error), plan)
    except Exception as error:  # a fault of the grader's own: no verdict on a student
        return _not_graded(exercise, f"the grader failed: {type(error).__name__}: {error}", plan)
    return gpu.timed(found, exercise, text, plan.seed) if plan.gpu else found


def _benches(plan: Plan) -> Benches:
    kept = getattr(_local, "benches", None)
    if kept is None or kept.level != plan.level or kept.limits != (plan.limits or box.Limits()):
        if kept is not None:
            kept.close()
        _local.folder = tempfile.TemporaryDirectory(
            prefix="halo-machine-", ignore_cleanup_errors=True
        )
        _local.benches = kept = Benches(
            plan.level, box.machine_folder(Path(_local.folder.name)), plan.limits
        )
    return kept


def close() -> None:
    """End this thread's benches."""
    if getattr(_local, "benches", None) is not None:
        _local.benches.close()
        _local.folder.cleanup()
        _local.benches = None


def _not_graded(exercise: str, why: str, plan: Plan) -> dict[str, Any]:
    graded = grades.without_run(exercises.find(exercise), "not_graded", why[:2_000])
    return judge.plain(graded, plan.level)


def _by_dask(
    tasks: Sequence[Task], plan: Plan, budget: _Budget
) -> Iterator[tuple[Task, dict[str, Any]]]:
    with _client(plan) as client:
        from distributed import as_completed

        by_key = {f"grade-{task.key}": task for task in tasks}
        resources = {"GPU": 1} if plan.gpu else {}
        waiting = {
            key: client.submit(
                grade_one,
                task.exercise,
                task.text,
                plan,
                key=key,
                pure=True,
                retries=0,
                resources=resources,
            )
            for key, task in by_key.items()
        }
        for future in as_completed(list(waiting.values())):
            if waiting.pop(future.key, None) is None:
                continue  # cancelled, because its student's time was over
            task = by_key[future.key]
            try:
                result = future.result()
            except Exception as error:  # several workers were lost with this one
                said = f"not graded: {type(error).__name__}: {error}"
                result = _not_graded(task.exercise, said, plan)
            yield task, result
            future.release()
            budget.charge(task, result["seconds"])
            for key in [key for key in waiting if budget.is_spent(by_key[key])]:
                client.cancel([waiting.pop(key)])
                yield by_key[key], _not_graded(by_key[key].exercise, budget.said, plan)


@contextmanager
def _client(plan: Plan) -> Iterator[Any]:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise NoCluster(
            'Several workers need Dask, which is not installed: pip install -e ".[course]", '
            'or grade with --workers 1'
        ) from None
    # A submission's crash ends its box, never a worker; one that is lost was ended by something
    # else.
    dask.config.set(
        {"distributed.scheduler.allowed-failures": 5, "distributed.worker.daemon": False}
    )
    if plan.cluster:
        with Client(plan.cluster, timeout="30s") as client:
            client.register_plugin(workers.plugin(workers.Machine.built()))
            yield client
        return
    local = {
        "n_workers": plan.workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
    }
    with (
        LocalCluster(
            **local, resources={"GPU": 1} if plan.gpu else None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
