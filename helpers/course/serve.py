"""The page on which people grade figures and texts: all answers to one question, one after another,
by keyboard. A small web application for this computer alone:

    python -m helpers.course figures grades/ --serve

It listens on the loopback address, and its address has a secret word. It keeps nothing but lines in
the file of decisions (decisions.py), so that two of them may serve one folder, and each may be
ended at any time.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helpers.course import CourseError, decisions, gradebook, grades, questions, report, texts
from helpers.course.decisions import Decision
from helpers.course.gradebook import Gradebook
from helpers.course.questions import Question

PORT = 8765
TOKEN = ".token"  # in the folder of grades: a page that is open finds the program that starts anew
MOST_WORDS, MOST_WHO = 5_000, 60  # characters of a comment; of a grader's name
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src "
    "'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class NoFlask(CourseError, RuntimeError):
    """Flask is missing; the message says what to install."""


class Refused(CourseError, ValueError):
    """What a page sent is no decision; the message says why."""


class Class:
    """A folder of grades with its questions, read again when it was graded again."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._lock = threading.Lock()
        self._of: tuple[Any, Gradebook, list[Question]] | None = None

    def read(self) -> tuple[Gradebook, list[Question]]:
        """Return the gradebook and its questions."""
        stamp = [
            path.stat().st_mtime_ns if path.exists() else 0
            for path in (self.folder / grades.RUN, self.folder / gradebook.COURSE)
        ]
        with self._lock:
            if self._of is None or self._of[0] != stamp:
                book = gradebook.read(self.folder)
                self._of = stamp, book, questions.of_book(book, self.folder)
            return self._of[1:]

    def question(self, lab: Any, name: Any) -> Question:
        """Return a question that points can be given for. Raises Refused."""
        for one in self.read()[1]:
            if (one.lab, one.name) == (lab, name) and name:
                return one
        raise Refused(f"there is no question {name!r} in lab {lab!r}")


def decided(of: Class, given: Mapping[str, Any]) -> list[Decision]:
    """Keep what a page sent: the same points, rubric items or words for each of some students; what
    it did not send stays. Raises Refused, and decisions.Changed where somebody else was faster.
    """
    question = of.question(given.get("lab"), given.get("of"))
    seen = given.get("seen")
    known = {name for card in question.cards for name in card.names}
    if not isinstance(seen, dict) or not seen or not set(seen) <= known:
        raise Refused("`seen` must name students who have an answer here, each with a line")
    if not all(isinstance(line, int) for line in seen.values()):
        raise Refused("`seen` must have the number of a line for each student")
    more = _more(given, question.most, of.read()[0].policy.rubric)
    lines = {(name, question.lab, question.name): line for name, line in seen.items()}
    before = decisions.load(of.folder)
    made = [decisions.changed(before, key, withdrawn=False, **more) for key in lines]
    return decisions.decide(of.folder, made, _who(given), lines)


def _more(given: Mapping[str, Any], most: float, rubric: Mapping[str, float]) -> dict[str, Any]:
    """Return what a page decides: `points`, `items` or `comment`. Raises Refused."""
    more = {name: given[name] for name in ("points", "items", "comment") if name in given}
    points, items, words = more.get("points"), more.get("items", []), more.get("comment", "")
    is_number = isinstance(points, int | float) and not isinstance(points, bool)
    if points is not None and not (is_number and 0 <= points <= most):
        raise Refused(f"points = {points!r}; they must be a number from 0 to {most:g}")
    if not isinstance(items, list) or not set(map(str, items)) <= set(rubric):
        raise Refused("`items` must be names of [rubric] in course.toml")
    if not isinstance(words, str) or len(words) > MOST_WORDS:
        raise Refused(f"`comment` must be a text of at most {MOST_WORDS:,} characters")
    if not more:
        raise Refused("nothing is decided: send `points`, `items` or `comment`")
    return {**more, "items": tuple(items)} if "items" in more else more


def _who(given: Mapping[str, Any]) -> str:
    who = texts.line(str(given.get("who") or "")).strip()
    if not 0 < len(who) <= MOST_WHO:
        raise Refused(f"`who` must be a name of at most {MOST_WHO} characters")
    return who


def application(of: Class, token: str, who: str) -> Any:
    """Return the Flask application for a class. who: the grader, until the page names another one.
    """
    try:
        import flask
    except ImportError:
        raise NoFlask('The page of figures needs Flask: pip install -e ".[course]"') from None
    folder = of.folder
    app = flask.Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = 1 << 20
    base = f"/{token}/"

    @app.before_request
    def is_for_this_computer() -> Any:
        # A page of another site may know a name that leads here, and never the secret word.
        name = flask.request.host.partition(":")[0]
        word = flask.request.path.split("/")[1]
        if name not in ("127.0.0.1", "localhost"):
            return "This address is for the computer itself.", 403
        if not secrets.compare_digest(word.encode(), token.encode()):
            return "The address lacks its secret word: see the terminal.", 403
        return None

    @app.after_request
    def with_headers(answer: Any) -> Any:
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    @app.errorhandler(decisions.Changed)
    def changed(error: decisions.Changed) -> Any:
        return {"said": str(error), "now": [_plain(error.now)]}, 409

    @app.errorhandler(CourseError)
    def refused(error: CourseError) -> Any:
        return {"said": str(error)}, 400

    @app.get(base)
    def every() -> str:
        book, found = of.read()
        last = decisions.load(folder)
        return report.render(
            "questions.html",
            title=book.policy.title or "Figures",
            questions=[(k, one, _graded(one, last)) for k, one in enumerate(found)],
            told=book.run.get("told", []),
        )

    @app.get(f"{base}<int:number>/<int:page>")
    def question(number: int, page: int) -> Any:
        book, found = of.read()
        if number >= len(found) or not 1 <= page <= found[number].pages:
            return flask.redirect(base)
        one = found[number]
        history = decisions.history(folder)
        mine = [row for row in history if (row.lab, row.of) == (one.lab, one.name) and one.name]
        last = {row.student: row for row in mine}
        cards = [report.shown_card(one, card, book, f"{base}picture/") for card in one.page(page)]
        every_card = [
            [card.names, k // questions.PAGE + 1, [
                [f"{base}picture/{of['picture']}" for of in extra.pictures if of["picture"]]
                for extra in card.extras
            ]]
            for k, card in enumerate(one.cards)
        ]  # fmt: skip
        data = {
            "base": base, "lab": one.lab, "of": one.name, "most": one.most, "who": who,
            "number": number, "page": page, "first": questions.PAGE * (page - 1),
            "line": history[-1].line if history else 0,
            "items": list(book.policy.rubric.items()) if one.most else [],
            "cards": every_card,
            "decisions": [_plain(row) for row in last.values()],
            "bank": list(dict.fromkeys(row.comment for row in reversed(mine) if row.comment)),
        }  # fmt: skip
        return report.render(
            "grade.html", title=one.title, question=one, cards=cards, data=data, base=base
        )

    @app.get(f"{base}picture/<name>")
    def picture(name: str) -> Any:
        kind = {"png": "image/png", "svg": "image/svg+xml"}.get(name.partition(".")[2], "")
        path = folder / grades.FIGURES / name
        if not kind or not name.partition(".")[0].isalnum() or not path.is_file():
            return "There is no such picture.", 404
        answer = flask.Response(path.read_bytes(), mimetype=kind)
        answer.headers["Cache-Control"] = "private, max-age=86400, immutable"
        answer.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
        )
        return answer

    @app.get(f"{base}grade.js")
    def script() -> Any:
        text = (report.PAGES / "grade.js").read_text(encoding="utf-8")
        return flask.Response(text, mimetype="text/javascript")

    @app.post(f"{base}decide")
    def decide() -> Any:
        return {"decisions": [_plain(row) for row in decided(of, _json(flask.request))]}

    @app.post(f"{base}undo")
    def undo() -> Any:
        return {
            "decisions": [_plain(r) for r in decisions.undo(folder, _who(_json(flask.request)))]
        }

    @app.get(f"{base}since/<int:line>")
    def since(line: int) -> Any:
        return {"decisions": [_plain(r) for r in decisions.history(folder) if r.line > line]}

    return app


def _json(request: Any) -> Mapping[str, Any]:
    given = request.get_json(silent=True)  # of no other type: no form of another site sends it
    if not isinstance(given, dict):
        raise Refused("a decision is a JSON object")
    return given


def _plain(one: Decision) -> dict[str, Any]:
    return texts.clean(asdict(one))


def _graded(question: Question, last: Mapping[decisions.Key, Decision]) -> tuple[int, int]:
    """Return how many students have points for a question, of how many who handed something in."""
    names = [name for card in question.cards for name in card.names]
    known = [last.get((name, question.lab, question.name)) for name in names]
    return sum(one is not None and one.points is not None for one in known), len(names)


def token_of(folder: Path) -> str:
    """Return the secret word of a folder of grades, drawn at the first time."""
    path = folder / TOKEN
    if not path.exists():
        grades.write_secret(path, secrets.token_urlsafe(18))
    return path.read_text(encoding="ascii").strip()


def run(folder: Path, port: int | None, who: str) -> None:
    """Serve the page until the program is ended. port: PORT, if it is free, where none is given."""
    token = token_of(folder)
    of = Class(folder)
    of.read()  # what is wrong with it is told here, and the page then opens at once
    app = application(of, token, who)
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        """Writes no line for each request: the secret word would be in it."""

        def log(self, type: str, message: str, *args: Any) -> None:
            pass

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT if port is None else port))
        except OSError as error:
            if port is not None:
                raise CourseError(f"port {port} cannot be had: {error}; give another one") from None
            probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=Quiet)
    print(
        f"Open http://127.0.0.1:{port}/{token}/ in a browser. The address is a secret: who has it "
        f"can grade. Ctrl+C ends this program; what is decided is kept in {folder}",
        flush=True,
    )
    server.serve_forever()
