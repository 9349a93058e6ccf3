"""Locks, tickets, lists and queues in kernels: they end, and lose nothing."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.analysis.thread_exchange import callees_of_waiting

N = 3000


@wp.kernel
def spin_lock(lock: wp.array(dtype=int), total: wp.array(dtype=int)):
    while wp.atomic_cas(lock, 0, 0, 1) != 0:
        pass
    total[0] = total[0] + 1
    wp.atomic_exch(lock, 0, 0)


@wp.kernel
def opened_by_a_store(lock: wp.array(dtype=int), total: wp.array(dtype=int)):
    while True:
        if wp.atomic_exch(lock, 0, 1) == 0:
            break
    total[0] = total[0] + 1
    lock[0] = 0


@wp.kernel
def opened_inside(lock: wp.array(dtype=int), total: wp.array(dtype=int)):
    done = False
    while not done:
        if wp.atomic_cas(lock, 0, 0, 1) == 0:
            total[0] = total[0] + 1
            wp.atomic_exch(lock, 0, 0)
            done = True


@wp.func
def acquire(lock: wp.array(dtype=int), i: int):
    while wp.atomic_cas(lock, i, 0, 1) == 1:
        continue


@wp.func
def release(lock: wp.array(dtype=int), i: int):
    wp.atomic_exch(lock, i, 0)


@wp.kernel
def locks_of_elements(lock: wp.array(dtype=int), total: wp.array(dtype=int)):
    i = wp.tid() & 3
    acquire(lock, i)
    total[i] = total[i] + 1
    release(lock, i)


@wp.kernel
def ticket(taken: wp.array(dtype=int), called: wp.array(dtype=int), total: wp.array(dtype=int)):
    mine = wp.atomic_add(taken, 0, 1)
    while called[0] != mine:
        pass
    total[0] = total[0] + 1
    wp.atomic_add(called, 0, 1)


@wp.kernel
def ticket_by_atomics(taken: wp.array(dtype=int), called: wp.array(dtype=int), total: wp.array(dtype=int)):
    mine = wp.atomic_add(taken, 0, 1)
    while wp.atomic_add(called, 0, 0) != mine:
        pass
    total[0] = total[0] + 1
    wp.atomic_add(called, 0, 1)


@wp.kernel
def push(head: wp.array(dtype=int), next: wp.array(dtype=int)):
    i = wp.tid()
    top = head[0]
    while True:
        next[i] = top
        found = wp.atomic_cas(head, 0, top, i)
        if found == top:
            break
        top = found


@wp.kernel
def insert(keys: wp.array(dtype=wp.uint32), counts: wp.array(dtype=int), given: wp.array(dtype=wp.uint32)):
    key = given[wp.tid()]
    slot = int(key * wp.uint32(2654435761) >> wp.uint32(22))
    while True:
        found = wp.atomic_cas(keys, slot, wp.uint32(0), key)
        if found == wp.uint32(0) or found == key:
            break
        slot = (slot + 1) & 1023
    wp.atomic_add(counts, slot, 1)


@wp.kernel
def work_queue(taken: wp.array(dtype=int), out: wp.array(dtype=int)):
    while True:
        item = wp.atomic_add(taken, 0, 1)
        if item >= out.shape[0]:
            break
        out[item] = item * item


def ints(n, value=0):
    return wp.full(n, value, dtype=int, device="cpu")


def launched(kernel, args, n=N):
    wp.launch(kernel, dim=n, inputs=args, device="cpu")


@pytest.mark.parametrize("kernel", [spin_lock, opened_by_a_store, opened_inside], ids=lambda kernel: kernel.name)
def test_locks(kernel):
    lock, total = ints(1), ints(1)
    launched(kernel, [lock, total])
    assert total.list() == [N] and lock.list() == [0]


def test_locks_of_elements():
    lock, total = ints(4), ints(4)
    launched(locks_of_elements, [lock, total])
    assert total.list() == [N // 4] * 4


@pytest.mark.parametrize("kernel", [ticket, ticket_by_atomics], ids=lambda kernel: kernel.name)
def test_tickets(kernel):
    taken, called, total = ints(1), ints(1), ints(1)
    launched(kernel, [taken, called, total])
    assert [a.list() for a in (taken, called, total)] == [[N]] * 3


def test_a_list_holds_all_that_was_pushed():
    head, next = ints(1, -1), ints(N)
    launched(push, [head, next])
    at, following, found = head.list()[0], next.numpy(), []
    while at >= 0 and len(found) <= N:
        found.append(int(at))
        at = following[at]
    assert sorted(found) == list(range(N))


def test_a_hash_table_counts_as_numpy():
    given = np.random.default_rng(3).integers(1, 500, N).astype(np.uint32)
    keys, counts = wp.zeros(1024, dtype=wp.uint32, device="cpu"), ints(1024)
    launched(insert, [keys, counts, given])
    expected = dict(zip(*(a.tolist() for a in np.unique(given, return_counts=True))))
    assert {k: n for k, n in zip(keys.list(), counts.list()) if n} == expected


def test_a_queue_hands_out_each_item_once():
    taken, out = ints(1), ints(N)
    launched(work_queue, [taken, out], 64)
    assert np.array_equal(out.numpy(), np.arange(N) ** 2)


def test_only_threads_that_wait_run_one_after_the_other():
    waiting = [spin_lock, opened_by_a_store, locks_of_elements, ticket, ticket_by_atomics]
    wp.load_module(__name__)
    for kernel in (*waiting, opened_inside, push, insert, work_queue):
        assert kernel._plans and all(plan.serial == (kernel in waiting) for plan in kernel._plans.values()), kernel


@wp.struct
class Lock:
    place: wp.array(dtype=int)
    number: int


@wp.func
def made_lock(place: wp.array(dtype=int), other: wp.array(dtype=int), i: int):
    lock = Lock()
    if i >= 0:
        lock.place = place
    else:
        lock.place = other
    return lock


@wp.func
def enter(lock: Lock):
    while wp.atomic_cas(lock.place, lock.number, 0, 1) == 1:
        continue


@wp.kernel
def lock_in_a_struct(place: wp.array(dtype=int), total: wp.array(dtype=int)):
    lock = made_lock(place, total, wp.tid())
    for _ in range(2):
        enter(lock)
        total[0] = total[0] + 1
        release(lock.place, lock.number)


def test_a_lock_in_a_struct_that_a_function_makes():
    total = ints(1)
    launched(lock_in_a_struct, [ints(1), total])
    assert total.list() == [2 * N]


@wp.struct
class Tickets:
    taken: wp.array(dtype=int)
    called: wp.array(dtype=int)


@wp.kernel
def ticket_in_a_struct(tickets: Tickets, total: wp.array(dtype=int)):
    mine = wp.atomic_add(tickets.taken, 0, 1)
    while tickets.called[0] != mine:
        pass
    total[0] = total[0] + 1
    wp.atomic_add(tickets.called, 0, 1)


def test_a_loop_waits_for_an_array_that_it_takes_from_a_struct():
    tickets, total = Tickets(), ints(1)
    tickets.taken, tickets.called = ints(1), ints(1)
    launched(ticket_in_a_struct, [tickets, total])
    assert total.list() == tickets.called.list() == [N]


@wp.func
def halvings(numbers: wp.array(dtype=int), at: int):
    own = wp.zeros(shape=4, dtype=int)
    own[at & 3] = numbers[at]
    count = 0
    while own[at & 3] > 0:
        own[at & 3] = own[at & 3] // 2
        count += numbers[at] - numbers[at] + 1
    return count


@wp.kernel
def lengths(numbers: wp.array(dtype=int), sums: wp.array(dtype=int)):
    wp.atomic_add(sums, 0, halvings(numbers, wp.tid()))


@wp.func
def first_above(numbers: wp.array(dtype=int), least: int):
    low, high = 0, numbers.shape[0]
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@wp.kernel
def insertions(numbers: wp.array(dtype=int), least: wp.array(dtype=int), places: wp.array(dtype=int)):
    wp.atomic_add(places, 0, first_above(numbers, least[wp.tid()]))
    numbers[0] = 0


def needs_inlining(kernel):
    return callees_of_waiting(lower_kernel(kernel)) is not None


def test_only_kernels_whose_loops_look_at_what_they_write_are_inlined_to_find_locks():
    assert all(map(needs_inlining, (spin_lock, locks_of_elements, ticket, push, lock_in_a_struct)))
    assert not needs_inlining(lengths) and not needs_inlining(insertions)
    sums = ints(1)
    launched(lengths, [wp.array(np.arange(N), dtype=int), sums])
    assert sums.list() == [sum(n.bit_length() for n in range(N))]


def test_a_note_says_that_threads_wait(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    monkeypatch.setattr(wp.config, "verbose", True)

    @wp.kernel
    def one_by_one(lock: wp.array(dtype=int)):
        while wp.atomic_cas(lock, 0, 0, 1) != 0:
            pass
        lock[0] = 0

    launched(one_by_one, [ints(1)])
    printed = capsys.readouterr()
    assert "threads wait for each other" in printed.out + printed.err


def test_gradients_through_a_lock_are_refused():
    @wp.kernel
    def guarded(lock: wp.array(dtype=int), x: wp.array(dtype=float), total: wp.array(dtype=float)):
        while wp.atomic_cas(lock, 0, 0, 1) != 0:
            pass
        total[0] = total[0] * x[wp.tid()]
        wp.atomic_exch(lock, 0, 0)

    x = wp.ones(4, dtype=float, device="cpu", requires_grad=True)
    total = wp.ones(1, dtype=float, device="cpu", requires_grad=True)
    with wp.Tape() as tape, pytest.raises(wp.CompileError, match="gradient of kernel `guarded`"):
        launched(guarded, [ints(1), x, total], 4)
    assert not tape.launches


def test_a_loop_over_an_element_of_the_thread_has_a_gradient():
    @wp.kernel
    def halve(z: wp.array(dtype=float), turns: wp.array(dtype=int), total: wp.array(dtype=float)):
        i = wp.tid()
        own = z[i:]
        z[i] = 2.0 * z[i]
        scale = 1.0
        while own[0] * scale > 1.0:
            scale *= 0.5
            wp.atomic_add(turns, 0, 1)
        wp.atomic_add(total, 0, z[i] * scale)

    start = np.linspace(0.1, 9.0, 40, dtype=np.float32)
    z, total = (wp.array(a, dtype=float, device="cpu", requires_grad=True) for a in (start, np.zeros(1)))
    turns = ints(1)
    with wp.Tape() as tape:
        launched(halve, [z, turns, total], len(start))
    tape.backward(total)
    halvings = np.maximum(np.ceil(np.log2(2.0 * start)), 0.0)
    assert turns.list() == [int(halvings.sum())]
    assert np.allclose(z.grad.numpy(), 2.0 * 0.5**halvings)
