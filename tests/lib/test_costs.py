"""Library functions cost what tests/lib/costs.txt says: a change of their code, or of the compiler, shows there."""

from __future__ import annotations

from tools import costs


def test_costs_are_those_of_the_file() -> None:
    known = costs.read()
    made = {key: str(costs.measure(function)[0]) for key, function in costs.functions()}
    rows = [(key, known.get(key, "none"), made.get(key, "none")) for key in known | made]
    changed = [f"{key}: {before} ->{after}" for key, before, after in rows if before != after]
    advice = f"if that is meant, run `{costs.COMMAND}` and look at the difference"
    assert not changed, f"{len(changed)} library functions (operations, lines): {changed[:5]}; {advice}"
