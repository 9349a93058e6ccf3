"""The cycle collector stays away from graphs that are built, and comes back."""

import gc

import pytest

from omni.warp_core.nodes.scene import collector


@pytest.fixture(autouse=True)
def collector_as_before():
    enabled, frozen = gc.isenabled(), gc.get_freeze_count()
    gc.unfreeze()
    yield
    (gc.enable if enabled else gc.disable)()
    if frozen:
        gc.freeze()


def test_a_block_that_builds_much_is_not_searched():
    gc.enable()
    with collector.paused():
        built = [[i] for i in range(100_000)]
        assert not gc.isenabled()
    assert gc.isenabled()
    young = gc.get_objects(generation=0) + gc.get_objects(generation=1)
    assert len(gc.get_objects(generation=2)) > len(built) > len(young)


def test_cycles_of_such_a_block_are_collected_later():
    class Link:
        pass

    gc.enable()
    with collector.paused():
        link = Link()
        link.itself = link
    number = id(link)
    del link
    gc.collect()
    assert not any(id(o) == number and type(o).__name__ == "Link" for o in gc.get_objects())


def test_a_collector_that_was_off_stays_off_also_after_an_error():
    for enabled in (False, True):
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(KeyError), collector.paused():
            raise KeyError
        assert gc.isenabled() is enabled


def test_objects_that_the_program_froze_stay_frozen():
    gc.enable()
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collector.paused():
        built = [[i] for i in range(2 * collector.MANY)]
    assert gc.get_freeze_count() == frozen > 0 and len(built) > collector.MANY
    gc.unfreeze()
