"""The Python package against a real server."""

import asyncio
import decimal
import fractions
import pathlib
import sys
import threading
import time
import warnings

import site_of_tests
from support import Skip, definition, eventually, grid, target

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"
sys.path.insert(0, str(PACKAGE / "src"))
import banditd  # noqa: E402


def raises(kind, call, *arguments, **options):
    """Checks that the call raises. -> the exception"""
    try:
        call(*arguments, **options)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def make(site, **fields):
    site.study(**fields)
    return banditd.Client(site.url).study("s")


def test_a_study_from_its_creation_to_its_end(site):
    with banditd.Client(site.url) as client:
        study = client.create_study(definition(id="made", horizon=9))
        assert study.id == "made" and study.info()["horizon"] == 9
        assert [info["id"] for info in client.studies()] == ["made"]
        study.pause()
        assert study.ask_with_reason().reason == "paused"
        study.resume()
        assert study.change(horizon=12)["horizon"] == 12
        study.finish()
        assert study.info()["state"] == "finished"
        study.delete()
        assert list(client.studies()) == []


def test_words_beside_a_definition(site):
    parameters = [{"name": "mol", "type": "categorical"}, {"name": "t", "type": "double", "min": 0, "max": 1}]
    new = {"metric": {"name": "y", "goal": "maximize"}, "domain": {"type": "space", "parameters": parameters}}
    with banditd.Client(site.url) as client:
        given = {"C": [16, 0.5], "CC": [30, 1.5]}
        for words in (given, b"a,key,b\n16,C,0.5\n30,CC,1.5\n"):
            parameter = client.create_study(new, words={"mol": words}).info()["domain"]["parameters"][0]
            assert dict(zip(parameter["values"], parameter["features"])) == given, parameter
        assert "other" in str(raises(banditd.Refused, client.create_study, new, {"other": given}))


def test_asking_and_telling(site):
    study = make(site, horizon=10)
    (trial,) = study.ask(worker="w")
    assert trial.parameters == dict(zip("xy", trial.point)) and trial.attempt == 1, trial
    assert [held.id for held in study.ask(worker="w")] == [trial.id]
    assert study.tell(trial, 0.5) == {"accepted": 1, "duplicates": 0, "late": 0}
    assert study.tell(trial.id, 0.5)["duplicates"] == 1
    (second,) = study.ask()
    study.fail(second, "no power")
    (third,) = study.ask()
    study.infeasible(third)
    (fourth,) = study.ask()
    study.release(fourth)
    (again,) = study.ask()
    assert (again.id, again.attempt) == (fourth.id, fourth.attempt)
    study.tell(again, {"value": 0.25})
    states = {seen.id: seen.state for seen in study.trials()}
    assert states[1] == "completed" and states[2] == "failed" and states[3] == "infeasible", states
    assert [seen.id for seen in study.trials(state="failed")] == [2]
    metric = study.info()["metric"]["name"]
    assert [seen.id for seen in study.trials(at_least={metric: 0.3})] == [1]
    assert [seen.id for seen in study.trials(at_most={metric: 0.6}, sort="value")] == [4, 1]
    assert [seen.id for seen in study.trials(sort="value", order="desc")][:2] == [1, 4]
    assert list(study.trials(at_least={metric: 0.3}, at_most={metric: 0.4})) == []
    assert study.best()["observed"]["value"] == 0.5
    assert study.predict(candidates=[0]) == study.predict(points=[trial_point(site, 0)])
    assert study.model()["algorithm"] == "bbkb"


def trial_point(site, candidate):
    return grid(12)[candidate]


def test_what_results_carry(site):
    client = banditd.Client(site.url)
    study = client.create_study(
        {
            "metrics": [
                {"name": "loss", "goal": "minimize"},
                {"name": "seconds", "goal": "minimize", "role": "recorded"},
            ],
            "domain": {"type": "candidates", "scaling": "none", "points": [[x / 10] for x in range(11)]},
            "algorithm": {"name": "uniform"},
            "stopping": {"rule": "median", "min_steps": 1, "min_trials": 1},
        }
    )
    own = study.propose(7)
    (trial,) = study.ask()
    assert (trial.id, trial.candidate) == (own.id, 7)
    assert study.measure(trial, 0, 1.0) is False
    study.tell(trial, {"loss": 0.5, "seconds": 3}, repeats=2, metadata={"host": "a"})
    (shown,) = study.trials(state="completed")
    assert shown.raw["values"] == {"loss": 0.5, "seconds": 3} and shown.raw["repeats"] == 2, shown.raw
    assert shown.raw["metadata"] == {"host": "a"}
    (trial,) = study.ask()
    assert study.measure(trial, 0, 2.0) is True
    assert [curve["trial"] for curve in study.measurements(str(trial.id))] == [trial.id]
    assert len(list(study.measurements(points=2))) > 1
    study.stop(trial, 2.0, "too slow")
    assert study.amend(trial, 1.5, reason="read wrongly").raw["value"] == 1.5
    assert study.amend(trial, state="infeasible").state == "infeasible"
    assert study.info()["observations"] == 1


def test_standard_errors(site):
    study = banditd.Client(site.url).create_study(
        {
            "metrics": [{"name": "gain", "goal": "maximize"}, {"name": "cost", "goal": "minimize"}],
            "domain": {"type": "candidates", "points": [[0, 1], [1, 0], [1, 1]]},
            "algorithm": {"name": "log_ei"},
        }
    )
    (trial,) = study.ask()
    study.tell(trial, {"gain": 0.5, "cost": 3}, std_error={"gain": 0.25, "cost": 0.5})
    (shown,) = study.trials(state="completed")
    assert shown.std_error == 0.25 and shown.std_errors == {"gain": 0.25, "cost": 0.5}, shown.raw
    amended = study.amend(trial, {"gain": 0.5, "cost": 2}, std_error={"gain": 0.125})
    assert amended.std_error == 0.125 and amended.std_errors == {}, amended.raw


def test_bounds(site):
    study = banditd.Client(site.url).create_study(
        {
            "metrics": [{"name": "gain", "goal": "maximize"}, {"name": "heat", "role": "constraint", "at_most": 1}],
            "domain": {"type": "candidates", "points": [[0, 1], [1, 0], [1, 1]]},
        }
    )
    (trial,) = study.ask()
    assert trial.feasible is None
    study.tell(trial, {"gain": 0.5, "heat": 3})
    (shown,) = study.trials(state="completed")
    assert shown.feasible is False and study.best()["observed"] is None, shown.raw
    study.change(metrics=[{"name": "heat", "at_most": 4}])
    (shown,) = study.trials(state="completed")
    assert shown.feasible is True and study.best()["observed"]["trial"] == trial.id, shown.raw


def test_costs(site):
    study = banditd.Client(site.url).create_study(
        {"metric": {"name": "gain", "goal": "maximize"}, "domain": {"type": "candidates", "points": [[0], [1], [2]]}}
    )
    first, second = study.ask(2)
    study.tell(first, 0.5, cost=2)
    study.fail(second, "out of memory", cost=0.25)
    assert [trial.cost for trial in study.trials()] == [2, 0.25]
    assert study.info()["cost"] == 2.25


def test_many_pages_of_trials(site):
    study = make(site, algorithm={"ratio_bound": 1e9, "max_batch": 4096}, horizon=1200)
    for trial in study.ask(1):
        study.tell(trial, 0)
    asked = study.ask(1000) + study.ask(199)
    assert len(asked) == 1199
    assert [trial.id for trial in study.trials()] == list(range(1, 1201))


def test_refusals(site):
    study = make(site)
    client = banditd.Client(site.url)
    bad = raises(banditd.Refused, client.create_study, {**definition(), "horizon": 0})
    assert bad.status == 422 and bad.errors[0]["pointer"] == "/horizon" and "/horizon" in str(bad), bad
    assert raises(banditd.NotFound, client.study("absent").info).status == 404
    assert raises(banditd.NotFound, client.study("../absent").info).status == 404
    (trial,) = study.ask()
    study.tell(trial, 1)
    raises(banditd.Conflict, study.tell, trial, 2)
    raises(ValueError, study.tell, trial, float("nan"))
    raises(ValueError, banditd.Client, "nonsense")
    lost = banditd.Client("http://127.0.0.1:1", retry_seconds=0.2)
    raises(banditd.Unreachable, lost.study("s").info)


def warned(call):
    """-> the value of the call, and what it warned of"""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always", banditd.DamagedStudies)
        return call(), [warning for warning in given if issubclass(warning.category, banditd.DamagedStudies)]


def test_studies_that_are_damaged():
    async def listed(url):
        return [info["id"] async for info in banditd.AsyncClient(url).studies()]

    with site_of_tests.site_with_a_damaged_study() as site:
        client = banditd.Client(site.url)
        for call in (lambda: [info["id"] for info in client.studies()], lambda: asyncio.run(listed(site.url))):
            studies, (warning,) = warned(call)
            assert studies == ["sound"], studies
            assert "'harmed'" in str(warning.message) and "sound" not in str(warning.message), warning
            assert warning.filename == __file__, "it points at who asked"
    with site_of_tests.Site() as site:
        assert warned(lambda: list(banditd.Client(site.url).studies())) == ([], [])


def test_only_numbers_are_results(site):
    """Not what float() makes of booleans and text. Whatever else has a float is a number."""
    study = make(site, horizon=3)
    (trial,) = study.ask()
    for wrong in (True, "0.5", b"0.5"):
        assert repr(wrong) in str(raises(TypeError, study.tell, trial, wrong)), wrong
        raises(TypeError, study.tell, trial, {"y": wrong})
        raises(TypeError, study.tell, trial, 0.5, std_error=wrong)
        raises(TypeError, study.tell, trial, {"y": 0.5}, std_error={"y": wrong})
        raises(TypeError, study.tell, trial, 0.5, cost=wrong)
        raises(TypeError, study.fail, trial, cost=wrong)
        raises(TypeError, study.measure, trial, 1, wrong)
        raises(TypeError, study.amend, trial, wrong)
    study.tell(trial, 1)
    for number in (decimal.Decimal("0.5"), fractions.Fraction(1, 4)):
        study.tell(study.ask(wait_seconds=30)[0], number)
    assert [told.value for told in study.trials()] == [1, 0.5, 0.25]


def test_numpy(site):
    try:
        import numpy as np
    except ImportError:
        raise Skip("numpy is not installed") from None
    client = banditd.Client(site.url)
    points = np.array(grid(5), dtype=np.float32)
    study = client.create_study({**definition(), "domain": {"type": "candidates", "dimension": 2, "scaling": "none"}})
    assert study.upload(points) == 25
    assert study.upload(points.tolist()) == 25, "the same as lists"
    assert study.upload(np.asfortranarray(points.astype(np.float64))) == 25, "in another order of memory"
    (trial,) = study.ask()
    assert trial.point == points[trial.candidate].tolist()
    assert study.upload(points) == 25, "after the first ask only the same is taken"
    raises(banditd.Conflict, study.upload, 2 * points)
    for wrong in (np.bool_(True), np.array(True), np.str_("0.5")):
        raises(TypeError, study.tell, trial, wrong)
    study.tell(trial, np.float32(0.5), repeats=np.int64(3), metadata={"curve": np.arange(2)})
    told = study.trial(trial.id).raw
    assert (told["repeats"], told["metadata"]) == (3, {"curve": [0, 1]}), told
    assert len(study.predict(candidates=np.arange(3))) == 3 == len(study.predict(points=points[:3]))
    inline = client.create_study({**definition(), "domain": {"type": "candidates", "points": points}})
    assert inline.info()["candidates"] == 25
    levels = [{"name": name, "type": "integer", "min": 0, "max": 3} for name in "ab"]
    space = client.create_study({"metric": {"name": "v", "goal": "maximize"}, "domain": {"type": "space", "parameters": levels}})
    assert space.ask(fixed={"a": np.int64(2)})[0].parameters["a"] == 2


def test_a_call_is_repeated_until_the_server_is_back(site):
    study = make(site)
    site.server.kill()
    restart = threading.Timer(1, site.server.start)
    restart.start()
    (trial,) = study.ask()
    restart.join()
    assert trial.id == 1
    site.server.kill()
    restart = threading.Timer(1, site.server.start)
    restart.start()
    study.tell(trial, 1)
    restart.join()
    assert study.info()["observations"] == 1


def test_optimize(site):
    study = make(site, horizon=60)
    threads = set()

    def function(trial):
        threads.add(threading.current_thread())
        return target(trial.point)

    assert study.optimize(function, workers=3, name="lab") == 60
    assert study.best()["observed"]["value"] > 0.95
    assert len(threads) == 3 and {trial.worker for trial in study.trials()} == {"lab-1", "lab-2", "lab-3"}


def test_optimize_with_failures(site):
    study = make(site, horizon=9, repeats="never")  # else a candidate found infeasible could be that of a later trial

    def function(trial):
        if trial.id % 3 == 1:
            raise RuntimeError("out of memory")
        if trial.id % 3 == 2:
            raise banditd.Infeasible("too hot")
        return float("nan") if trial.id == 9 else 1

    assert study.optimize(function) == 2
    seen = {trial.id: (trial.state, trial.raw.get("reason", "")) for trial in study.trials()}
    assert seen[1] == ("failed", "RuntimeError: out of memory") and seen[2] == ("infeasible", "too hot"), seen
    assert seen[9][0] == "failed" and "nan" in seen[9][1], seen


def test_optimize_stops_after_too_many_failures(site):
    study = make(site)
    error = raises(ZeroDivisionError, study.optimize, lambda trial: 1 / 0, max_failures=3)
    assert "division" in str(error)
    assert len(list(study.trials(state="failed"))) == 3


def test_optimize_keeps_its_trials(site):
    """The function takes three times the lease, and another worker would take its trial."""
    study = make(site, horizon=1)
    other = banditd.Client(site.url).study("s")
    taken = []

    def function(trial):
        end = time.monotonic() + 3
        while time.monotonic() < end:
            taken.extend(other.ask(worker="other", wait_seconds=0.2))
        return trial.attempt

    assert study.optimize(function, lease_seconds=1) == 1
    assert taken == [] and study.best()["observed"]["value"] == 1


def test_the_lease_of_another_attempt_is_left_alone(site):
    study = make(site, horizon=1)
    (lost,) = study.ask(worker="one", lease_seconds=1)
    (held,) = eventually(lambda: study.ask(worker="other", lease_seconds=600))
    assert "attempt" in raises(banditd.Conflict, study.heartbeat, lost, 5).detail
    assert study.trial(1).raw["lease_expires_at"] == held.raw["lease_expires_at"]
    study.heartbeat(held, 1200)
    assert study.trial(1).raw["lease_expires_at"] > held.raw["lease_expires_at"]


def test_optimize_through_restarts_of_the_server(site):
    study = make(site, horizon=60)

    def function(trial):
        time.sleep(0.02)
        return trial.point[0]

    optimizing = threading.Thread(target=study.optimize, args=(function,), kwargs={"workers": 3})
    optimizing.start()
    for trials in (10, 30, 45):
        eventually(lambda: site.server.client().study("s")["trials_completed"] >= trials)
        site.server.kill()
        site.server.start()
    optimizing.join(60)
    assert not optimizing.is_alive()
    for trial in study.trials():
        assert trial.state == "completed" and trial.attempt == 1 and trial.raw["value"] == trial.point[0], trial


def test_the_calls_to_be_awaited(site):
    async def use():
        client = banditd.AsyncClient(site.url)
        new = definition(id="async", horizon=20)
        new["domain"]["names"] = ["x", "y"]
        study = await client.create_study(new)

        async def work(name):
            while trials := await study.ask(worker=name, wait_seconds=1):
                for trial in trials:
                    assert trial.parameters["x"] == trial.point[0]
                    await asyncio.sleep(0.01)
                    await study.tell(trial, target(trial.point))

        await asyncio.gather(*(work(f"w{i}") for i in range(4)))
        info = await study.info()
        assert info["trials_completed"] == 20, info
        assert len([trial async for trial in study.trials(state="completed")]) == 20
        assert [item["id"] async for item in client.studies()] == ["async"]
        assert (await study.best())["observed"]["value"] == max([trial.raw["value"] async for trial in study.trials()])
        assert len(await study.predict(candidates=[1, 2])) == 2
        assert (await study.model())["algorithm"] == "bbkb"
        try:
            await client.study("absent").info()
        except banditd.NotFound:
            pass
        else:
            raise AssertionError("an absent study was found")
        await study.delete()

    asyncio.run(use())


def test_the_same_calls_in_both_kinds():
    import inspect

    for sync, awaited in ((banditd.Study, banditd.AsyncStudy), (banditd.Client, banditd.AsyncClient)):
        for name, method in vars(sync).items():
            if name.startswith("_") or name in ("optimize", "close") or not inspect.isfunction(method):
                continue
            here, there = (list(inspect.signature(f).parameters.values()) for f in (method, getattr(awaited, name)))
            assert here == there, name


def test_the_version():
    version = (PACKAGE.parents[1] / "server" / "VERSION").read_text().strip()
    assert banditd.__version__ == version
    assert f'version = "{version}"' in (PACKAGE / "pyproject.toml").read_text()


def test_candidates_are_added_retired_and_restored(site):
    study = make(site)
    before = study.info()["candidates"]
    added = study.add([[0.25, 0.5], [0.75, 0.5]])
    assert added == [before, before + 1] and study.candidate(added[0])["point"] == [0.25, 0.5]
    assert study.retire(added)["retired"] == 2
    assert [each["candidate"] for each in study.candidates(retired=True)] == added
    study.restore(added[:1])
    assert [each["candidate"] for each in study.candidates(retired=True)] == added[1:]
    assert len(list(study.candidates(retired=False, pulls=0))) == before + 1


def test_imported_results_are_listed_and_amended(site):
    study = make(site)
    told = study.observe([{"candidate": 1, "value": 9.9}, {"candidate": 2, "value": 0.5}])
    assert told == {"accepted": 2, "first": 1, "last": 2}, told
    assert [each["observation"] for each in study.observations()] == [1, 2]
    assert study.amend_observation(1, 0.99, reason="a slip")["value"] == 0.99
    assert study.amend_observation(2, state="failed")["state"] == "failed"
    assert study.observation(1)["amendments"][0]["was"]["value"] == 9.9


def test_points_that_break_a_constraint_are_imported_when_asked(site):
    parameters = [{"name": name, "type": "double", "min": 0, "max": 1} for name in "xy"]
    domain = {"type": "space", "parameters": parameters, "constraints": ["x <= y"]}
    study = banditd.Client(site.url).create_study({"metric": {"name": "loss", "goal": "minimize"}, "domain": domain})
    broken = [{"parameters": {"x": 1, "y": 0.5}, "value": 3}]
    raises(banditd.Refused, study.observe, broken)
    study.observe(broken, broken="infeasible")
    assert [each["state"] for each in study.observations()] == ["infeasible"]
    raises(banditd.Refused, study.propose, parameters=broken[0]["parameters"])
    assert study.propose(parameters=broken[0]["parameters"], broken="infeasible").state == "infeasible"


def test_what_is_read(site):
    study = make(site, horizon=12)
    study.optimize(lambda trial: target(trial.point), workers=1, name="w")
    assert study.batches() and next(iter(study.batches()))["batch"] == 0
    assert len(study.series()) == len(study.series(metric=study.info()["metric"]["name"])) == 12
    assert study.export("csv").startswith(b"trial,")
    client = banditd.Client(site.url)
    assert study.why(1)["rule"] in ("first", "own", "uncertainty"), study.why(1)
    assert study.fork("as-it-was").info()["seed"] == study.info()["seed"]
    assert study.fork("another-seed", seed=5).info()["seed"] == 5
    copy = client.import_study(study.export(), "copy")
    assert copy.id == "copy" and copy.info()["trials_completed"] == 12
    assert client.version()["version"] and client.whoami()["role"] == "admin" and len(client.algorithms()) > 10
    trial = study.trial(1)
    assert trial.value == trial.raw["value"] and trial.told_at and trial.batch == 0 and trial.repeats == 1 and trial.values == {}
    events = study.events(after=0)
    kinds = [next(events).type for _ in range(20)]
    assert "trial" in kinds and "batch" in kinds, kinds


def test_a_table_of_trials(site):
    study = make(site)
    for trial in study.ask(2):
        study.tell(trial, target(trial.point), metadata={"well": "A1"})
    pandas = type(sys)("pandas")  # stands for the package, which the tests do not need
    pandas.DataFrame = list
    sys.modules["pandas"] = None
    try:
        study.trials_dataframe()
        raise AssertionError("it needs no pandas")
    except ImportError as missing:
        assert "pip install pandas" in str(missing), missing
    sys.modules["pandas"] = pandas
    try:
        first = study.trials_dataframe(state="completed")[0]
    finally:
        del sys.modules["pandas"]
    assert (first["trial"], first["state"], first["metadata_well"]) == (1, "completed", "A1"), first
    assert first["params_x"] == study.trial(1).parameters["x"] and first["value"] == study.trial(1).value


def test_keys(site):
    client = banditd.Client(site.url)
    new = definition(id="keys")
    new["domain"] = {"type": "candidates", "dimension": 1}
    study = client.create_study(new)
    study.upload([[0.0], [0.5], [1.0]], keys=["CCO", None, "C1CC1"])
    assert study.add([[2.0]], keys=["N"]) == [3]
    trial = study.propose("C1CC1")
    without_key = study.propose(1)
    assert (trial.candidate, trial.key, without_key.key) == (2, "C1CC1", None)
    study.observe([{"key": "CCO", "value": 0.5}])
    assert [o["key"] for o in study.observations()] == ["CCO"] and study.best()["observed"]["key"] == "CCO"
    assert study.retire(["N"])["retired"] == 1 and study.restore(["N"]) == {"restored": 1}
    error = raises(banditd.Conflict, study.tell, trial, 0.2)
    assert "the trial is queued: no worker has it" in str(error)
    for each in study.ask(2):
        study.tell(each, 0.2)
    study.ask()  # the model takes in all results
    predicted = study.predict(candidates=["CCO", "N"])
    assert predicted == study.predict(candidates=[0, 3]) and predicted[0] != predicted[1]
    assert [c["candidate"] for c in study.candidates(key="N")] == [3]
    assert study.set_keys(["a", "b", None, None]) == 2
    assert [c.get("key") for c in study.candidates()] == ["a", "b", None, None]
    try:
        study.set_keys(["a", "a", None, None])
    except banditd.Refused as refused:
        assert "/keys/1" in str(refused), refused
    else:
        raise AssertionError("two candidates have the same key")


def test_the_outlook(site):
    study = make(site)
    points = [c["point"] for c in study.candidates()]
    study.observe([{"candidate": i, "value": target(point)} for i, point in enumerate(points[:12])])
    study.ask(1)  # the results join the model
    found = study.outlook(epsilon=0.1)
    assert found["epsilon"] == 0.1 and 0 <= found["probability"] <= 1, found


def test_tokens(site):
    client = banditd.Client(site.url)
    (receiver,) = client.set_notify([{"url": "https://example.org/", "events": ["stuck"]}])
    assert receiver["secret"].startswith("whsec_") and client.notify()[0]["events"] == ["stuck"]
    assert client.set_notify([]) == [] and client.notify() == []
    made = client.create_token("worker", description="a bench", lifetime_seconds=60)
    assert made["token"].startswith("banditd_") and made["id"] in [token["id"] for token in client.tokens()]
    client.revoke_token(made["id"])
    assert made["id"] not in [token["id"] for token in client.tokens()]


def test_the_same_calls_as_coroutines(site):
    make(site)

    async def run():
        client = banditd.AsyncClient(site.url)
        study = client.study("s")
        (added,) = await study.add([[0.1, 0.2]])
        await study.retire([added])
        assert [each["candidate"] async for each in study.candidates(retired=True)] == [added]
        assert (await study.observe([{"candidate": 1, "value": 0.5}]))["accepted"] == 1
        assert (await client.version())["version"] and [curve async for curve in study.measurements()] == []
        assert [each["observation"] async for each in study.observations()] == [1]
        assert (await study.fork("a-fork", seed=3)).id == "a-fork"
        copy = await client.import_study(await study.export(), "copy")
        assert (await copy.info())["id"] == "copy" and (await client.whoami())["role"] == "admin"
        types, last = [], None
        async for event in study.events(after=0):
            types.append(event.type)
            last = event.id if event.id is not None else last
            if event.type == "observations":
                break
        assert types[-3:] == ["candidates", "retired", "observations"], types
        await study.propose(0)
        async for event in study.events(after=last):
            assert (event.type, event.data["id"]) == ("trial", 1), event
            break
        deleting = asyncio.create_task(study.delete())
        assert [event.data["state"] async for event in study.events(after=last) if event.type == "state"][-1] == "deleted"
        await deleting
        try:
            await study.events().__anext__()
        except banditd.NotFound:
            pass
        else:
            raise AssertionError("a deleted study has events")

    asyncio.run(run())
