"""What ncu says of whole batches: its CSV read, launches that are missing found, and the record
complete.
"""

from __future__ import annotations

import pytest

from helpers import device
from helpers.experiments import layer_counters
from helpers.experiments.ncu import NcuError


def csv_of(launches) -> str:
    """ncu's CSV text: a line for each launch and metric, values that tell the launch."""
    lines = ["==PROF== Connected", '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
    for number, (kernel, _) in enumerate(launches):
        for metric in layer_counters.METRICS.values():
            value = f"{1000 + number}.5" if metric.endswith("ratio") else f"1,{number:03}"
            value = "n/a" if metric.startswith("dram__bytes") else value
            lines.append(f'"{number}","{kernel}(float *, const float *)","{metric}","","{value}"')
    return "\n".join(lines)


def test_rows_are_read_in_the_order_of_the_launches():
    rows = layer_counters.parse(csv_of(layer_counters.LAUNCHES))
    assert [(row["series"], row["layer"]) for row in rows] == list(layer_counters.LAUNCHES)
    assert [row["instructions"] for row in rows] == list(range(1000, 1000 + len(rows)))
    assert rows[2]["stalled_wait"] == 1002.5
    assert rows[0]["dram_read_bytes"] is None


@pytest.mark.parametrize(
    "launches", [(), layer_counters.LAUNCHES[:-1], layer_counters.LAUNCHES[::-1]]
)
def test_other_launches_are_an_error_that_says_what_ncu_said(launches):
    with pytest.raises(NcuError, match=r"(?s)ncu saw .*==ERROR== no permission"):
        layer_counters.parse(csv_of(launches), "==ERROR== no permission")


def test_a_missing_ncu_is_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(NcuError, match="not on the PATH"):
        layer_counters.measure()


def test_the_largest_stalls_come_first():
    row = {
        "stalled_wait": 0.3,
        "stalled_not_selected": 2.8,
        "stalled_barrier": None,
        "stalled_long_scoreboard": 0.5,
    }
    assert layer_counters.stalls(row, 2) == [("not selected", 2.8), ("long scoreboard", 0.5)]


def test_the_record_has_every_launch():
    rows = layer_counters.recorded().rows()
    assert [(row["series"], row["layer"]) for row in rows] == list(layer_counters.LAUNCHES)
    assert all(set(layer_counters.METRICS) <= set(row) for row in rows)


def test_the_command_needs_a_gpu(capsys, monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.select().kind != "simulator":
        pytest.skip("a GPU was chosen before, in this process")
    assert layer_counters.main([]) == 2
    assert "there is none here" in capsys.readouterr().err
    assert layer_counters.main(["all"]) == 2
