"""The instructors' side: release labs, grade what students hand in, report it, and export points.

    python -m helpers.course release 101 105 109 --to release/
    python -m helpers.course grade submitted/ --to grades/
    python -m helpers.course report grades/ --to report/
    python -m helpers.course update                          a student's own copies, my_labs/

README.md in this folder says step by step what a course does. A submission passes the gate
(helpers.exercises.judge.gate), its kernels run in a box (box.py, inside.py), and what comes out is
compared outside of it (judge.py).
"""


class CourseError(Exception):
    """What stops a command of the course, which shows the message alone: what was wrong, and what
    to type.
    """
