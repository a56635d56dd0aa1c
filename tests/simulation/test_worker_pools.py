"""The same numbers on Dask, on Ray and on processes, even if a worker is killed on the way."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.slow  # begins early: it takes longest

# Each cluster lives in a process of its own, which ends with it. What happens is the same on all:
# a worker dies in the middle, and the numbers are those that threads give.

# What the workers import and play. That a worker kills itself, and not another one at a good time,
# makes it the same under any load.
DEADLY = """
import os
import signal
from pathlib import Path

from clickrank.simulation.slices import play_slice as original

MARKER = Path(__file__).with_name("died")


def play_slice(plan, part, caller):
    played = original(plan, part, caller)
    if any(instance.number == 3 and 1 in runs for instance, runs in part.units):
        try:
            with MARKER.open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:  # the second time
            return played
        os.kill(os.getpid(), signal.SIGKILL)
    return played
"""
COMMON = """
import os
import time
from pathlib import Path

import deadly
import joblib
import numpy as np
import psutil

import clickrank as cr
from clickrank.simulation import simulate_queries as many

MODELS = [
    cr.clickmodels.Cascade(np.linspace(0.1, 0.6, 5 + i), 3 + i % 2) for i in range(10)
]


def play():
    return cr.simulate_many("uniform", MODELS, 2000, runs=2, seed=3)


def play_and_die():
    '''Lose a worker with the eighth slice; count slices handed out and come back.'''
    many.SLICE_SECONDS = 1e-9  # one run per slice
    many.play_slice = deadly.play_slice
    original = many.play_slices
    count = {"submitted": 0, "landed": 0, "rows": 0}

    def watched(plan, waiting, pool, land, tick):
        def landed(rows):
            count["landed"] += 1
            count["rows"] += rows.run.size
            land(rows)

        def submit(*args):
            count["submitted"] += 1
            return pool.submit(*args)

        return original(plan, waiting, pool._replace(submit=submit), landed, tick)

    many.play_slices = watched
    results = play()
    assert deadly.MARKER.read_text() != str(os.getpid())
    assert count["landed"] == count["rows"] == 2 * len(MODELS), count
    return results, count


def same(a, b):
    assert list(a) == list(b)
    assert not a.interrupted
    assert np.array_equal(a.result().regret, b.result().regret)


def children():
    '''Return the processes below this one, with their command lines.'''
    found = {}
    for child in psutil.Process().children(recursive=True):
        try:
            found[child] = " ".join(child.cmdline())
        except psutil.Error:  # it has just ended
            pass
    return found


"""

MAIN = """

def main():
    expected = play()
"""

DASK = """
    from distributed import Client, LocalCluster

    options = dict(threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1")
    with LocalCluster(n_workers=2, **options) as cluster:
        models, results = howto(cluster.scheduler_address)
        assert Path("many").is_dir()
        same(results, cr.simulate_many("pbm-ucb", models, horizon=2000, runs=5))

        log = cluster.scheduler.transition_log
        before = sum(entry[2] == "memory" for entry in log)
        assert before > 2
        with Client(cluster), joblib.parallel_config("dask"):
            results, count = play_and_die()
        same(results, expected)
        # Dask itself plays again what was lost: what the worker was at, and what it had not yet
        # handed over.
        assert count["submitted"] == count["landed"], count
        again = sum(entry[2] == "memory" for entry in log) - before - count["landed"]
        assert again <= count["landed"] / 2, again
"""

RAY = """
    import ray
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=os.environ["RAY"])
    with joblib.parallel_config("ray"):
        results, count = play_and_die()
        same(results, expected)
    assert count["submitted"] == count["landed"] + 1, count  # one slice was lost, no other
    for process in [psutil.Process(), *children()]:
        try:
            connections = process.net_connections()
        except psutil.Error:  # it has just ended
            continue
        for connection in connections:
            if connection.status == "LISTEN":
                assert "127.0.0.1" in connection.laddr.ip, connection
    ray.shutdown()
"""

LOKY = """
    with joblib.parallel_config("loky", n_jobs=2):
        results, count = play_and_die()
        same(results, expected)
    from joblib.externals.loky import get_reusable_executor
    get_reusable_executor().shutdown(wait=True, kill_workers=True)
"""

END = """
    deadline = time.monotonic() + 60
    left = True
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        # Python's own tracker of shared memory ends after its process.
        left = [name for name in children().values() if name and "resource_tracker" not in name]
    assert not left, left
    print("same")


if __name__ == "__main__":
    main()
"""


def play(body: str, folder: Path, functions: str = "") -> None:
    script = folder / "script.py"
    (folder / "deadly.py").write_text(DEADLY)
    script.write_text(COMMON + functions + MAIN + body + END)
    # A path of a socket has at most 107 characters, so Ray's folder must not be deep.
    short = Path(os.environ.get("TMPDIR", "/tmp")) / f"clickrank-ray-{os.getpid()}"
    env = {
        **os.environ,
        "RAY": str(short),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # listen on loopback alone
        "RAY_AUTH_TOKEN": os.urandom(32).hex(),  # or Ray leaves one in the home folder
        "PYTHONWARNINGS": "default",
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    shutil.rmtree(short, ignore_errors=True)
    assert done.stdout.splitlines()[-1:] == ["same"], done.stdout + done.stderr


def howto() -> str:
    """Return a function of the Python blocks of the page on clusters."""
    page = (ROOT / "docs" / "howto" / "clusters.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    body = textwrap.indent("\n".join([*blocks, "return models, results"]), "    ")
    assert '"tcp://scheduler:8786"' in body
    return "def howto(address):\n" + body.replace('"tcp://scheduler:8786"', "address") + "\n"


def installed(*names: str) -> bool:
    return all(importlib.util.find_spec(name) for name in names)


@pytest.mark.skipif(not installed("distributed"), reason="the extra 'dask' is not installed")
def test_dask(tmp_path: Path) -> None:
    """And the page on clusters does what it says."""
    play(DASK, tmp_path, howto())


@pytest.mark.skipif(not installed("ray", "psutil"), reason="the extra 'ray' is not installed")
def test_ray(tmp_path: Path) -> None:
    play(RAY, tmp_path)


def test_processes(tmp_path: Path) -> None:
    play(LOKY, tmp_path)
